"""Generated pools: what the API server accepts, kvtier reads, plans and renders; what it refuses, kvtier refuses too.

A longer run, or one pool again: `KVTIER_POOLS=1000-20000 make test ARGS=tests/integration/test_differential.py`.
"""

import json
import os
from typing import Any

import pytest

from kvtier.api.v1alpha1 import KVCachePool
from kvtier.cli.common import LoadError, pool_of
from kvtier.facts.model import Observed
from kvtier.kube.aio import as_yaml
from kvtier.plan.offline import manifests, rendered
from kvtier.plan.plan import plan
from testbed.kube import APPLY_PATCH, ApiError, Kube, Object
from testbed.pools import API
from unit.api import generated
from unit.builders import NOW

_FIRST, _, _LAST = os.environ.get("KVTIER_POOLS", "0-200").partition("-")
_BATCHES = 4
_STRICT = {"fieldValidation": "Strict", "dryRun": "All"}


def _numbers() -> list[range]:
    numbers = range(int(_FIRST), int(_LAST or int(_FIRST) + 1))
    size = -(-len(numbers) // _BATCHES)
    return [numbers[start : start + size] for start in range(0, len(numbers), size)]


@pytest.mark.timeout(0)
@pytest.mark.parametrize("numbers", _numbers(), ids=lambda numbers: f"{numbers[0]}-{numbers[-1] + 1}")
def test_the_api_server_and_kvtier_agree(kube: Kube, numbers: range) -> None:
    differences = [
        f"pool {number}: {difference}" for number in numbers if (difference := _difference(kube, number))
    ]
    assert not differences, "\n".join(differences)


def _difference(kube: Kube, number: int) -> str:
    """What the API server and kvtier do not agree about, empty if nothing."""
    written = generated.pool(number, "default")
    stored = _stored(kube, written)
    problems = _offline(written)
    if isinstance(stored, str):
        return "" if problems else f"only the API server refuses it: {stored}"
    if problems:
        return f"only kvtier refuses it: {problems}"
    try:
        return _unusable(kube, stored)
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def _stored(kube: Kube, written: Object) -> Object | str:
    """The pool as the API server stores it, or why it refuses it."""
    try:
        made: Object = kube.request("POST", kube.path(*API, "default"), json=written, params=_STRICT)
    except ApiError as error:
        return str(error)
    return made


def _offline(written: Object) -> str:
    """Why `kvtier check` refuses the pool, empty if it does not."""
    try:
        pool_of(written, "default")
    except LoadError as error:
        return str(error)
    return ""


def _unusable(kube: Kube, stored: Object) -> str:
    """What is wrong with the stored pool or with what is rendered from it."""
    pool = KVCachePool.model_validate(stored)
    again = KVCachePool.model_validate(
        json.loads(pool.model_dump_json(by_alias=True)) | {"metadata": pool.metadata}
    )
    if again != pool:
        return "it changes when it is written and read"
    if pool_of(stored, "default") != pool:
        return "it is read in another way from a file"
    json.dumps(plan(pool, Observed(), NOW).status, default=str)
    manifests(pool)
    refused = [error for manifest in rendered(pool).manifests if (error := _refused(kube, manifest))]
    if refused and all(error.startswith("422") for error in refused):
        # Values of additions that are not valid in a Pod. Their types are valid, and without them all is well.
        refused = [_refused(kube, manifest) for manifest in rendered(_without_additions(pool)).manifests]
    return "; ".join(filter(None, refused))


def _without_additions(pool: KVCachePool) -> KVCachePool:
    models = [model.model_copy(update={"pod_template": None}) for model in pool.spec.models]
    return pool.model_copy(update={"spec": pool.spec.model_copy(update={"models": models})})


def _refused(kube: Kube, manifest: Any) -> str:
    """Why the API server refuses a manifest, empty if it does not."""
    headers = {"Content-Type": APPLY_PATCH}
    query = {**_STRICT, "fieldManager": "kvtier", "force": "true"}
    name, namespace = manifest["metadata"]["name"], manifest["metadata"].get("namespace")
    path = kube.path(manifest["apiVersion"], manifest["kind"], namespace, name)
    try:
        kube.request("PATCH", path, data=as_yaml(manifest), params=query, headers=headers)
    except ApiError as error:
        return f"{error.code} {manifest['kind']}: {error}"
    return ""
