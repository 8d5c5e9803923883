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

# 0.34, 0.34.1, v0.34.0.post1, and releases before a release: 0.34.0rc1, 0.34.0.dev5.
_RELEASE = r"v?([0-9]{1,4}[.][0-9]{1,4})([.][0-9]{1,4})?([.]post[0-9]{1,4})?((a|b|rc|[.]dev)[0-9]{1,4})?"
_BEFORE_RELEASE = 5
"""Group of `_RELEASE` that only a release before a release has."""

EngineVersion = Annotated[str, StringConstraints(pattern=f"^{_RELEASE}$")]
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
        Field(
            description="vLLM version in the image, such as 0.33 or 0.33.1. Required unless the image tag is one. "
            f"kvtier is tested with {', '.join(VERSIONS)}; any other version needs spec.acknowledgedConditions."
        ),
    ] = None
    lmcache: Annotated[
        LMCache | None,
        Field(description="The LMCache server in every engine Pod. Required with backend LMCache."),
    ] = None

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            message="engine.version is required unless the image tag is a vLLM version, such as v0.34.0",
            cel=f"has(self.version) || self.image.matches({json.dumps(f'.*:{_RELEASE}$')})",
            holds=lambda engine: engine.version is not None or engine.tagged() is not None,
        ),
        Rule(
            message="engine.lmcache is required with engine.backend LMCache, and must not be set with Native",
            cel="has(self.lmcache) == (self.backend == 'LMCache')",
            holds=lambda engine: (engine.lmcache is not None) == (engine.backend == "LMCache"),
        ),
    )

    def release(self) -> str:
        """The explicit version, else that of the image tag, as major.minor: 0.34 for v0.34.1.

        What comes before a release stands for itself, such as 0.34.0rc1: its cache may differ from that of the release.
        """
        given = _release(self.version) if self.version else self.tagged()
        assert given is not None, "a pattern and a rule of the API require it"
        return given

    def tagged(self) -> str | None:
        """The release that the image tag names, or None if the tag is no version."""
        _, colon, tag = self.image.rpartition(":")
        return _release(tag) if colon else None

    def contradicting_tag(self) -> str | None:
        """The release of vLLM that the image tag names, if engine.version is another one.

        A tag such as 1.2 is a version of the image, and the tag of an image with LMCache may be one of LMCache.
        """
        tagged = None if self.lmcache else self.tagged()
        return tagged if tagged and tagged.startswith("0.") and tagged != self.release() else None


def _release(version: str) -> str | None:
    match = re.fullmatch(_RELEASE, version)
    if match is None:
        return None
    return version.removeprefix("v") if match[_BEFORE_RELEASE] else match[1]
