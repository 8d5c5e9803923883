"""Pools, facts and live objects for tests. Changes to a base are merged as JSON merge patches (RFC 7386)."""

from dataclasses import replace
from typing import Any

from kvtier.api import placement
from kvtier.api.conditions import Condition
from kvtier.api.kinds import Object
from kvtier.api.names import LUSTRE_DRIVER
from kvtier.api.policy import Grant, Policy
from kvtier.api.v1alpha1 import GROUP, KIND, VERSION, KVCachePool, PoolStatus, ServedModel
from kvtier.checks import run
from kvtier.context import Context, build
from kvtier.data.vllm_flags import given
from kvtier.engines import versions
from kvtier.engines.fingerprint import ModelCache, new_cache
from kvtier.facts.children import Deployment, children, view
from kvtier.facts.model import Cluster, ConfigMaps, Facts, GKECluster, Node, Observed, OwnCluster, Secrets
from kvtier.facts.policy import KINDS, PolicyFacts
from kvtier.facts.volumes import PROVISIONED_BY, Volumes, volume
from kvtier.plan.lustre.write_probe import ProbeJob, caches, probe_job
from kvtier.plan.offline import manifests
from kvtier.sizing.models import known_config, model_document

NOW = "2026-11-29T12:00:00Z"
GKE_VERSION = "v1.35.6-gke.1049000"
NETWORK = "projects/my-project/global/networks/default"
OWN_CLUSTER = OwnCluster("cluster-uid")
COS = "Container-Optimized OS from Google"
EVERYTHING = Grant.model_validate({"namespaces": ["*"], **{kind: ["*"] for kind in KINDS}})
"""The item of a policy that grants everything."""
GRANTED = PolicyFacts(Policy(grants=[EVERYTHING])).grants("team-a", frozenset({"my-project"}))

_MODEL = {"name": "llama", "model": "meta-llama/Llama-3.1-8B-Instruct", "tensorParallelSize": 8}
_LUSTRE = {"capacity": "18000Gi", "throughputPerTiB": 1000, "zone": "us-central1-a", "network": NETWORK}
_SPEC = {
    "tiers": {"cpu": {"capacity": "100Gi"}, "lustre": _LUSTRE},
    "nodePool": {
        "machineType": "a3-highgpu-8g",
        "accelerator": {"type": "nvidia-h100-80gb", "count": 8},
    },
    "models": [_MODEL],
}
_METADATA = {"name": "chat", "namespace": "team-a", "uid": "pool-uid", "generation": 3}


def merged(base: Any, change: Any) -> Any:
    """`base` with `change`: objects are merged, None removes a field, any other value replaces it."""
    if not isinstance(change, dict):
        return change
    known = base if isinstance(base, dict) else {}
    both = {**known, **{key: merged(known.get(key), value) for key, value in change.items()}}
    return {key: value for key, value in both.items() if value is not None}


def joined(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    """Two changes as one. A field that either of them removes stays removed."""
    nested = {
        key: joined(first[key], value)
        for key, value in second.items()
        if isinstance(value, dict) and isinstance(first.get(key), dict)
    }
    return {**first, **second, **nested}


def document(**changes: Any) -> dict[str, Any]:
    """A pool as a user writes it. `metadata` and `status` are passed as such, every other change is in the spec."""
    body = {name: changes.pop(name) for name in ("metadata", "status") if name in changes}
    base = {"apiVersion": f"{GROUP}/{VERSION}", "kind": KIND, "metadata": _METADATA, "spec": _SPEC}
    built: dict[str, Any] = merged(base, {**body, "spec": changes})
    return built


def pool(**changes: Any) -> KVCachePool:
    """A pool with a CPU tier, 18000Gi of Lustre and one model, with `changes`."""
    return KVCachePool.model_validate(document(**changes))


def model(**changes: Any) -> dict[str, Any]:
    """One item of `models`."""
    item: dict[str, Any] = merged(_MODEL, changes)
    return item


def model_cache(served: ServedModel, blocks: int = 16) -> ModelCache:
    """The cache of a model that has no status yet, and no ConfigMap."""
    config = known_config(served, model_document(served, ConfigMaps(), ""))
    changed = given(served.extra_args, versions.facts(served).geometry_flags)
    return new_cache(served, blocks, None if changed else config)


def with_status(of: KVCachePool, status: PoolStatus | None) -> KVCachePool:
    """The same pool with this status."""
    return of.model_copy(update={"status": status})


def deleted(asked: str = NOW, **changes: Any) -> KVCachePool:
    """A pool that is being deleted."""
    return pool(**joined(changes, {"metadata": {"deletionTimestamp": asked}}))


def node(of: KVCachePool, name: str = "gpu-1", labels: dict[str, Any] | None = None, **changes: Any) -> Node:
    """A node on which the engines of a pool may run, with `changes`."""
    fitting = {**placement.node_selector(of), placement.ZONE: (placement.zones(of) or ["us-central1-a"])[0]}
    fields = {"kubelet_version": GKE_VERSION, "os_image": COS, "architecture": "amd64", "ready": True}
    return Node(**{"name": name, "labels": merged(fitting, labels or {}), **fields, **changes})


def facts(
    *nodes: Node, gke: GKECluster | None = None, secrets: dict[str, Any] | None = None, **changes: Any
) -> Facts:
    """A cluster that meets all prerequisites and grants everything, with these nodes and `changes`."""
    cluster = {
        "version": GKE_VERSION,
        "nodes": nodes,
        "lustre_driver": True,
        "lustre_nodes": frozenset(one.name for one in nodes),
    }
    return Facts(Cluster(**{**cluster, **changes}), OWN_CLUSTER, gke, Secrets(secrets or {}), grants=GRANTED)


def checks(**statuses: Any) -> dict[str, Condition]:
    """Every prerequisite, with status True unless another one is given: `checks(CapacityValid="False")`."""
    types = run(context(pool()))
    assert set(statuses) <= set(types), "no such prerequisite"
    return {
        type_: Condition(
            type=type_, status=statuses.get(type_, "True"), reason=f"{type_}Reason", message="why"
        )
        for type_ in types
    }


def manifest(of: KVCachePool, kind: str) -> dict[str, Any]:
    """The first object of a kind that kvtier creates for a pool when all tiers are ready."""
    return next(one for one in manifests(of) if one["kind"] == kind)


def live(wanted: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """An object as the API server returns it after kvtier applied it, with `changes`."""
    identity = {"uid": f"{wanted['kind']}-uid", "resourceVersion": "10", "generation": 1}
    made: dict[str, Any] = merged(merged(wanted, {"metadata": identity}), changes)
    return made


def claim(of: KVCachePool, phase: str = "Bound", capacity: str | None = "18000Gi", **changes: Any) -> Any:
    """The PVC of the pool. A bound one has a PersistentVolume with `capacity`."""
    state: dict[str, Any] = {"status": {"phase": phase}}
    if phase == "Bound":
        state = {
            "status": {"phase": phase, "capacity": {"storage": capacity}},
            "spec": {"volumeName": "pv-1"},
            "metadata": {"annotations": {"pv.kubernetes.io/bound-by-controller": "yes"}},
        }
    return live(manifest(of, "PersistentVolumeClaim"), **joined(state, changes))


def driver_volume(bound: Any, **changes: Any) -> Any:
    """The PersistentVolume that the driver created for a PVC, as the API server returns it, with `changes`."""
    metadata, name = bound["metadata"], bound["spec"].get("volumeName") or f"pvc-{bound['metadata']['uid']}"
    document = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name, "annotations": {PROVISIONED_BY: LUSTRE_DRIVER}},
        "spec": {
            "storageClassName": bound["spec"]["storageClassName"],
            "persistentVolumeReclaimPolicy": "Retain",
            "claimRef": {one: metadata[one] for one in ("namespace", "name", "uid")},
            "csi": {"driver": LUSTRE_DRIVER, "volumeHandle": f"p/z/{name}"},
        },
        "status": {"phase": "Bound"},
    }
    return live(document, **changes)


def job(of: KVCachePool, *ended: str, after: str = "", **changes: Any) -> Any:
    """The write probe Job for the PVC of the pool, with these conditions (Complete if none is given)."""
    at = changes.get("metadata", {}).get("creationTimestamp", NOW)
    conditions = [
        {"type": type_, "status": "True", "lastTransitionTime": at} for type_ in ended or ("Complete",)
    ]
    created = {"metadata": {"uid": f"job-uid-{after}", "creationTimestamp": at}}
    state = joined(created, {"status": {"conditions": conditions}})
    return live(write_probe(of, after=after).manifest, **joined(state, changes))


def write_probe(of: KVCachePool, bound: Any = None, after: str = "") -> ProbeJob:
    """The write probe that kvtier creates for the PVC of the pool, after the Job with the uid `after` failed."""
    look = context(of, bound or claim(of))
    assert look.lustre.claim
    return probe_job(of, look.lustre.claim, caches(of, look.models), after)


def deployment(of: KVCachePool, ready: int = 1, **changes: Any) -> Any:
    """The Deployment of the pool's first model, with `ready` Pods."""
    status = {"observedGeneration": 1, "readyReplicas": ready}
    return live(manifest(of, "Deployment"), **joined({"status": status}, changes))


def mounts_lustre(deployment: Object) -> bool:
    """Whether a Deployment, rendered or live, mounts the shared tier."""
    seen = view("Deployment", deployment)
    return isinstance(seen, Deployment) and seen.mounts_lustre


def requesting(size: str) -> dict[str, Any]:
    """The spec of a PVC that requests `size`."""
    return {"resources": {"requests": {"storage": size}}}


def observed(*live_objects: Object, **of: Any) -> Observed:
    """These children, and `facts`.

    By default, the cluster meets all prerequisites, and the driver created the PersistentVolume of a bound PVC.
    """
    driven = [driver_volume(one) for one in live_objects if _is_driven(one)]
    volumes = {one.name: one for one in map(volume, driven) if one}
    default = replace(facts(), volumes=Volumes(volumes))
    known = {(obj["kind"], obj["metadata"]["name"]): obj for obj in live_objects}
    return Observed(of.get("facts", default), children(known))


def _is_driven(obj: Object) -> bool:
    """Whether the driver created a PersistentVolume for an object."""
    bound = obj["kind"] == "PersistentVolumeClaim" and obj.get("status", {}).get("phase") == "Bound"
    return bound and bool(obj["spec"]["storageClassName"])


def context(of: KVCachePool, *live_objects: Object, now: str = NOW, **seen: Any) -> Context:
    """The context of a pool with these children, and `facts` (by default, a cluster that meets all prerequisites).

    `claim_events`, `pod_events` and `holders` are those of Observed.
    """
    known = {name: seen[name] for name in ("claim_events", "pod_events", "holders") if name in seen}
    world = observed(*live_objects, **{name: value for name, value in seen.items() if name == "facts"})
    return build(of, replace(world, **known), now)
