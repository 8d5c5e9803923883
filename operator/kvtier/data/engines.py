"""What kvtier knows about versions of vLLM and of LMCache: `data/engines.yaml` and `data/lmcache.yaml`, typed.

Every flag and key that kvtier renders comes from the row of the version. The row names it after what it sets.
"""

from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from kvtier.data import Row, Table, table


class FileTier(Row):
    """vLLM's secondary tier for files: its type, the key of its directory, and its settings by tier of the pool."""

    type: str
    root: str
    settings: dict[str, dict[str, Any]]


class StoreKeys(Row):
    """Keys that describe the bucket of an object tier."""

    bucket: str
    endpoint: str
    scheme: str
    region: str


class ObjectTier(Row):
    """vLLM's secondary tier for objects: its type, the keys of its bucket and of its prefix, and its settings.

    `environment`: environment variables that the engine needs for this tier.
    """

    type: str
    store: str
    store_keys: StoreKeys
    prefix: str
    settings: dict[str, Any]
    environment: dict[str, str] = {}


class TransferKeys(Row):
    """Keys of --kv-transfer-config, the same for every connector."""

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

    `flags`: by what they set, the flag that kvtier renders, then other flags that set the same. `pinned_tier_gib`:
    size from which a CPU tier cannot be pinned, None for no limit. `eviction_safe`: vLLM treats a block that an evictor
    deleted as a miss. `tested`: False for a version that has no row of its own. `cache_format`: versions with the same
    one read each other's cache files.
    """

    version: str
    cache_format: str
    tested: bool = True
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
    geometry_flags: tuple[str, ...]
    pinned_tier_gib: int | None
    eviction_safe: bool

    def flag(self, name: str) -> str:
        """The flag that kvtier renders for `name`."""
        return self.flags[name][0]

    def untested(self, version: str) -> "EngineFacts":
        """This row for another version, which nobody has compared with it."""
        return self.model_copy(update={"version": version, "cache_format": version, "tested": False})


class ChunkLimits(Row):
    """Least size of a file on a shared tier, and most tokens of a chunk."""

    file_mib: int
    most_tokens: int


class Conflict(Row):
    """A setting that vLLM supports, but not together with what kvtier renders.

    It is one of `flags`, with a value above `above` if that is set, or `variable`, with `contains` in its value.
    `tiered`: conflicts only with a CPU tier. `unless`: one of these flags resolves the conflict.
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
    """All of `data/engines.yaml`, the newest version first.

    `runtime_updates`: variables with which requests can change the weights of a running engine. `content_types`: names
    of adapters that vLLM also uses for requests that do not name them.
    """

    default_image: str
    versions: Annotated[dict[str, EngineFacts], BeforeValidator(_named)]
    weights_mb_per_second: int
    chunk: ChunkLimits
    conflicts: tuple[Conflict, ...]
    owned: tuple[str, ...]
    runtime_updates: tuple[str, ...]
    content_types: tuple[str, ...]


class AdapterKeys(Row):
    """LMCache's adapter for files: its type, and the keys of its JSON."""

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

    `flags`: the flags of the server, by what they set. `request_seconds`: how long an engine waits for a response.
    `startup_seconds`: time to start the server, before it allocates the CPU tier.
    """

    flags: dict[str, str]
    adapter: AdapterKeys
    connector_keys: LMCacheConnectorKeys
    request_seconds: int
    startup_seconds: int


class Pair(Row):
    """Versions of vLLM and LMCache that gave correct tokens together, and in which test (`seen`)."""

    vllm: str
    lmcache: str
    seen: str


class LMCacheTable(Table):
    """All of `data/lmcache.yaml`.

    `unkeyed_flags`: flags of vLLM for inputs of requests that LMCache's keys do not contain.
    """

    versions: dict[str, LMCacheFacts]
    pairs: tuple[Pair, ...]
    unkeyed_flags: tuple[str, ...]


ENGINES = EngineTable.model_validate(table("engines"))
LMCACHE = LMCacheTable.model_validate(table("lmcache"))
