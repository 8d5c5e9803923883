"""Collects everything that kvtier observes about a pool, for the operator and for commands."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from pydantic import ValidationError

from kvtier.api import identity
from kvtier.api.access import project_of
from kvtier.api.kinds import CONFIG_MAP, POOL, VOLUME, Object
from kvtier.api.names import OPERATOR_NAMESPACE, POLICY, PoolKey
from kvtier.api.policy import InvalidPolicyError
from kvtier.api.v1alpha1 import KVCachePool, PoolStatus
from kvtier.facts import events, references
from kvtier.facts.children import Children
from kvtier.facts.cluster import ClusterParts
from kvtier.facts.gke import GKEReader
from kvtier.facts.identity import instance_name
from kvtier.facts.lustre_api import LustreReader
from kvtier.facts.model import Cluster, Facts, GKECluster, LustreFacts, Observed, OwnCluster
from kvtier.facts.neighbours import Neighbour, Neighbourhood, neighbour, parsed
from kvtier.facts.own_cluster import OwnClusterReader
from kvtier.facts.policy import Grants, PolicyFacts, installed
from kvtier.facts.volumes import Volumes, volume
from kvtier.kube.client import CLUSTER_FACTS, ApiError, KubeClient
from kvtier.pace import DEFAULT, Pace


class Source(Protocol):
    """The cluster from watches or LISTs. `volumes`: all Lustre PersistentVolumes, also those of others.

    `policy`: the policy of the installer.
    """

    def cluster(self) -> Cluster: ...

    def volumes(self) -> Volumes: ...

    def neighbours(self, key: PoolKey, filesystem: str = "") -> tuple[Neighbour, ...]:
        """Other pools that name the same Lustre instance or file system.

        `filesystem`: the pool's own name, if only its existing instance gives it.
        """

    def children(self, key: PoolKey) -> Children: ...

    def policy(self) -> PolicyFacts: ...


class Collector:
    """Collects the input of checks and planner.

    The source is watched. The rest is read each time: the GKE and Lustre APIs (whose readers cache answers), Secrets,
    ConfigMaps and Events. No request to Google's APIs has a value that the pool may not use.
    """

    def __init__(
        self, client: KubeClient, source: Source, gke: GKEReader, lustre: LustreReader, pace: Pace = DEFAULT
    ) -> None:
        self._client = client
        self._source = source
        self._own_cluster = OwnClusterReader(client)
        self._gke = gke
        self._lustre = lustre
        self._pace = pace

    async def collect(self, pool: KVCachePool, now: str) -> Observed:
        """Read everything. Raises ApiError."""
        cluster = self._source.cluster()
        grants = self._source.policy().grants(pool.namespace, cluster.projects)
        gke = await self._read_gke(pool, grants)
        facts = Facts(
            cluster=cluster,
            own_cluster=await self._own_cluster.read() if _has_own_instance(pool) else OwnCluster(),
            gke=gke,
            grants=_with_network(grants, pool, gke),
            secrets=await references.read_secrets(self._client, pool),
            config_maps=await references.read_config_maps(self._client, pool),
        )
        seen = await self.again(pool, Observed(facts))
        found = await events.read(self._client, pool, seen.children, now, self._pace)
        return replace(
            seen, claim_events=found.claim_events, pod_events=found.pod_events, holders=found.holders
        )

    async def again(self, pool: KVCachePool, seen: Observed) -> Observed:
        """`seen`, updated with the results of kvtier's own writes and calls since then."""
        key = PoolKey(pool.namespace, pool.name)
        children = self._source.children(key)
        unfinished = {
            one.request_id: one.name or "" for one in pool.status.operations if one.state == "Running"
        }
        name = instance_name(pool, children, self._source.volumes())
        lustre = withheld(pool, name, children, seen.facts.grants) or await self._lustre.read(
            name, unfinished
        )
        filesystem = lustre.instance.filesystem if lustre and lustre.instance else ""
        facts = replace(
            seen.facts,
            lustre=lustre,
            volumes=self._source.volumes(),
            neighbours=self._neighbours(key, filesystem),
        )
        return replace(seen, facts=facts, children=children)

    def _neighbours(self, key: PoolKey, filesystem: str) -> tuple[Neighbour, ...]:
        """Other pools with the same instance or file system, without those that may not use it and never did."""
        policy, projects = self._source.policy(), self._source.cluster().projects

        def may_exist(one: Neighbour) -> bool:
            grants = policy.grants(one.namespace, projects)
            return one.holds or all(grants.allows(need.kind, need.value) for need in one.demands)

        return tuple(one for one in self._source.neighbours(key, filesystem) if may_exist(one))

    async def _read_gke(self, pool: KVCachePool, grants: Grants) -> GKECluster | None:
        cluster = pool.spec.cluster
        if cluster is None or grants.allows("projects", cluster.project):
            return await self._gke.read(cluster)
        return GKECluster(error=f"kvtier does not read project {cluster.project}: see AccessGranted.")


def _with_network(grants: Grants, pool: KVCachePool, gke: GKECluster | None) -> Grants:
    """The grants, with the network of the cluster, which may be in another project (Shared VPC)."""
    cluster = pool.spec.cluster
    own = cluster is not None and cluster.project in grants.projects
    return replace(grants, learned=gke.network) if own and gke and gke.network else grants


def _is_granted(grants: Grants, instance: str, *, existing: bool) -> bool:
    return (
        grants.allows("instances", instance) if existing else grants.allows("projects", project_of(instance))
    )


def withheld(pool: KVCachePool, name: str | None, children: Children, grants: Grants) -> LustreFacts | None:
    """The facts of an instance that kvtier may not read; None if it may.

    While a pool or its tier is being deleted, kvtier reads what it created itself, although the grant was revoked: else
    the instance would stay. Nothing was created for a pool that never had the grant.
    """
    lustre = pool.spec.tiers.lustre
    if name is None:
        return None
    if (lustre is None or pool.deleting) and _created(pool, name, children):
        return None
    if lustre is not None and _is_granted(grants, name, existing=lustre.provisioner == "Existing"):
        return None
    if pool.deleting and lustre is not None and lustre.provisioner == "API":
        return LustreFacts()
    return LustreFacts(error=f"kvtier does not read {name}: see AccessGranted.")


def _created(pool: KVCachePool, name: str, children: Children) -> bool:
    """Whether kvtier created this instance for the pool, or mounted it: not any other that the spec names by now."""
    own = children.volume(identity.volume_name(pool))
    if own and own.volume and own.volume.instance == name:
        return True
    requested = any(
        one.kind == "Create" and one.name and project_of(one.name) == project_of(name)
        for one in pool.status.operations
    )
    return requested and name.endswith(f"/instances/{identity.instance_id(pool)}")


def _has_own_instance(pool: KVCachePool) -> bool:
    """Whether the pool has, or may have had, an instance that kvtier itself labels."""
    lustre = pool.spec.tiers.lustre
    if lustre is None:
        return bool(pool.status.operations) or any(tier.name == "lustre" for tier in pool.status.tiers)
    return lustre.provisioner == "API" or bool(pool.status.operations)


@dataclass(frozen=True)
class Snapshot:
    """The cluster from one set of LISTs: a Source for commands, without children.

    `pools`: the pools of the command line, each as if it were applied.
    """

    pools: tuple[KVCachePool, ...]
    _cluster: Cluster
    _volumes: Volumes
    _neighbours: Neighbourhood
    _policy: PolicyFacts

    def cluster(self) -> Cluster:
        return self._cluster

    def volumes(self) -> Volumes:
        return self._volumes

    def neighbours(self, key: PoolKey, filesystem: str = "") -> tuple[Neighbour, ...]:
        return self._neighbours.of(key, filesystem)

    def children(self, key: PoolKey) -> Children:
        return Children()

    def policy(self) -> PolicyFacts:
        return self._policy


async def list_all(
    client: KubeClient, pools: Sequence[KVCachePool], namespace: str = OPERATOR_NAMESPACE
) -> Snapshot:
    """The cluster with these pools in it. `namespace`: that of the operator, with the policy. Raises ApiError."""
    parts = ClusterParts()
    parts.set_version(await client.server_version())
    for resource in CLUSTER_FACTS:
        for obj in await client.list(resource) or []:
            parts.put(resource.kind, obj)
    found = [volume(obj) for obj in await client.list(VOLUME) or []]
    volumes = Volumes({one.name: one for one in found if one})
    stored = {_key(obj): obj for obj in await client.list(POOL) or []}
    applied = tuple(_applied(pool, stored.get(PoolKey(pool.namespace, pool.name))) for pool in pools)
    policy = await read_policy(client, namespace)
    return Snapshot(applied, parts.cluster(), volumes, _neighbourhood(stored, applied, volumes), policy)


async def read_policy(client: KubeClient, namespace: str) -> PolicyFacts:
    """The policy of the installer. One that is not valid, or that could not be read, grants nothing."""
    where = f"{namespace}/{POLICY}"
    try:
        return PolicyFacts(installed(await client.get(CONFIG_MAP, namespace, POLICY)), where)
    except ApiError:
        return PolicyFacts(where=where, problem="Unread")
    except InvalidPolicyError:
        return PolicyFacts(where=where, problem="Invalid")


def _neighbourhood(
    stored: Mapping[PoolKey, Object], applied: Sequence[KVCachePool], volumes: Volumes
) -> Neighbourhood:
    """The pools of the cluster, replaced by those of the command where the names match."""
    known = {
        **{name: parsed(obj) for name, obj in stored.items()},
        **{PoolKey(pool.namespace, pool.name): neighbour(pool) for pool in applied},
    }
    around = Neighbourhood()
    for key, one in known.items():
        around.put(key, one)
    for mounted in volumes.by_name.values():
        around.mount(mounted.name, mounted.claim, mounted.filesystem)
    return around


def _applied(pool: KVCachePool, stored: Object | None) -> KVCachePool:
    """The pool with the metadata and status of the pool of the same name in the cluster."""
    if stored is None:
        return pool
    try:
        status = PoolStatus.model_validate(stored.get("status") or {})
    except ValidationError:
        status = PoolStatus()
    return pool.model_copy(update={"metadata": dict(stored["metadata"]), "status": status})


def _key(obj: Object) -> PoolKey:
    return PoolKey(obj["metadata"]["namespace"], obj["metadata"]["name"])
