"""The cache tiers of a pool below GPU memory, but for Lustre, and which of them go together."""

import re
from typing import Annotated, ClassVar, Literal

from pydantic import Field, StringConstraints

from kvtier.api.fields import ObjectName, Quantity
from kvtier.api.rules import ApiModel, Rule
from kvtier.api.v1alpha1.lustre import LustreTier


class CPUTier(ApiModel):
    """Host memory of each engine Pod; every lower tier is read and written through it."""

    capacity: Annotated[
        Quantity,
        Field(description="Cache bytes in host memory per Pod. Added to the Pod's memory request and limit."),
    ]


class LocalSSDTier(ApiModel):
    """Local SSD of the node, private to each engine Pod."""

    capacity: Annotated[Quantity, Field(description="Cache bytes on Local SSD per Pod.")]


CREDENTIALS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
FIXED = ("AWS_REQUEST_CHECKSUM_CALCULATION", "NIXL_TELEMETRY_ENABLE")
"""Variables that users may not replace: otherwise blocks come back wrong, or the first store ends the engine."""


class CredentialsSecret(ApiModel):
    """A Secret in the pool's namespace with the keys AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY."""

    name: Annotated[ObjectName, Field(description="Name of the Secret.")]


class ObjectStorageTier(ApiModel):
    """Blocks as objects of a bucket that every Pod of the pool shares.

    The image must hold the nixl package. An engine does not start while the bucket cannot be reached, whatever the
    mode of the pool. Nothing ever deletes an object: give the bucket a lifecycle rule. Experimental: after a store that
    failed, vLLM 0.32 and 0.33 may read a wrong block.
    """

    bucket: Annotated[
        str,
        StringConstraints(pattern=r"^[a-z0-9][-_.a-z0-9]{1,220}[a-z0-9]$", max_length=222),
        Field(description="Name of the bucket, which must exist."),
    ]
    endpoint: Annotated[
        str,
        StringConstraints(pattern=r"^[a-z0-9]([-.a-z0-9]*[a-z0-9])?(:[0-9]{1,5})?$", max_length=253),
        Field(description="Host, and port, that speaks the S3 protocol, without https://."),
    ] = "storage.googleapis.com"
    scheme: Annotated[Literal["https", "http"], Field(description="Protocol of the endpoint.")] = "https"
    region: Annotated[
        str | None,
        StringConstraints(pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", max_length=63),
        Field(description="Region, where the endpoint wants one."),
    ] = None
    credentials_secret_ref: Annotated[
        CredentialsSecret | None,
        Field(description="HMAC keys. Left out: what the AWS SDK finds by itself."),
    ] = None


def _times(values: str) -> str:
    """Pattern of one field of a cron expression, from the pattern of one of its values."""
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
    """A Cloud Storage prefix beneath the Lustre tier: data comes from it and is copied to it, by Lustre itself."""

    uri: Annotated[
        str,
        StringConstraints(
            pattern=r"^gs://[a-z0-9][-_.a-z0-9]{1,220}[a-z0-9]/([-_.a-zA-Z0-9/=+]*/)?$", max_length=512
        ),
        Field(
            description="gs://BUCKET/PREFIX/, ending in a slash. The Managed Lustre service agent of the project needs "
            "access to the bucket."
        ),
    ]
    import_on_create: Annotated[
        bool,
        Field(
            description="Copy what is under uri into the pool's directory once, before engines use the tier."
        ),
    ] = True
    export_schedule: Annotated[
        str | None,
        StringConstraints(max_length=64),
        Field(
            description="When to copy the pool's directory to uri, as a cron expression in UTC, such as 0 3 * * *. "
            "What has not changed is skipped. Left out: only before deletion."
        ),
    ] = None
    export_before_deletion: Annotated[
        bool,
        Field(
            description="Under deletionPolicy Delete, copy the pool's directory to uri before the instance goes. The "
            "instance is kept if that fails."
        ),
    ] = True

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            message="exportSchedule must be a cron expression of five fields, minute, hour, day, month and weekday, "
            "such as 0 3 * * SUN",
            cel=f"!has(self.exportSchedule) || self.exportSchedule.matches('{_SCHEDULE}')",
            holds=lambda tier: (
                tier.export_schedule is None or re.fullmatch(_SCHEDULE, tier.export_schedule) is not None
            ),
        ),
    )


class Tiers(ApiModel):
    """Tiers that the pool has. Without any, engines cache in GPU memory only."""

    cpu: CPUTier | None = None
    local_ssd: Annotated[LocalSSDTier | None, Field(alias="localSSD")] = None
    lustre: LustreTier | None = None
    object_storage: ObjectStorageTier | None = None
    cloud_storage: CloudStorageTier | None = None

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            message="localSSD, lustre and objectStorage need the cpu tier: every block moves through host memory",
            cel="has(self.cpu) || (!has(self.localSSD) && !has(self.lustre) && !has(self.objectStorage))",
            holds=lambda tiers: (
                tiers.cpu is not None
                or (tiers.local_ssd is None and tiers.lustre is None and tiers.object_storage is None)
            ),
        ),
        Rule(
            message="cloudStorage needs the lustre tier: it is Lustre that copies from and to Cloud Storage",
            cel="has(self.lustre) || !has(self.cloudStorage)",
            holds=lambda tiers: tiers.lustre is not None or tiers.cloud_storage is None,
        ),
    )

    @property
    def cpu_bytes(self) -> int:
        """Size of the CPU tier; 0 without one."""
        return self.cpu.capacity.bytes if self.cpu else 0

    def has_files(self) -> bool:
        """Whether blocks become files."""
        return self.local_ssd is not None or self.lustre is not None
