"""How vLLM parses LoRA adapters and names them in the keys of blocks, and what LMCache's keys consist of."""

from types import SimpleNamespace
from typing import Any

import torch
from lmcache.integration.vllm.lmcache_mp_metadata import LMCacheMPRequestTracker
from vllm.entrypoints.openai.models.serving import LoRARequest
from vllm.entrypoints.serve.engine.serving import BaseServing
from vllm.sampling_params import SamplingParams
from vllm.utils.hashing import sha256_cbor
from vllm.v1.core.kv_cache_utils import get_request_block_hasher, init_none_hash
from vllm.v1.request import Request

from . import serve

try:
    from vllm.renderers.chat_utils.chat_message import MM_PARSER_MAP
except ImportError:  # vLLM 0.32
    from vllm.renderers.chat_utils import MM_PARSER_MAP

TOKENS = list(range(100, 148))
_BLOCK = 16


def parsed(command: list[str]) -> dict[str, Any]:
    """What `vllm serve` takes from its command line."""
    found = serve.parsed(command)
    modules = [[one.name, one.path] for one in found.lora_modules or []]
    names = ("enable_lora", "max_loras", "max_cpu_loras", "max_lora_rank", "served_model_name")
    return {"modules": modules, **{name: getattr(found, name) for name in names}}


def blocks(adapters: list[list[str] | None]) -> list[list[str]]:
    """The keys of the blocks of one prompt, for requests to each adapter (name and path), or to the model."""
    init_none_hash(sha256_cbor)
    return [[key.hex() for key in _request(adapter=one).block_hashes] for one in adapters]


def lmcache_keys() -> dict[str, Any]:
    """What LMCache's connector sends of a request to find its blocks, for requests of different meaning."""
    init_none_hash(sha256_cbor)
    path = ["sql", "/adapters/sql"]
    requests = {
        "model": _request(),
        "adapter": _request(adapter=path),
        "salt": _request(cache_salt="tenant"),
        "embeddings": _embeddings(0.0),
        "other embeddings": _embeddings(1.0),
        "image": _request(mm_features=[_image("a" * 64)]),
        "other image": _request(mm_features=[_image("b" * 64)]),
    }
    trackers = {name: LMCacheMPRequestTracker(request) for name, request in requests.items()}
    return {name: [one.get_token_ids(), one.cache_salt] for name, one in trackers.items()}


def content_types() -> list[str]:
    """The names of adapters that vLLM uses for requests that do not name them."""
    messages = [{"role": "user", "content": [{"type": one} for one in MM_PARSER_MAP]}]
    asked: Any = SimpleNamespace(messages=messages)
    return sorted(BaseServing._get_message_types(None, asked))


def _request(adapter: list[str] | None = None, **given: Any) -> Request:
    hasher = get_request_block_hasher(_BLOCK, sha256_cbor)
    lora = LoRARequest(adapter[0], 1, adapter[1]) if adapter else None
    tokens = given.pop("prompt_token_ids", TOKENS)
    sampling = SamplingParams(max_tokens=1)
    return Request("request", tokens, sampling, None, lora_request=lora, block_hasher=hasher, **given)


def _embeddings(value: float) -> Request:
    return _request(prompt_token_ids=None, prompt_embeds=torch.full((len(TOKENS), 4), value))


def _image(identifier: str) -> Any:
    position = SimpleNamespace(offset=4, length=8)
    return SimpleNamespace(identifier=identifier, mm_position=position)
