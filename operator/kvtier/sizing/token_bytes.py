"""Bytes of one token in one attention layer, by the type that the cache is kept in (`data/kv_dtypes.yaml`)."""

from typing import Any

from kvtier.data import table


def covered(dtype: str) -> bool:
    """Whether kvtier knows the layout of a cache of this type."""
    return dtype in table("kv_dtypes")["dtypes"]


def of_heads(heads: int, key: int, value: int, dtype: str) -> int | None:
    """Keys and values of `heads` heads of `key` and `value` elements; None where vLLM has no such layout."""
    row = _row(dtype)
    if "bits" not in row or ("elementsPerScaleByte" in row and key != value):
        return None
    sides = [_side(elements, row) for elements in (key, value)]
    return heads * sum(sides)


def of_latent(width: int, dtype: str) -> int | None:
    """The one latent that all heads of multi-head latent attention (MLA) share; it has no values of its own.

    None for the types that no MLA kernel for CUDA takes: those with scales, and fp8_e5m2.
    """
    row, known = _row(dtype), table("kv_dtypes")
    if "latent" in row:
        return int(row["latent"]) if width == known["latentWidth"] else None
    plain = set(row) == {"bits"} and dtype in known["forLatents"]
    return width * int(row["bits"]) // 8 if plain else None


def of_indexer(width: int) -> int:
    """What the indexer of sparse attention keeps beside the latent, whatever the type of the cache."""
    indexer = table("kv_dtypes")["indexer"]
    return width + width // int(indexer["elementsPerScale"]) * int(indexer["scale"])


def _side(elements: int, row: dict[str, Any]) -> int:
    scale = elements // row["elementsPerScaleByte"] if "elementsPerScaleByte" in row else row.get("scale", 0)
    return elements * int(row["bits"]) // 8 + int(scale)


def _row(dtype: str) -> dict[str, Any]:
    row: dict[str, Any] = table("kv_dtypes")["dtypes"].get(dtype, {})
    return row
