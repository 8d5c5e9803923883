"""The size of a token in a model's KV cache, computed by vLLM's own classes.

The model is built without memory (PyTorch's meta device). Its layers return their cache specifications, as for a
GPU worker (vllm/v1/worker/gpu/attn_utils.py), and vLLM groups them (vllm/v1/core/kv_cache_planning.py).

Replaced, because there is no GPU: the process groups (only their sizes are used), and the attention backend. Its
packing of element types and its block sizes are those of vLLM's Triton backend, and those of FlashInfer for nvfp4.
"""

import contextlib
import importlib
import importlib.util
import json
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import torch
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES
from vllm.config import VllmConfig, set_current_vllm_config
from vllm.distributed import parallel_state
from vllm.engine.arg_utils import EngineArgs
from vllm.model_executor.layers.attention import Attention, MLAAttention
from vllm.model_executor.model_loader.utils import initialize_model
from vllm.model_executor.models import registry
from vllm.platforms import current_platform
from vllm.platforms.interface import Platform
from vllm.utils.torch_utils import kv_cache_dtype_str_to_dtype
from vllm.v1.attention.backends import utils
from vllm.v1.attention.backends.triton_attn import TritonAttentionBackend
from vllm.v1.kv_cache_interface import KVCacheGroupSpec, KVCacheSpec, MambaSpec, get_kv_cache_spec_kind
from vllm.v1.worker.gpu.attn_utils import get_kv_cache_spec

# Layout of a backend that supports all of them, in vLLM's order.
_LAYOUTS = [layout.name for layout in utils._DEFAULT_LAYOUT_PREFERENCE]
# Fields that vLLM needs, and that a shortened config.json may not have.
_LEFT_OUT = {"max_position_embeddings": 131072}
# 0.33 has here what 0.32 has in its utilities.
_PLANNING = "vllm.v1.core.kv_cache_planning"


def planning() -> Any:
    """vLLM's module that groups layers and computes their sizes."""
    there = importlib.util.find_spec(_PLANNING)
    return importlib.import_module(_PLANNING if there else "vllm.v1.core.kv_cache_utils")


def answer(
    config: dict[str, Any], kv_cache_dtype: str = "auto", tensor_parallel_size: int = 1
) -> list[dict[str, Any]]:
    """The layer groups of a model with this config.json, on one of `tensor_parallel_size` ranks.

    Each has `kind`, `layers`, `block_size` in tokens, `window` in tokens (if it keeps only so many), and per layer
    `token_bytes`, or `state_bytes` for a state of constant size. `page_bytes`: the size of a block of one layer. It is
    larger than the content if vLLM pads it, because pages of all groups have the same size.
    """
    _, groups = grouped(config, kv_cache_dtype, tensor_parallel_size)
    return [_plain(group.kv_cache_spec, len(group.layer_names)) for group in groups]


def grouped(
    config: dict[str, Any], kv_cache_dtype: str, tensor_parallel_size: int, **arguments: Any
) -> tuple[VllmConfig, list[KVCacheGroupSpec]]:
    """The engine's configuration with these arguments of `EngineArgs`, and the groups that vLLM makes."""
    vllm_config = _configured(config, tensor_parallel_size, arguments)
    with set_current_vllm_config(vllm_config), _ranks(tensor_parallel_size):
        with torch.device("meta"):
            initialize_model(vllm_config)
        _as_on_gpus(vllm_config, kv_cache_dtype, arguments.get("block_size"))
        specs = get_kv_cache_spec(vllm_config)
        utils.resolve_kv_cache_layout(vllm_config, [_LAYOUTS], specs.values())
        return vllm_config, planning().get_kv_cache_groups(vllm_config, specs)


def _configured(config: dict[str, Any], tensor_parallel_size: int, arguments: dict[str, Any]) -> VllmConfig:
    """Inspect classes of models in this process. In a separate process, each would import vLLM again."""
    with tempfile.TemporaryDirectory() as directory:
        named = {
            "architectures": [MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.get(config["model_type"])],
            **_LEFT_OUT,
            **config,
        }
        (Path(directory) / "config.json").write_text(json.dumps(named))
        with mock.patch.object(registry, "_run_in_subprocess", lambda inspect: inspect()):
            return EngineArgs(
                model=directory,
                skip_tokenizer_init=True,
                load_format="dummy",
                enforce_eager=True,
                max_model_len=8192,
                tensor_parallel_size=tensor_parallel_size,
                **arguments,
            ).create_engine_config()


def _as_on_gpus(vllm_config: VllmConfig, kv_cache_dtype: str, block_size: int | None) -> None:
    """Give layers what their constructors read from a GPU's platform, and choose the same block size."""
    config = vllm_config.cache_config
    config.cache_dtype = kv_cache_dtype
    backend = _flash_infer() if kv_cache_dtype.startswith("nvfp4") else TritonAttentionBackend
    for layer in vllm_config.compilation_config.static_forward_context.values():
        if isinstance(layer, Attention | MLAAttention):
            layer.kv_cache_dtype = kv_cache_dtype
            layer.kv_cache_torch_dtype = kv_cache_dtype_str_to_dtype(kv_cache_dtype, vllm_config.model_config)
        if isinstance(layer, Attention):
            layer.attn_backend = backend
    config.block_size = block_size or config.DEFAULT_BLOCK_SIZE
    config.user_specified_block_size = block_size is not None
    if not vllm_config.model_config.use_mla:
        Platform.update_block_size_for_backend.__func__(type(current_platform), vllm_config)


def _flash_infer() -> Any:
    """vLLM's FlashInfer backend. The package needs a GPU and is not installed, and it does not decide the packing."""
    missing = ("flashinfer", "flashinfer.decode", "flashinfer.prefill", "flashinfer.utils")
    with mock.patch.dict(sys.modules, {name: mock.MagicMock() for name in missing}):
        return importlib.import_module("vllm.v1.attention.backends.flashinfer").FlashInferBackend


@contextlib.contextmanager
def _ranks(tensor_parallel_size: int) -> Iterator[None]:
    """Groups of processes without processes."""
    alone = ("_WORLD", "_ETP", "_DCP", "_PP", "_DP", "_EP", "_EPLB", "_PCP")
    groups = {name: _group(1) for name in alone if hasattr(parallel_state, name)}
    with mock.patch.multiple(parallel_state, _TP=_group(tensor_parallel_size), **groups):
        yield


def _group(size: int) -> Any:
    return mock.MagicMock(
        world_size=size,
        rank_in_group=0,
        rank=0,
        is_first_rank=True,
        is_last_rank=True,
        ranks=list(range(size)),
    )


def _plain(spec: KVCacheSpec, layers: int) -> dict[str, Any]:
    kind = get_kv_cache_spec_kind(spec).value
    found = {
        "kind": kind,
        "layers": layers,
        "block_size": spec.block_size,
        "page_bytes": spec.page_size_bytes,
    }
    if isinstance(spec, MambaSpec):
        return found | {"state_bytes": replace(spec, page_size_padded=None).page_size_bytes}
    window = getattr(spec, "sliding_window", None)
    return found | {"token_bytes": spec.real_page_size_bytes / spec.block_size, "window": window}
