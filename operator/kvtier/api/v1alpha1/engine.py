"""The serving engine: its image, the versions in it, and the backend that moves blocks between the tiers."""

import json
import re
from typing import Annotated, ClassVar, Literal

from pydantic import Field, StringConstraints

from kvtier.api.fields import ObjectName, Quantity, list_map
from kvtier.api.rules import ApiModel, Rule
from kvtier.data.engines import ENGINES, LMCACHE

VERSIONS = tuple(ENGINES.versions)
LMCACHE_VERSIONS = tuple(LMCACHE.versions)
_TAGGED = r".*:v?(" + "|".join(v.replace(".", "[.]") for v in VERSIONS) + r")([.][0-9]+)?$"

EngineVersion = Literal[VERSIONS]  # type: ignore[valid-type]
LMCacheVersion = Literal[LMCACHE_VERSIONS]  # type: ignore[valid-type]
Image = Annotated[str, StringConstraints(pattern=r"^[^\s]+$", max_length=512)]


class PullSecret(ApiModel):
    """A Secret of type kubernetes.io/dockerconfigjson in the pool's namespace."""

    name: Annotated[ObjectName, Field(description="Name of the Secret.")]


class LMCache(ApiModel):
    """The LMCache server that runs in every engine Pod, from the same image."""

    version: Annotated[LMCacheVersion, Field(description="LMCache version in the image.")]
    cpu: Annotated[int, Field(ge=1, le=1024, description="CPU cores requested for the server.")] = 4
    memory: Annotated[
        Quantity, Field(description="Memory request of the server. The memory limit adds the CPU tier.")
    ] = Quantity("8Gi")


class Engine(ApiModel):
    """The serving engine, vLLM, and its image."""

    backend: Annotated[
        Literal["Native", "LMCache"],
        Field(
            description="What moves KV blocks between the tiers. Native: vLLM's OffloadingConnector. LMCache: an "
            "LMCache server in every engine Pod."
        ),
    ] = "Native"
    image: Annotated[
        Image,
        Field(description="Container image of the engine, and of the LMCache server with backend LMCache."),
    ] = ENGINES.default_image
    image_pull_secrets: Annotated[
        list[PullSecret],
        Field(max_length=8, json_schema_extra=list_map("name"), description="Secrets for pulling the image."),
    ] = []
    version: Annotated[
        EngineVersion | None,
        Field(description="vLLM version in the image. Required unless the image tag is a supported version."),
    ] = None
    lmcache: Annotated[
        LMCache | None,
        Field(description="The LMCache server in every engine Pod. Required with backend LMCache."),
    ] = None

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            message="engine.version is required unless the image tag is a supported vLLM version: "
            + ", ".join(VERSIONS),
            cel=f"has(self.version) || self.image.matches({json.dumps(_TAGGED)})",
            holds=lambda engine: engine.version is not None or engine.tag_version() is not None,
        ),
        Rule(
            message="engine.lmcache is required with engine.backend LMCache, and must not be set with Native",
            cel="has(self.lmcache) == (self.backend == 'LMCache')",
            holds=lambda engine: (engine.lmcache is not None) == (engine.backend == "LMCache"),
        ),
    )

    def tag_version(self) -> str | None:
        """The supported version in the image tag, or None."""
        match = re.match(_TAGGED, self.image)
        return match[1] if match else None

    def supported_version(self) -> str:
        """The explicit version, else the version in the image tag."""
        version = self.version or self.tag_version()
        assert version is not None, "a rule of the API requires it"
        return version
