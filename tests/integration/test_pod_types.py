"""The types of Pods in the CRD, against those of the API server."""

import pytest
import yaml

from kvtier.api.v1alpha1 import KVCachePool
from kvtier.plan.offline import manifests
from testbed.kube import Kube, Object
from testbed.operator_process import ROOT
from testbed.pod_types import published
from testbed.pools import API
from unit.api.examples import written
from unit.api.pod_fields import ADDITIONS
from unit.builders import model

STRICT = {"fieldValidation": "Strict", "dryRun": "All"}


def test_the_table_has_the_types_of_the_api_server(kube: Kube) -> None:
    table = yaml.safe_load((ROOT / "operator" / "kvtier" / "data" / "pod_types.yaml").read_text())
    assert table["types"] == published(kube), "make pod-types, then make generate"


@pytest.fixture
def stored(kube: Kube, namespace: str) -> Object:
    """A pool with every addition, as the API server stores it."""
    pool = written({"models": [model(podTemplate=ADDITIONS)]}, namespace)
    made: Object = kube.request("POST", kube.path(*API, namespace), json=pool, params=STRICT)
    return made


def test_every_addition_is_stored_as_written(stored: Object) -> None:
    assert _lacking(stored["spec"]["models"][0]["podTemplate"], ADDITIONS) == []


def test_the_api_server_accepts_every_addition_in_a_deployment(kube: Kube, stored: Object) -> None:
    (deployment,) = (
        one for one in manifests(KVCachePool.model_validate(stored)) if one["kind"] == "Deployment"
    )
    made = kube.request(
        "POST",
        kube.path("apps/v1", "Deployment", stored["metadata"]["namespace"]),
        json=deployment,
        params=STRICT,
    )
    pod = {**made["spec"]["template"]["spec"], **made["spec"]["template"]["metadata"]}
    engine = pod["containers"][0]
    assert [name for name in ADDITIONS if name not in pod and name not in engine] == []


def _lacking(live: object, written: object, path: str = "") -> list[str]:
    """Paths of what was written and is not stored. A map may have more, because defaults were added."""
    if isinstance(written, dict) and isinstance(live, dict):
        return [
            found
            for key, value in written.items()
            for found in _lacking(live.get(key), value, f"{path}.{key}")
        ]
    if isinstance(written, list) and isinstance(live, list) and len(live) == len(written):
        return [found for pair in zip(live, written, strict=True) for found in _lacking(*pair, f"{path}[]")]
    return [] if live == written else [path]
