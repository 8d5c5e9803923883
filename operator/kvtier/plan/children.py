"""What all children share: names, labels that lead back to the pool, and the digest of what was applied."""

import json
from collections.abc import Mapping
from typing import Any

from kvtier.api import names
from kvtier.api.v1alpha1 import GROUP, KIND, VERSION, KVCachePool, ServedModel
from kvtier.plan.model import Manifest
from kvtier.plan.render import render


def claim_name(pool: KVCachePool) -> str:
    return names.claim(pool.name)


def model_name(pool: KVCachePool, model: ServedModel) -> str:
    """Name of the model's Deployment and Service."""
    return names.derive(pool.name, model.name)


def labels(namespace: str, pool: str) -> dict[str, str]:
    """Labels by which the children of a pool are found again."""
    return {
        names.LABEL_MANAGED_BY: "kvtier",
        names.LABEL_POOL: names.label_value(pool),
        names.LABEL_POOL_NAMESPACE: namespace,
    }


def selector(pool: KVCachePool, model: ServedModel) -> dict[str, str]:
    """Labels of a model's Pods: fixed for ever, because a Deployment's selector cannot change."""
    return {names.LABEL_POOL: names.label_value(pool.name), names.LABEL_MODEL: model.name}


def owner(pool: KVCachePool) -> dict[str, Any]:
    """The reference by which the garbage collector removes children with their pool."""
    return {
        "apiVersion": f"{GROUP}/{VERSION}",
        "kind": KIND,
        "name": pool.name,
        "uid": pool.uid,
        "controller": True,
        "blockOwnerDeletion": False,
    }


def mounts_lustre(deployment: Mapping[str, Any]) -> bool:
    """Whether a live Deployment mounts the shared tier."""
    volumes = deployment.get("spec", {}).get("template", {}).get("spec", {}).get("volumes", [])
    return any(volume.get("name") == "lustre" for volume in volumes)


def child(
    template: str, pool: KVCachePool, name: str, marks: Mapping[str, str] | None = None, **values: Any
) -> Manifest:
    """A rendered child with the labels and annotations that every child has, and `marks`, more annotations."""
    common = {
        "name": name,
        "namespace": pool.namespace,
        "labels": labels(pool.namespace, pool.name),
        "annotations": {names.ANNOTATION_POOL: f"{pool.namespace}/{pool.name}", **(marks or {})},
    }
    return signed(render(template, **common, **values))


def signed(manifest: Manifest) -> Manifest:
    """A wanted object with its own digest, by which a field that is no longer wanted differs from one of others."""
    annotations = {
        k: v for k, v in manifest["metadata"]["annotations"].items() if k != names.ANNOTATION_APPLIED
    }
    bare = _annotated(manifest, annotations)
    digest = names.digest(json.dumps(bare, sort_keys=True), length=16)
    return _annotated(bare, {**annotations, names.ANNOTATION_APPLIED: digest})


def _annotated(manifest: Manifest, annotations: Mapping[str, str]) -> Manifest:
    return {**manifest, "metadata": {**manifest["metadata"], "annotations": annotations}}
