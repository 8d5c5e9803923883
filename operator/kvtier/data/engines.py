"""What kvtier knows about versions of vLLM and of LMCache: `data/engines.yaml` and `data/lmcache.yaml`, typed.

The name of every flag and key that kvtier renders comes from the version's row, under the name of what it sets.
"""

from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from kvtier.data import Row, Table, table


class FileTier(Row):
    """vLLM's secondary tier of files: its type, the key of its directory, and its settings by tier of the pool."""

    type: str
    root: str
    settings: dict[str, dict[str, Any]]


class StoreKeys(Row):
    """Keys of the bucket of a tier of objects."""

    bucket: str
    endpoint: str
    scheme: str
    region: str


class ObjectTier(Row):
    """vLLM's secondary tier of objects: its type, the keys of its bucket and of its prefix, and its settings.

    `environment`: variables that this version needs beside those that all do.
    """

    type: str
    store: str
    store_keys: StoreKeys
    prefix: str
    settings: dict[str, Any]
    environment: dict[str, str] = {}


class TransferKeys(Row):
    """Keys of --kv-transfer-config, whichever connector it is for."""

    connector: str
    role: str
    load_failure_policy: str
    extra_config: str


class ConnectorKeys(Row):
    """Keys of the extra configuration of vLLM's own connector."""

    spec: str
    cpu_bytes: str
    blocks_per_chunk: str
    eviction_policy: str
    secondary_tiers: str


class EngineFacts(Row):
    """One vLLM version. Sizes in GiB, times in seconds.

    `flags`: by what they set, the flag that kvtier renders, and then others that set the same. `pinned_tier_gib`:
    the largest CPU tier that can be pinned, None for no limit. `eviction_safe`: a block that an evictor took away
    is a miss.
    """

    version: str
    kv_cache_dtypes: tuple[str, ...]
    pin_seconds_per_gib: float
    block_size: int
    blocks_per_chunk: int
    shm_headroom_gib: int
    startup_seconds: int
    flags: dict[str, tuple[str, ...]]
    transfer_keys: TransferKeys
    connector_keys: ConnectorKeys
    file_tier: FileTier
    object_tier: ObjectTier
    layout_flags: tuple[str, ...]
    layout_variables: tuple[str, ...]
    geometry_flags: tuple[str, ...]
    pinned_tier_gib: int | None
    eviction_safe: bool

    def flag(self, name: str) -> str:
        """The flag that kvtier renders for `name`."""
        return self.flags[name][0]


class ChunkLimits(Row):
    """How large a file on a shared tier should be at least, and for how many tokens it may stand at most."""

    file_mib: int
    most_tokens: int


class Conflict(Row):
    """A setting that vLLM takes by itself, and that does not work with what kvtier renders.

    Either one of `flags`, with a number above `above` if there is one, or `variable`, with `contains` in its value.
    `tiered`: only beside a CPU tier. `unless`: not where one of these flags is given too.
    """

    flags: tuple[str, ...] = ()
    above: int | None = None
    variable: str | None = None
    contains: str = ""
    tiered: bool = False
    unless: tuple[str, ...] = ()
    against: Annotated[str, Field(alias="with")]
    remedy: str


def _named(rows: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {version: {"version": version, **row} for version, row in rows.items()}


class EngineTable(Table):
    """All of `data/engines.yaml`, the newest version first."""

    default_image: str
    versions: Annotated[dict[str, EngineFacts], BeforeValidator(_named)]
    weights_mb_per_second: int
    chunk: ChunkLimits
    conflicts: tuple[Conflict, ...]
    owned: tuple[str, ...]


class AdapterKeys(Row):
    """LMCache's adapter for files: its type, and keys of its JSON."""

    type: str
    directory: str
    workers: str
    capacity_gb: str
    eviction: str
    eviction_policy: str
    eviction_watermark: str
    eviction_ratio: str
    temporary_directory: str


class LMCacheConnectorKeys(Row):
    """Keys of the extra configuration of LMCache's connector in vLLM."""

    host: str
    port: str
    request_seconds: str
    transfer_mode: str


class LMCacheFacts(Row):
    """One LMCache version. Times in seconds.

    `flags` are those of the server, by what they set. `request_seconds`: how long an engine waits for an answer.
    `startup_seconds`: time to start the server, before it takes the CPU tier.
    """

    flags: dict[str, str]
    adapter: AdapterKeys
    connector_keys: LMCacheConnectorKeys
    request_seconds: int
    startup_seconds: int


class Pair(Row):
    """A vLLM and an LMCache version that were seen to give right tokens together, and how."""

    vllm: str
    lmcache: str
    seen: str


class LMCacheTable(Table):
    """All of `data/lmcache.yaml`."""

    versions: dict[str, LMCacheFacts]
    pairs: tuple[Pair, ...]


ENGINES = EngineTable.model_validate(table("engines"))
LMCACHE = LMCacheTable.model_validate(table("lmcache"))
