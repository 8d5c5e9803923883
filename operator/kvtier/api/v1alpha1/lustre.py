"""The shared tier: a Managed Lustre instance, who makes it, and what can be set of it."""

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
    """Clients whose root stays root. The Lustre API knows no exception the other way round."""

    name: Annotated[
        str,
        StringConstraints(pattern=r"^[A-Za-z0-9_]+$", max_length=16),
        Field(description="Name of the exception: letters, digits and _."),
    ]
    address_ranges: Annotated[
        list[AddressRange],
        Field(
            min_length=1,
            max_length=64,
            description="Clients, as IPv4 addresses or ranges such as 10.0.0.0/24; they may not overlap.",
        ),
    ]


class AccessRules(ApiModel):
    """Who may act as root on the file system."""

    default_squash: Annotated[
        Literal["NoSquash", "RootSquash"],
        Field(
            description="For all clients that no exception names. RootSquash: their root is mapped to squashUID and "
            "squashGID."
        ),
    ]
    squash_uid: Annotated[
        SquashId | None,
        Field(
            alias="squashUID", description="User that root becomes. Needs RootSquash; left out, root stays."
        ),
    ] = None
    squash_gid: Annotated[
        SquashId | None,
        Field(
            alias="squashGID",
            description="Group that root becomes. Needs RootSquash; left out, root's stays.",
        ),
    ] = None
    exceptions: Annotated[
        list[AccessException],
        Field(
            max_length=16,
            json_schema_extra=list_map("name"),
            description="Clients whose root is not mapped. Needs RootSquash.",
        ),
    ] = []

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            message="squashUID, squashGID and exceptions need defaultSquash RootSquash",
            cel="self.defaultSquash == 'RootSquash' || (!has(self.squashUID) && !has(self.squashGID) && "
            "(!has(self.exceptions) || size(self.exceptions) == 0))",
            holds=lambda access: (
                access.default_squash == "RootSquash"
                or (access.squash_uid is None and access.squash_gid is None and not access.exceptions)
            ),
        ),
    )


class MaintenanceWindow(ApiModel):
    """An hour of the week."""

    day: Annotated[
        Literal["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"],
        Field(description="Day of the week, in UTC."),
    ]
    hour: Annotated[int, Field(ge=0, le=23, description="Hour at which the window begins, in UTC.")]


class LustreTier(ApiModel):
    """Managed Lustre, shared by every Pod of the pool."""

    provisioner: Annotated[
        Literal["CSI", "API", "Existing"],
        Field(
            description="Who makes the instance. CSI: the cluster's Lustre CSI driver, from a claim. API: kvtier, "
            "through the Lustre API, which offers more than the driver (dynamicTier, kmsKey, placementPolicy, "
            "accessRules, maintenanceWindow). Existing: nobody, it is there (instance). Immutable."
        ),
    ] = "CSI"
    capacity: Annotated[
        Quantity | None,
        Field(
            description="Size of the instance, in Gi, a multiple of the step of its performance tier: 9000Gi at 1000, "
            "18000Gi at 500, 36000Gi at 250, 72000Gi at 125, 472000Gi for the Dynamic tier (kvtier lustre sizes "
            "prints them). It can grow, never shrink below what is provisioned. Of an existing instance it is given "
            "only together with address."
        ),
    ] = None
    throughput_per_tib: Annotated[
        Literal[125, 250, 500, 1000] | None,
        Field(
            alias="throughputPerTiB",
            description="Performance tier, in MBps per TiB of capacity. Immutable.",
        ),
    ] = None
    dynamic_tier: Annotated[
        Literal["DefaultCache"] | None,
        Field(description="The Dynamic tier, instead of throughputPerTiB. Needs provisioner API. Immutable."),
    ] = None
    zone: Annotated[
        Zone | None,
        Field(
            description="Zone of the instance. Immutable. Engines run here too, unless nodePool.zones says otherwise."
        ),
    ] = None
    network: Annotated[
        Network | None,
        Field(
            description="VPC network of the instance in full form, projects/PROJECT/global/networks/NETWORK. It must "
            "be the cluster's own network. Immutable."
        ),
    ] = None
    filesystem: Annotated[
        FilesystemName | None,
        Field(
            description="Lustre file system name: a letter, then up to 7 letters or digits. Unique among the instances "
            "that a node mounts; derived from namespace and name of the pool when left out. Immutable."
        ),
    ] = None
    instance: Annotated[
        InstanceName | None,
        Field(
            description="The existing instance, projects/PROJECT/locations/ZONE/instances/INSTANCE. Size, address and "
            "file system are read through the Lustre API, or given by hand. kvtier never deletes it. Immutable."
        ),
    ] = None
    address: Annotated[
        Address | None,
        Field(
            description="IP address of the existing instance, given by hand where kvtier has no access to the Lustre "
            "API, together with filesystem and capacity. Immutable."
        ),
    ] = None
    kms_key: Annotated[
        KeyName | None,
        Field(
            description="Key that encrypts the instance (CMEK), "
            "projects/PROJECT/locations/REGION/keyRings/RING/cryptoKeys/KEY. Needs provisioner API. Immutable."
        ),
    ] = None
    placement_policy: Annotated[
        PolicyName | None,
        Field(
            description="Placement policy, projects/PROJECT/locations/ZONE/resourcePolicies/POLICY. Needs provisioner "
            "API. Immutable."
        ),
    ] = None
    access_rules: Annotated[
        AccessRules | None,
        Field(description="Who may act as root on the file system. Needs provisioner API."),
    ] = None
    maintenance_window: Annotated[
        MaintenanceWindow | None,
        Field(
            description="When Google may maintain the instance. Without one, maintenance is not announced in the API. "
            "Needs provisioner API."
        ),
    ] = None
    maintenance: Annotated[
        Literal["Ride", "Bypass"],
        Field(
            description="What engines do about maintenance of the instance. Ride: nothing, reads and writes hang and "
            "go on. Bypass: they are rolled before the window to run without the shared tier, and back after it; "
            "needs mode Opportunistic."
        ),
    ] = "Ride"
    prepare_as_root: Annotated[
        bool,
        Field(
            description="Let a Job run once as root to hand the file system's top directory to the engines' group. "
            "Needed only where TierWritable says so; the CSI driver normally does it at mount."
        ),
    ] = False

    rules: ClassVar[tuple[Rule, ...]] = RULES

    @property
    def tier(self) -> int | str | None:
        """The performance tier, None where only the existing instance knows."""
        return DYNAMIC if self.dynamic_tier else self.throughput_per_tib

    @property
    def size(self) -> int:
        """Wanted bytes; 0 where only the existing instance knows."""
        return self.capacity.bytes if self.capacity else 0

    @property
    def located(self) -> str:
        """The zone of the instance, which has it in its name."""
        return self.instance.split("/")[3] if self.instance else str(self.zone)

    def has(self, name: str) -> bool:
        """Whether the optional field of this name, as in YAML, is set."""
        return getattr(self, _ATTRIBUTES[name]) is not None


_ATTRIBUTES = {str(field.alias): name for name, field in LustreTier.model_fields.items()}
