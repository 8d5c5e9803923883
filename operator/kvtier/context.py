"""One look at a pool: all that checks and planner know, derived once and handed down.

Only the entry function of a check or of a concern takes a Context. What it calls takes the value that it decides on.
"""

from dataclasses import dataclass, field
from functools import cached_property

from kvtier.api import identity, names
from kvtier.api.conditions import STORAGE_READY, Condition, find
from kvtier.api.placement import fitting
from kvtier.api.v1alpha1 import KVCachePool, LustreTier, ModelStatus, ServedModel, TierStatus
from kvtier.data.engines import EngineFacts
from kvtier.engines import versions
from kvtier.engines.fingerprint import fingerprint
from kvtier.facts import versions as gke_versions
from kvtier.facts.children import Children, Claim, Deployment, PersistentVolume
from kvtier.facts.identity import instance_name
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
"""Phases of a shared tier that has left the spec."""


@dataclass(frozen=True)
class ModelView:
    """A model as the pool serves it.

    `document` is its config.json as the pool gives it, `config` the one that counts (None where kvtier knows none), and
    `geometry` how its cache is cut (None where kvtier cannot tell).
    `blocks_per_chunk` GPU blocks make one file, `chunk` is what that file holds; `provisional` says that the number is
    a stopgap, because the document cannot be read yet. `deployment` is live, `name` that of Deployment and Service.
    """

    spec: ServedModel
    name: str
    engine: EngineFacts
    document: Document
    config: Config | None
    geometry: Geometry | None
    blocks_per_chunk: int
    provisional: bool
    fingerprint: str
    chunk: Chunk
    deployment: Deployment | None = None


@dataclass(frozen=True)
class LustreView:
    """The shared tier: what the spec asks for, what there is of it, and what the Lustre API says.

    `class_name` names its StorageClass, empty unless the CSI driver makes the instance. `claim` and `volume` are the
    pool's own, live; `volumes` are those of the cluster that are reserved for the claim.
    `instance_name` is projects/P/locations/ZONE/instances/ID, None where it cannot be known. `status` is the tier and
    `reported` StorageReady as they were reported last, `operations` are those on the instance, up to date.
    """

    spec: LustreTier | None
    claim_name: str
    volume_name: str
    class_name: str = ""
    claim: Claim | None = None
    volume: PersistentVolume | None = None
    volumes: tuple[Volume, ...] = ()
    instance_name: str | None = None
    api: LustreFacts | None = None
    claim_events: tuple[Event, ...] = ()
    holders: tuple[str, ...] = ()
    status: TierStatus | None = None
    reported: Condition | None = None
    operations: Operations = field(default_factory=Operations)

    @property
    def described(self) -> bool:
        """Whether the claim is there, and is the one that the spec describes."""
        if self.spec is None or self.claim is None:
            return False
        if self.class_name:
            return self.claim.storage_class == self.class_name
        return self.claim.volume == self.volume_name

    @property
    def bound_claim(self) -> Claim | None:
        """The claim once it is bound, and is the one that the spec describes."""
        return self.claim if self.claim and self.claim.bound and self.described else None

    @property
    def instance(self) -> Instance | None:
        """The instance as the Lustre API describes it, None where there is none or it cannot be asked."""
        return self.api.instance if self.api else None

    @property
    def error(self) -> str | None:
        """Why the Lustre API says nothing of the instance; None where it does, and where it was not asked."""
        return self.api.error if self.api else None

    @property
    def pending(self) -> bool:
        """Whether the Lustre API has not answered yet since this process began."""
        return self.api is not None and self.api.pending

    @property
    def unseen(self) -> str | None:
        """Why it is not known whether there is an instance; None where the Lustre API says so."""
        return self.api.error if self.api else f"the Lustre API was not asked about {self.instance_name}"


@dataclass(frozen=True)
class Context:
    """A pool, its surroundings at one moment (`now`, RFC 3339), and the pace at which the operator looks."""

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
        """The nodes on which the pool's engines may run: with the labels and in a zone that the spec asks for."""
        fits = fitting(self.pool)
        return tuple(node for node in self.facts.cluster.nodes if fits(node.labels))

    @cached_property
    def control_plane(self) -> GKEVersion | None:
        """The control plane's version; from the GKE API, where the API server does not name it as GKE does."""
        reported = self.facts.gke.version if self.facts.gke else None
        return gke_versions.parse(self.facts.cluster.version) or (
            gke_versions.parse(reported) if reported else None
        )


def build(pool: KVCachePool, observed: Observed, now: str, pace: Pace = DEFAULT) -> Context:
    """The one place in which a look is put together."""
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
    claim, volume = names.claim(pool.name), identity.volume_name(pool)
    spec = pool.spec.tiers.lustre
    return LustreView(
        spec=spec,
        claim_name=claim,
        volume_name=volume,
        class_name=identity.storage_class_name(pool, spec) if spec and spec.provisioner == "CSI" else "",
        claim=observed.children.claim(claim),
        volume=observed.children.volume(volume),
        volumes=observed.facts.volumes.by_claim.get((pool.namespace, claim), ()),
        instance_name=instance_name(pool, observed.children, observed.facts.volumes),
        api=observed.facts.lustre,
        claim_events=observed.claim_events,
        holders=observed.holders,
        status=next((tier for tier in pool.status.tiers if tier.name == "lustre"), None),
        reported=find(pool.status.conditions, STORAGE_READY),
        operations=operations_of(pool, observed.facts.lustre, now, pace),
    )


def _model(pool: KVCachePool, model: ServedModel, config_maps: ConfigMaps, children: Children) -> ModelView:
    engine, document = versions.facts(model), model_document(model, config_maps, pool.namespace)
    config = known_config(model, document)
    known = served_geometry(model, engine.geometry_flags, config)
    recorded = model.blocks_per_chunk or _recorded(pool, model, engine)
    filed = _filed(model, known)
    blocks = recorded or suited(filed, _usual(model, engine), shared_in_spec(pool))
    name = names.derive(pool.name, model.name)
    return ModelView(
        spec=model,
        name=name,
        engine=engine,
        document=document,
        config=config,
        geometry=known,
        blocks_per_chunk=blocks,
        provisional=not recorded and (document.unread or document.fault is not None),
        fingerprint=fingerprint(model, blocks),
        chunk=cut(filed, blocks),
        deployment=children.deployment(name),
    )


def shared_in_spec(pool: KVCachePool) -> bool:
    """Whether the spec has a tier that all Pods share."""
    return pool.spec.tiers.lustre is not None or pool.spec.tiers.object_storage is not None


def _shared_in_status(pool: KVCachePool) -> bool:
    return any(
        tier.name in ("lustre", "objectStorage") and tier.phase not in _GONE for tier in pool.status.tiers
    )


def _recorded(pool: KVCachePool, model: ServedModel, engine: EngineFacts) -> int | None:
    """Blocks per chunk in the status, if that is about the cache that the spec still asks for.

    Another number means a cold cache. What suits may change with kvtier's tables, so what was recorded outlives them: a
    new one is chosen only when the cache is another one anyway, or a shared tier comes or goes. A status without a
    number was written when all models had the usual one.
    """
    known = next((one for one in pool.status.models if one.name == model.name), ModelStatus(name=model.name))
    blocks = known.blocks_per_chunk or engine.blocks_per_chunk
    same = known.fingerprint == fingerprint(model, blocks) and _shared_in_status(pool) == shared_in_spec(pool)
    return blocks if same else None


def _usual(model: ServedModel, engine: EngineFacts) -> int:
    """As many tokens as the version's usual chunk has, in the user's blocks."""
    return max(engine.blocks_per_chunk * engine.block_size // (model.block_size or engine.block_size), 1)


def _filed(model: ServedModel, known: Geometry | None) -> Geometry | None:
    """LMCache writes a file for each GPU, vLLM one for all."""
    return known.of_one_gpu() if known and model.engine.backend == "LMCache" else known
