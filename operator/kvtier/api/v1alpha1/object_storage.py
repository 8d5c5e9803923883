"""An S3-compatible bucket as the last tier: vLLM itself reads and writes it."""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from kvtier.api.fields import ObjectName
from kvtier.api.rules import ApiModel

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
