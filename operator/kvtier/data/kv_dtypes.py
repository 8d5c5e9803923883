"""Element types of the cache, by --kv-cache-dtype: their bytes, and which GPUs support them, typed."""

from typing import Annotated

from pydantic import Field

from kvtier.data import Row, Table, table


class Layout(Row):
    """Layout of a type: `bits` per element, and scales; or `latent` bytes for a whole latent."""

    bits: int | None = None
    scale: int = 0
    elements_per_scale_byte: int | None = None
    latent: int | None = None


class Capabilities(Row):
    """GPUs that support a type, by compute capability times ten. For latents, `latent` replaces `least`."""

    least: Annotated[int, Field(alias="from")]
    most: Annotated[int | None, Field(alias="to")] = None
    latent: int | None = None


class Indexer(Row):
    """Layout of the indexer of sparse attention: `scale` bytes for `elements_per_scale` elements of 8 bits."""

    elements_per_scale: int
    scale: int


class KVDtypeTable(Table):
    """All of `data/kv_dtypes.yaml`."""

    dtypes: dict[str, Layout]
    latent_width: int
    for_latents: frozenset[str]
    gpus: dict[str, Capabilities]
    other_makers: dict[str, str]
    indexer: Indexer


KV_DTYPES = KVDtypeTable.model_validate(table("kv_dtypes"))
