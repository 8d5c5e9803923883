"""The cache tiers of a pool other than Lustre, and which tiers require which others."""

import re
from typing import Annotated, ClassVar, Literal

from pydantic import Field, StringConstraints

from kvtier.api.fields import ObjectName, Quantity
from kvtier.api.rules import ApiModel, Rule
from kvtier.api.v1alpha1.lustre import LustreTier


class CPUTier(ApiModel):
    """Host memory of each engine Pod. Engines read and write every lower tier through it."""

    capacity: Annotated[
        Quantity,
        Field(
            description="Cache size per Pod, such as 100Gi. It is added to the Pod's memory request and limit."
        ),
    ]


class LocalSSDTier(ApiModel):
    """Local SSD of the node. Each engine Pod has a cache of its own on it."""

    capacity: Annotated[Quantity, Field(description="Cache size per Pod, such as 1Ti.")]


CREDENTIALS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
FIXED = ("AWS_REQUEST_CHECKSUM_CALCULATION", "NIXL_TELEMETRY_ENABLE")
"""Variables that users must not set: other values corrupt cached blocks, or end the engine at its first write."""


class CredentialsSecret(ApiModel):
    """A Secret in the pool's namespace with the keys AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY."""

    name: Annotated[ObjectName, Field(description="Name of the Secret.")]


class ObjectStorageTier(ApiModel):
    """A bucket that all Pods of the pool share. It stores cached blocks as objects.

    Experimental: after a failed write, vLLM 0.32 and 0.33 may read a wrong block. The image must contain the nixl
    package. Engines do not start while they cannot reach the bucket, in either mode of the pool. kvtier never deletes
    objects: set a lifecycle rule on the bucket.
    """

    bucket: Annotated[
        str,
        StringConstraints(pattern=r"^[a-z0-9][-_.a-z0-9]{1,220}[a-z0-9]$", max_length=222),
        Field(description="Name of the bucket. It must exist."),
    ]
    endpoint: Annotated[
        str,
        StringConstraints(pattern=r"^[a-z0-9]([-.a-z0-9]*[a-z0-9])?(:[0-9]{1,5})?$", max_length=253),
        Field(description="Host of an S3-compatible API, with a port if needed, without https://."),
    ] = "storage.googleapis.com"
    scheme: Annotated[Literal["https", "http"], Field(description="Protocol of the endpoint.")] = "https"
    region: Annotated[
        str | None,
        StringConstraints(pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", max_length=63),
        Field(description="Region of the bucket, if the endpoint requires one."),
    ] = None
    credentials_secret_ref: Annotated[
        CredentialsSecret | None,
        Field(description="Secret with the HMAC keys. If omitted, the AWS SDK uses its default credentials."),
    ] = None


def _times(values: str) -> str:
    """Pattern of one field of a cron expression. `values` is the pattern of a single value."""
    some = f"([*]|{values}(-{values})?)(/[1-9][0-9]?)?"
    return f"{some}(,{some})*"


_FIELDS = (
    "[0-5]?[0-9]",
    "([01]?[0-9]|2[0-3])",
    "(0?[1-9]|[12][0-9]|3[01])",
    "(0?[1-9]|1[0-2]|JAN|FEB|MAR|APR|MAY|JUN|JUL|AUG|SEP|OCT|NOV|DEC)",
    "([0-7]|SUN|MON|TUE|WED|THU|FRI|SAT)",
)
_SCHEDULE = f"^{' '.join(map(_times, _FIELDS))}$"


class CloudStorageTier(ApiModel):
    """A Cloud Storage prefix behind the Lustre tier. Managed Lustre imports data from it and exports data to it."""

    uri: Annotated[
        str,
        StringConstraints(
            pattern=r"^gs://[a-z0-9][-_.a-z0-9]{1,220}[a-z0-9]/([-_.a-zA-Z0-9/=+]*/)?$", max_length=512
        ),
        Field(
            description="gs://BUCKET/PREFIX/ or gs://BUCKET/, with a slash at the end. Grant the Managed Lustre "
            "service agent of the project access to the bucket."
        ),
    ]
    import_on_create: Annotated[
        bool,
        Field(
            description="Import the objects under uri into the pool's directory once, before engines use the tier."
        ),
    ] = True
    export_schedule: Annotated[
        str | None,
        StringConstraints(max_length=64),
        Field(
            description="When to export the pool's directory to uri: a cron expression in UTC, such as 0 3 * * *. "
            "Unchanged files are skipped. If omitted, kvtier exports only before deletion (exportBeforeDeletion)."
        ),
    ] = None
    export_before_deletion: Annotated[
        bool,
        Field(
            description="With deletionPolicy Delete, export the pool's directory to uri before the instance is "
            "deleted. If the export fails, the instance stays."
        ),
    ] = True

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            message="exportSchedule must be a cron expression with five fields (minute, hour, day of month, month, day "
            "of week), such as 0 3 * * SUN",
            cel=f"!has(self.exportSchedule) || self.exportSchedule.matches('{_SCHEDULE}')",
            holds=lambda tier: (
                tier.export_schedule is None or re.fullmatch(_SCHEDULE, tier.export_schedule) is not None
            ),
        ),
    )


class Tiers(ApiModel):
    """Cache tiers of the pool. Without tiers, engines cache in GPU memory only."""

    cpu: CPUTier | None = None
    local_ssd: Annotated[LocalSSDTier | None, Field(alias="localSSD")] = None
    lustre: LustreTier | None = None
    object_storage: ObjectStorageTier | None = None
    cloud_storage: CloudStorageTier | None = None

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            message="localSSD, lustre and objectStorage require the cpu tier: every block passes through host memory",
            cel="has(self.cpu) || (!has(self.localSSD) && !has(self.lustre) && !has(self.objectStorage))",
            holds=lambda tiers: (
                tiers.cpu is not None
                or (tiers.local_ssd is None and tiers.lustre is None and tiers.object_storage is None)
            ),
        ),
        Rule(
            message="cloudStorage requires the lustre tier: Managed Lustre imports from and exports to Cloud Storage",
            cel="has(self.lustre) || !has(self.cloudStorage)",
            holds=lambda tiers: tiers.lustre is not None or tiers.cloud_storage is None,
        ),
    )

    @property
    def cpu_bytes(self) -> int:
        """Size of the CPU tier in bytes; 0 without one."""
        return self.cpu.capacity.bytes if self.cpu else 0

    def has_files(self) -> bool:
        """Whether a tier stores blocks as files."""
        return self.local_ssd is not None or self.lustre is not None
