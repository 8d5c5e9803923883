"""What a model's layers cache, and how its heads fall to the GPUs of a tensor-parallel group."""

from dataclasses import dataclass
from typing import Any, Literal

from kvtier.sizing import token_bytes

Config = dict[str, Any]
Kind = Literal["Full", "Window", "Chunk", "State"]

_HEADS = ("n_head_kv", "num_kv_heads", "num_key_value_heads", "multi_query_group_num", "num_attention_groups")
"""Spellings of the number of key and value heads, in vLLM's order (CONFIG_FIELD_ALIASES, 0.33.0)."""


@dataclass(frozen=True)
class Layers:
    """`count` layers that cache alike. Bytes of one GPU.

    Full: every token, for ever. Window and Chunk: the last `span` tokens. State: `size` bytes for a whole
    sequence, whatever its length. For the others `size` is bytes per token.
    """

    kind: Kind
    count: int
    size: int
    span: int | None = None


@dataclass(frozen=True)
class Cached:
    """All cached layers of a model.

    `one_copy`: every GPU holds the same bytes, and a tier keeps them once. `together`: layers of different
    sizes share their blocks. `align`: what the tokens of a block are a multiple of where states are cached.
    """

    layers: tuple[Layers, ...]
    one_copy: bool = False
    together: bool = False
    align: int = 1


def heads(text: Config) -> int:
    """Key and value heads of a model; as many as attention heads when the config names none."""
    return next(
        (int(text[name]) for name in _HEADS if text.get(name) is not None), int(text["num_attention_heads"])
    )


def head_size(text: Config) -> int:
    """Elements of a head."""
    given = text.get("head_dim") or text.get("hidden_size_per_head")
    return int(given or text["hidden_size"] // text["num_attention_heads"])


def heads_per_gpu(total: int, gpus: int) -> int | None:
    """Heads of one GPU. Fewer heads than GPUs are repeated, others must divide evenly: vLLM refuses the rest."""
    if total % gpus == 0:
        return total // gpus
    return 1 if gpus % total == 0 else None


def size(total_heads: int, key: int, value: int, element: str, gpus: int) -> int:
    """Bytes per token of one layer on one GPU; 0 for what vLLM refuses."""
    mine = heads_per_gpu(total_heads, gpus)
    return (token_bytes.of_heads(mine, key, value, element) or 0) if mine else 0


def plain_size(text: Config, element: str, gpus: int) -> int:
    """Bytes per token of a layer of which all heads are alike, on one GPU."""
    return size(heads(text), head_size(text), head_size(text), element, gpus)
