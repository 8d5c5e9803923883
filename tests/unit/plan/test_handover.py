"""The number of replicas survives when an autoscaler takes it over."""

from typing import Any

from kvtier.plan.serving import replica_handover
from unit.builders import live, manifest, observed, pool

SCALED = pool(models=[{"name": "llama", "model": "m", "replicas": 7}])
LEFT = pool(models=[{"name": "llama", "model": "m", "autoscaling": {"provider": "External"}}])


def _handover(wanted: Any, *children: Any) -> Any:
    return replica_handover(wanted, observed(*children))


def test_the_present_number_is_handed_over_when_kvtier_lets_go_of_it() -> None:
    before, after = manifest(SCALED, "Deployment"), manifest(LEFT, "Deployment")
    found = live(before)
    (handover,) = _handover(after, found)
    assert handover["spec"] == {"replicas": 7}
    told = ("name", "namespace", "resourceVersion")
    assert handover["metadata"] == {key: found["metadata"][key] for key in told}


def test_nothing_is_handed_over_once_that_is_done() -> None:
    after = manifest(LEFT, "Deployment")
    assert _handover(after, live(after, spec={"replicas": 7})) == ()


def test_nothing_is_handed_over_while_the_pool_sets_the_number() -> None:
    before = manifest(SCALED, "Deployment")
    assert _handover(before, live(before)) == ()


def test_a_new_deployment_has_nothing_to_hand_over() -> None:
    assert _handover(manifest(LEFT, "Deployment")) == ()


def test_other_kinds_have_no_replicas() -> None:
    assert _handover(manifest(LEFT, "Service")) == ()
