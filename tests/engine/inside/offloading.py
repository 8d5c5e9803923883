"""How vLLM divides a model's cache into chunks, from the specification that its offloading connector builds."""

from typing import Any
from unittest import mock

from vllm.config import KVTransferConfig, set_current_vllm_config
from vllm.distributed.kv_transfer.kv_connector.v1.offloading.config import build_offloading_config
from vllm.v1.kv_offload.cpu.spec import CPUOffloadingSpec
from vllm.v1.kv_offload.factory import OffloadingSpecFactory

from . import geometry

# On GPUs all workers share one region of memory, so latents are kept once.
_SHARED = ("_uses_shared_region", lambda _: True)
# Size of the cache on a GPU: any size with space for a few blocks.
_GPU_BYTES = 16 << 30


def answer(
    config: dict[str, Any],
    transfer: dict[str, Any],
    kv_cache_dtype: str,
    tensor_parallel_size: int,
    block_size: int | None,
) -> dict[str, Any]:
    """`chunks` of `chunk_bytes` in the CPU tier, with `tokens` of each group of layers; or why it is `refused`.

    `transfer`: the value of --kv-transfer-config. The model is given by a config.json.
    """
    try:
        spec = specified(config, transfer, kv_cache_dtype, tensor_parallel_size, block_size)
    except Exception as error:
        return {"refused": f"{type(error).__name__}: {error}"}
    return {"refused": None, **_plain(spec)}


def specified(
    config: dict[str, Any],
    transfer: dict[str, Any],
    kv_cache_dtype: str,
    tensor_parallel_size: int,
    block_size: int | None,
) -> Any:
    """The specification itself, with arguments as of `answer`."""
    arguments = {"kv_transfer_config": KVTransferConfig(**transfer), "block_size": block_size}
    vllm_config, groups = geometry.grouped(config, kv_cache_dtype, tensor_parallel_size, **arguments)
    planning = geometry.planning()
    with set_current_vllm_config(vllm_config), mock.patch.object(CPUOffloadingSpec, *_SHARED):
        sized = planning.get_kv_cache_config_from_groups(vllm_config, groups, _GPU_BYTES)
        sized.kv_tp_replicas = planning.kv_cache_groups_tp_replicas(groups, tensor_parallel_size)
        return OffloadingSpecFactory.create_spec(build_offloading_config(vllm_config, sized))


def _plain(spec: Any) -> dict[str, Any]:
    return {
        "chunks": spec.num_chunks,
        "chunk_bytes": spec.kv_bytes_per_chunk,
        "tokens": [group.tokens_per_block * spec.blocks_per_chunk for group in spec.config.groups],
    }
