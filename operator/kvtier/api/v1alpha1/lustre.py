"""The Lustre tier: a Managed Lustre instance, who creates it, and its settings."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field, StringConstraints

from kvtier.api.fields import Quantity, Zone, list_map
from kvtier.api.rules import ApiModel, Rule
from kvtier.api.v1alpha1.lustre_rules import RULES
from kvtier.data.lustre_limits import DYNAMIC

_PROJECT = r"projects/[a-z][-a-z0-9:.]{0,60}[a-z0-9]"
_ID = r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?"
_KEY_ID = r"[-_A-Za-z0-9]{1,63}"
_OCTET = r"(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_IPV4 = rf"({_OCTET}\.){{3}}{_OCTET}"


def _name(path: str) -> StringConstraints:
    return StringConstraints(pattern=f"^{_PROJECT}/{path}$", max_length=250)


Network = Annotated[str, _name(f"global/networks/{_ID}")]
InstanceName = Annotated[str, _name(f"locations/[a-z]+-[a-z]+[0-9]+-[a-z]/instances/{_ID}")]
KeyName = Annotated[str, _name(f"locations/[-a-z0-9]+/keyRings/{_KEY_ID}/cryptoKeys/{_KEY_ID}")]
PolicyName = Annotated[str, _name(f"locations/[-a-z0-9]+/resourcePolicies/{_ID}")]
Address = Annotated[str, StringConstraints(pattern=f"^{_IPV4}$", max_length=15)]
AddressRange = Annotated[str, StringConstraints(pattern=rf"^{_IPV4}(/(3[0-2]|[12]?[0-9]))?$", max_length=18)]
FilesystemName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9]{0,7}$")]
SquashId = Annotated[int, Field(ge=1, le=2_147_483_647)]


class AccessException(ApiModel):
    """Clients to which RootSquash does not apply: their root user has root access."""

    name: Annotated[
        str,
        StringConstraints(pattern=r"^[A-Za-z0-9_]+$", max_length=16),
        Field(description="Name of the exception: letters, digits and underscores."),
    ]
    address_ranges: Annotated[
        list[AddressRange],
        Field(
            min_length=1,
            max_length=64,
            description="IPv4 addresses or ranges of the clients, such as 10.0.0.0/24. They must not overlap.",
        ),
    ]


class AccessRules(ApiModel):
    """Which clients have root access to the file system."""

    default_squash: Annotated[
        Literal["NoSquash", "RootSquash"],
        Field(
            description="Rule for clients without an exception. NoSquash: their root user has root access. RootSquash: "
            "their root user is mapped to squashUID and squashGID."
        ),
    ]
    squash_uid: Annotated[
        SquashId | None,
        Field(
            alias="squashUID",
            description="User ID to which the root user is mapped. If omitted, it stays 0. Requires RootSquash.",
        ),
    ] = None
    squash_gid: Annotated[
        SquashId | None,
        Field(
            alias="squashGID",
            description="Group ID to which the root user is mapped. If omitted, it stays 0. Requires RootSquash.",
        ),
    ] = None
    exceptions: Annotated[
        list[AccessException],
        Field(
            max_length=16,
            json_schema_extra=list_map("name"),
            description="Clients whose root user has root access. Requires RootSquash.",
        ),
    ] = []

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            message="squashUID, squashGID and exceptions require defaultSquash RootSquash",
            cel="self.defaultSquash == 'RootSquash' || (!has(self.squashUID) && !has(self.squashGID) && "
            "(!has(self.exceptions) || size(self.exceptions) == 0))",
            holds=lambda access: (
                access.default_squash == "RootSquash"
                or (access.squash_uid is None and access.squash_gid is None and not access.exceptions)
            ),
        ),
    )


class MaintenanceWindow(ApiModel):
    """One hour of the week, in UTC."""

    day: Annotated[
        Literal["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"],
        Field(description="Day of the week, in UTC."),
    ]
    hour: Annotated[int, Field(ge=0, le=23, description="Hour at which the window starts, in UTC.")]


class LustreTier(ApiModel):
    """A Managed Lustre file system that all Pods of the pool share."""

    provisioner: Annotated[
        Literal["CSI", "API", "Existing"],
        Field(
            description="Who creates the Lustre instance. CSI: the Lustre CSI driver of the cluster, from a PVC. API: "
            "kvtier, through the Lustre API, which has more settings than the driver (dynamicTier, kmsKey, "
            "placementPolicy, accessRules, maintenanceWindow). Existing: the instance exists already; name it in the "
            "field instance. Immutable."
        ),
    ] = "CSI"
    capacity: Annotated[
        Quantity | None,
        Field(
            description="Capacity of the Lustre instance, in Gi. It must be a multiple of 9000Gi at 1000 MBps per TiB, "
            "18000Gi at 500, 36000Gi at 250, 72000Gi at 125, and 472000Gi in the Dynamic tier. The command kvtier "
            "lustre sizes prints the valid sizes. You can increase the capacity, but not reduce it below the "
            "provisioned capacity. Required with provisioner CSI and API; with Existing, set it only together with "
            "address."
        ),
    ] = None
    throughput_per_tib: Annotated[
        Literal[125, 250, 500, 1000] | None,
        Field(
            alias="throughputPerTiB",
            description="Performance tier: MBps per TiB of capacity. Required with provisioner CSI. Immutable.",
        ),
    ] = None
    dynamic_tier: Annotated[
        Literal["DefaultCache"] | None,
        Field(
            description="The Dynamic tier, instead of throughputPerTiB. Requires provisioner API. Immutable."
        ),
    ] = None
    zone: Annotated[
        Zone | None,
        Field(
            description="Zone of the instance. Engines run in the same zone, unless nodePool.zones is set. Required "
            "with provisioner CSI and API. Immutable."
        ),
    ] = None
    network: Annotated[
        Network | None,
        Field(
            description="VPC network of the instance, projects/PROJECT/global/networks/NETWORK. It must be the network "
            "of the GKE cluster. Required with provisioner CSI and API. Immutable."
        ),
    ] = None
    filesystem: Annotated[
        FilesystemName | None,
        Field(
            description="Name of the Lustre file system: a letter, then up to 7 letters or digits. A node cannot mount "
            "two file systems with the same name. If omitted, kvtier derives it from the namespace and the name of the "
            "pool. Immutable."
        ),
    ] = None
    instance: Annotated[
        InstanceName | None,
        Field(
            description="The existing instance, projects/PROJECT/locations/ZONE/instances/INSTANCE. kvtier reads its "
            "capacity, address and file system name from the Lustre API, unless you set all three. kvtier never "
            "deletes it. Required with provisioner Existing. Immutable."
        ),
    ] = None
    address: Annotated[
        Address | None,
        Field(
            description="IP address of the existing instance. Set it, together with filesystem and capacity, if kvtier "
            "has no access to the Lustre API. Immutable."
        ),
    ] = None
    kms_key: Annotated[
        KeyName | None,
        Field(
            description="Cloud KMS key that encrypts the instance (CMEK), "
            "projects/PROJECT/locations/REGION/keyRings/RING/cryptoKeys/KEY. It must be in the region of the instance. "
            "Requires provisioner API. Immutable."
        ),
    ] = None
    placement_policy: Annotated[
        PolicyName | None,
        Field(
            description="Placement policy of the instance, projects/PROJECT/locations/ZONE/resourcePolicies/POLICY. "
            "Requires provisioner API. Immutable."
        ),
    ] = None
    access_rules: Annotated[
        AccessRules | None,
        Field(description="Which clients have root access to the file system. Requires provisioner API."),
    ] = None
    maintenance_window: Annotated[
        MaintenanceWindow | None,
        Field(
            description="Weekly hour in which Google may maintain the instance. If omitted, the Lustre API does not "
            "announce maintenance. Requires provisioner API."
        ),
    ] = None
    maintenance: Annotated[
        Literal["Ride", "Bypass"],
        Field(
            description="What happens to engines during maintenance of the instance. Ride: nothing; their reads and "
            "writes wait until the maintenance ends. Bypass: kvtier rolls them out without the Lustre tier before the "
            "maintenance, and with it afterwards; requires mode Opportunistic."
        ),
    ] = "Ride"
    prepare_as_root: Annotated[
        bool,
        Field(
            description="Run a Job once as root that gives the root directory of the file system to the group of the "
            "engines. Set it only if the condition TierWritable asks for it: normally the CSI driver does this at "
            "mount."
        ),
    ] = False

    rules: ClassVar[tuple[Rule, ...]] = RULES

    @property
    def tier(self) -> int | str | None:
        """The performance tier; None if only the existing instance defines it."""
        return DYNAMIC if self.dynamic_tier else self.throughput_per_tib

    @property
    def size(self) -> int:
        """Wanted capacity in bytes; 0 if only the existing instance defines it."""
        return self.capacity.bytes if self.capacity else 0

    @property
    def located(self) -> str:
        """The zone of the instance; for an existing instance, the zone in its name."""
        return self.instance.split("/")[3] if self.instance else str(self.zone)

    def has(self, name: str) -> bool:
        """Whether the optional field with this name in YAML is set."""
        return getattr(self, _ATTRIBUTES[name]) is not None


_ATTRIBUTES = {str(field.alias): name for name, field in LustreTier.model_fields.items()}
