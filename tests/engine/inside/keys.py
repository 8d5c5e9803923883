"""Which keys vLLM reads from the offloading connector's configuration."""

import inspect
import re
from pathlib import Path
from typing import Any, get_args

import vllm
from vllm.config import CacheConfig
from vllm.config.cache import CacheDType
from vllm.v1.kv_offload.file_mapper import FileMapper
from vllm.v1.kv_offload.tiering.backpressure import EMABackpressureDetector
from vllm.v1.kv_offload.tiering.factory import SecondaryTierFactory

# Keys that the factory removes from a tier's configuration or adds to it.
_BY_FACTORY = {"self", "offloading_spec", "primary_kv_view", "tier_type", "backpressure_detector"}
_SOURCES = ("v1/kv_offload", "distributed/kv_transfer/kv_connector/v1/offloading")


def answer(tiers: list[str]) -> dict[str, Any]:
    """Keys of the connector, of backpressure, and of each type of tier, and whether a key is required."""
    return {
        "connector": sorted(_connector()),
        "pressure": sorted(
            _parameters(EMABackpressureDetector) | {"backpressure_cls": False, "policy_cls": False}
        ),
        "tiers": {kind: _tier(kind) for kind in tiers},
        "registered": sorted(SecondaryTierFactory._registry),
    }


def _connector() -> set[str]:
    """String literals that the code reads from `extra_config`. vLLM has no list of them."""
    assert vllm.__file__
    root = Path(vllm.__file__).parent
    sources = [file for part in _SOURCES for file in sorted((root / part).rglob("*.py"))]
    read = re.compile(r"""extra_config(?:\.get|\.pop)?[\[(]\s*["'](\w+)["']""")
    return {key for file in sources for key in read.findall(file.read_text())}


def _tier(kind: str) -> dict[str, bool]:
    found = _parameters(SecondaryTierFactory.get_tier_class({"type": kind}))
    return {name: required for name, required in found.items() if name not in _BY_FACTORY} | {
        "backpressure": False
    }


def _parameters(kind: type) -> dict[str, bool]:
    """Parameters of a constructor, and whether they have no default."""
    parameters = inspect.signature(kind).parameters.values()
    named = [one for one in parameters if one.kind not in (one.VAR_KEYWORD, one.VAR_POSITIONAL)]
    return {one.name: one.default is one.empty for one in named if one.name != "policy"}


def cache_dtypes() -> list[str]:
    """Every --kv-cache-dtype that vLLM lists. Platforms may add more."""
    return list(get_args(CacheDType))


def default_block_size() -> int:
    """Tokens of a block on GPUs whose attention kernel needs no other number."""
    return int(CacheConfig.DEFAULT_BLOCK_SIZE)


def directory_name(model: str) -> str:
    """The directory name of the file tier for a model without special settings."""
    mapper = FileMapper("/root", model, 16, 16, 1, 1, 1, 1, rank=0, dtype="bfloat16")
    return Path(mapper.get_config_file_path()).parent.name


def directory_parameters() -> list[str]:
    """The parameters that decide the name."""
    return [name for name in inspect.signature(FileMapper).parameters if name not in ("root_dir", "rank")]
