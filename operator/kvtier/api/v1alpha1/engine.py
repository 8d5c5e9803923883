"""The serving engine: which image holds which versions, and who moves blocks between the tiers."""

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
    """The LMCache server that runs beside every engine, from the same image."""

    version: Annotated[LMCacheVersion, Field(description="LMCache version inside the image.")]
    cpu: Annotated[int, Field(ge=1, le=1024, description="CPU cores requested for the server.")] = 4
    memory: Annotated[
        Quantity, Field(description="Host memory of the server beside the CPU tier, which it holds.")
    ] = Quantity("8Gi")


class Engine(ApiModel):
    """The serving engine and the image that holds it."""

    backend: Annotated[
        Literal["Native", "LMCache"],
        Field(
            description="Who moves KV blocks between the tiers. Native is vLLM's own OffloadingConnector, LMCache a "
            "cache server beside every engine."
        ),
    ] = "Native"
    image: Annotated[
        Image,
        Field(description="Container image of the engine, and of the LMCache server where there is one."),
    ] = ENGINES.default_image
    image_pull_secrets: Annotated[
        list[PullSecret],
        Field(
            max_length=8, json_schema_extra=list_map("name"), description="Secrets to pull the image with."
        ),
    ] = []
    version: Annotated[
        EngineVersion | None,
        Field(description="vLLM version inside the image. Needed when the image's tag does not tell it."),
    ] = None
    lmcache: Annotated[LMCache | None, Field(description="Required by backend LMCache.")] = None

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            message="engine.version is required when the image's tag is not a supported vLLM version: "
            + ", ".join(VERSIONS),
            cel=f"has(self.version) || self.image.matches({json.dumps(_TAGGED)})",
            holds=lambda engine: engine.version is not None or engine.tag_version() is not None,
        ),
        Rule(
            message="engine.lmcache belongs to backend LMCache, which needs it: it says which LMCache the image holds",
            cel="has(self.lmcache) == (self.backend == 'LMCache')",
            holds=lambda engine: (engine.lmcache is not None) == (engine.backend == "LMCache"),
        ),
    )

    def tag_version(self) -> str | None:
        """The supported version that the image's tag names, or None."""
        match = re.match(_TAGGED, self.image)
        return match[1] if match else None

    def supported_version(self) -> str:
        """Version to take flags from: the explicit one, else the one of the tag."""
        version = self.version or self.tag_version()
        assert version is not None, "a rule of the API sees to it"
        return version
