"""The input of one reconciliation: all that checks and planner use, derived once and passed on.

Only the entry function of a check or of a concern takes a Context. Other functions take the values that they need.
"""

from dataclasses import dataclass, field
from functools import cached_property

from kvtier.api import identity, names
from kvtier.api.conditions import STORAGE_READY, Condition, find
from kvtier.api.placement import fitting
from kvtier.api.v1alpha1 import KVCachePool, LustreTier, ModelStatus, ServedModel, TierStatus
from kvtier.data.engines import EngineFacts
from kvtier.data.vllm_flags import given
from kvtier.engines import versions
from kvtier.engines.fingerprint import ModelCache, kept_cache, new_cache
from kvtier.facts import versions as gke_versions
from kvtier.facts.children import Children, Claim, Deployment, PersistentVolume
from kvtier.facts.identity import instance_name, is_own_claim, provisioned_for
from kvtier.facts.model import ConfigMaps, Event, Facts, Instance, LustreFacts, Node, Observed
from kvtier.facts.operations import Operations, operations_of
from kvtier.facts.versions import GKEVersion
from kvtier.facts.volumes import Volume
from kvtier.pace import DEFAULT, Pace
from kvtier.sizing.architectures import Config
from kvtier.sizing.chunks import Chunk, cut, suited
from kvtier.sizing.geometry import Geometry
from kvtier.sizing.models import Document, known_config, model_document, served_geometry

_GONE = ("Retained", "Deleting")
"""Phases of a shared tier that was removed from the spec."""


@dataclass(frozen=True)
class ModelView:
    """A model of the pool.

    `document` is the config.json that the pool refers to. `config` is the one that kvtier uses, and `geometry` is the
    layout of the KV cache; both are None if kvtier does not know them. `cache` is the directory of its blocks, and
    `chunk` is the content of one file. `provisional`: the number of blocks per file is temporary, because the document
    could not be read yet.
    `deployment` is the live Deployment, `name` is the name of Deployment and Service.
    """

    spec: ServedModel
    name: str
    engine: EngineFacts
    document: Document
    config: Config | None
    geometry: Geometry | None
    cache: ModelCache
    provisional: bool
    chunk: Chunk
    deployment: Deployment | None = None


@dataclass(frozen=True)
class LustreView:
    """The Lustre tier: the spec, the live objects, and the instance in the Lustre API.

    `class_name` is the name of its StorageClass, empty unless the CSI driver creates the instance. `claim` and `volume`
    are the live PVC and PersistentVolume of the pool; `claim_owned`: the PVC is as kvtier creates it. `volumes` are all
    PersistentVolumes reserved for the PVC; `provisioned` are those of them that the driver created for this pool.
    `instance_name` is projects/P/locations/ZONE/instances/ID, None if unknown. `status` is the tier and `reported` is
    StorageReady in the last status. `operations` are the operations on the instance, updated from the API.
    `adoption_granted`: whoever installed kvtier lets the pool adopt the instance from another cluster.
    """

    spec: LustreTier | None
    claim_name: str
    volume_name: str
    class_name: str = ""
    claim: Claim | None = None
    volume: PersistentVolume | None = None
    claim_owned: bool = False
    volumes: tuple[Volume, ...] = ()
    provisioned: tuple[Volume, ...] = ()
    instance_name: str | None = None
    api: LustreFacts | None = None
    claim_events: tuple[Event, ...] = ()
    holders: tuple[str, ...] = ()
    status: TierStatus | None = None
    reported: Condition | None = None
    operations: Operations = field(default_factory=Operations)
    adoption_granted: bool = False

    @property
    def own_claim(self) -> Claim | None:
        """The PVC if kvtier created it, else None. Only this PVC is deleted."""
        return self.claim if self.claim_owned else None

    @property
    def described(self) -> bool:
        """Whether the PVC exists and matches the spec."""
        if self.spec is None or self.claim is None:
            return False
        if self.class_name:
            return self.claim.storage_class == self.class_name
        return self.claim.volume == self.volume_name

    @property
    def bound_claim(self) -> Claim | None:
        """The PVC if it is bound and matches the spec, else None."""
        return self.claim if self.claim and self.claim.bound and self.described else None

    @property
    def instance(self) -> Instance | None:
        """The instance as the Lustre API returned it, None if it does not exist or could not be read."""
        return self.api.instance if self.api else None

    @property
    def error(self) -> str | None:
        """Why the instance could not be read from the Lustre API; None if it was read, or was not requested."""
        return self.api.error if self.api else None

    @property
    def pending(self) -> bool:
        """Whether the Lustre API has returned nothing yet since the operator started."""
        return self.api is not None and self.api.pending

    @property
    def unseen(self) -> str | None:
        """Why it is unknown whether the instance exists; None if the Lustre API reported it."""
        return (
            self.api.error if self.api else f"kvtier did not read {self.instance_name} from the Lustre API."
        )


@dataclass(frozen=True)
class Context:
    """A pool, the observed state of cluster and APIs at the time `now` (RFC 3339), and the pace of the operator."""

    pool: KVCachePool
    facts: Facts
    children: Children
    pod_events: tuple[Event, ...]
    lustre: LustreView
    now: str
    pace: Pace = DEFAULT

    @cached_property
    def models(self) -> tuple[ModelView, ...]:
        """The models in the order of the spec."""
        return tuple(
            _model(self.pool, model, self.facts.config_maps, self.children) for model in self.pool.spec.models
        )

    @cached_property
    def nodes(self) -> tuple[Node, ...]:
        """The nodes on which engines of the pool may run: with the labels and the zone of the spec."""
        fits = fitting(self.pool)
        return tuple(node for node in self.facts.cluster.nodes if fits(node.labels))

    @cached_property
    def control_plane(self) -> GKEVersion | None:
        """The version of the control plane; from the GKE API if the API server does not report it in GKE's form."""
        reported = self.facts.gke.version if self.facts.gke else None
        return gke_versions.parse(self.facts.cluster.version) or (
            gke_versions.parse(reported) if reported else None
        )


def build(pool: KVCachePool, observed: Observed, now: str, pace: Pace = DEFAULT) -> Context:
    """Build the context of a reconciliation. This is the only place that does."""
    return Context(
        pool=pool,
        facts=observed.facts,
        children=observed.children,
        pod_events=observed.pod_events,
        lustre=_lustre(pool, observed, now, pace),
        now=now,
        pace=pace,
    )


def _lustre(pool: KVCachePool, observed: Observed, now: str, pace: Pace) -> LustreView:
    claim_name, volume = names.claim(pool.name), identity.volume_name(pool)
    spec, claim = pool.spec.tiers.lustre, observed.children.claim(claim_name)
    volumes = observed.facts.volumes.by_claim.get((pool.namespace, claim_name), ())
    name = instance_name(pool, observed.children, observed.facts.volumes)
    return LustreView(
        spec=spec,
        claim_name=claim_name,
        volume_name=volume,
        class_name=identity.storage_class_name(pool, spec) if spec and spec.provisioner == "CSI" else "",
        claim=claim,
        claim_owned=claim is not None and is_own_claim(pool, claim),
        volume=observed.children.volume(volume),
        volumes=volumes,
        provisioned=tuple(one for one in volumes if provisioned_for(pool, one)),
        instance_name=name,
        api=observed.facts.lustre,
        claim_events=observed.claim_events,
        holders=observed.holders,
        status=next((tier for tier in pool.status.tiers if tier.name == "lustre"), None),
        reported=find(pool.status.conditions, STORAGE_READY),
        operations=operations_of(pool, observed.facts.lustre, now, pace),
        adoption_granted=name is not None and observed.facts.grants.allows("instances", name),
    )


def _model(pool: KVCachePool, model: ServedModel, config_maps: ConfigMaps, children: Children) -> ModelView:
    engine, document = versions.facts(model), model_document(model, config_maps, pool.namespace)
    config = known_config(model, document)
    known = served_geometry(model, engine.geometry_flags, config)
    filed = _filed(model, known)
    stated = None if given(model.extra_args, engine.geometry_flags) else config
    cached, suited_now = _cache(pool, model, engine, stated, filed)
    name = names.derive(pool.name, model.name)
    return ModelView(
        spec=model,
        name=name,
        engine=engine,
        document=document,
        config=config,
        geometry=known,
        cache=cached,
        provisional=suited_now and (document.unread or document.fault is not None),
        chunk=cut(filed, cached.blocks_per_chunk),
        deployment=children.deployment(name),
    )


def shared_in_spec(pool: KVCachePool) -> bool:
    """Whether the spec has a tier that all Pods share."""
    return pool.spec.tiers.lustre is not None or pool.spec.tiers.object_storage is not None


def _shared_in_status(pool: KVCachePool) -> bool:
    return any(
        tier.name in ("lustre", "objectStorage") and tier.phase not in _GONE for tier in pool.status.tiers
    )


def _cache(
    pool: KVCachePool, model: ServedModel, engine: EngineFacts, config: Config | None, filed: Geometry | None
) -> tuple[ModelCache, bool]:
    """The cache of a model, and whether its number of blocks per file was chosen now.

    A new number means a cold cache, so the recorded number stays even if newer tables of kvtier suggest another one. A
    new number is chosen only if the cache changes anyway, or if a shared tier is added or removed. A status without a
    number is from a version of kvtier that used the usual number for all models.
    """
    recorded = _status(pool, model)
    before = model.blocks_per_chunk or recorded.blocks_per_chunk or engine.blocks_per_chunk
    kept = kept_cache(model, before, config, recorded)
    if kept and _is_disputed(pool, model, kept):
        kept = None
    if kept and (model.blocks_per_chunk or _shared_in_status(pool) == shared_in_spec(pool)):
        return kept, False
    blocks = model.blocks_per_chunk or suited(filed, _usual(model, engine), shared_in_spec(pool))
    if kept and kept.blocks_per_chunk == blocks:
        return kept, True
    return new_cache(model, blocks, config), model.blocks_per_chunk is None


def _is_disputed(pool: KVCachePool, model: ServedModel, cached: ModelCache) -> bool:
    """Whether another model has the same directory, although its blocks differ: rules 1 did not notice that."""
    others = [
        one
        for one in pool.spec.models
        if one.name != model.name and _status(pool, one).fingerprint == cached.fingerprint
    ]
    if not others:
        return False
    identities = [new_cache(one, cached.blocks_per_chunk, None).identity for one in (model, *others)]
    return any(one != identities[0] for one in identities)


def _status(pool: KVCachePool, model: ServedModel) -> ModelStatus:
    return next((one for one in pool.status.models if one.name == model.name), ModelStatus(name=model.name))


def _usual(model: ServedModel, engine: EngineFacts) -> int:
    """The number of blocks of the user's size that hold the usual number of tokens per chunk of this version."""
    return max(engine.blocks_per_chunk * engine.block_size // (model.block_size or engine.block_size), 1)


def _filed(model: ServedModel, known: Geometry | None) -> Geometry | None:
    """The geometry of one file. LMCache writes one file per GPU, vLLM one for all GPUs."""
    return known.of_one_gpu() if known and model.engine.backend == "LMCache" else known
