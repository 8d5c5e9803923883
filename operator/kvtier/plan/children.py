"""What all children share: labels that lead back to the pool, its ownerReference, and the digest of what is applied."""

import json
from collections.abc import Mapping
from typing import Any

from kvtier.api import names
from kvtier.api.v1alpha1 import GROUP, KIND, VERSION, KVCachePool
from kvtier.plan.model import Manifest
from kvtier.plan.render import render


def claim_name(pool: KVCachePool) -> str:
    return names.claim(pool.name)


def labels(namespace: str, pool: str) -> dict[str, str]:
    """Labels by which the children of a pool are found again."""
    return {
        names.LABEL_MANAGED_BY: "kvtier",
        names.LABEL_POOL: names.label_value(pool),
        names.LABEL_POOL_NAMESPACE: namespace,
    }


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
    """The manifest with its own digest, by which a field that it no longer has differs from one that others added."""
    metadata = manifest["metadata"]
    digest = names.digest(json.dumps(manifest, sort_keys=True), length=16)
    annotations = {**metadata["annotations"], names.ANNOTATION_APPLIED: digest}
    return {**manifest, "metadata": {**metadata, "annotations": annotations}}


def signature(manifest: Manifest) -> str:
    """The digest of a signed manifest."""
    return str(manifest["metadata"]["annotations"][names.ANNOTATION_APPLIED])
