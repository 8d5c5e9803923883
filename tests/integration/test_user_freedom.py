"""Additions of users to the engine Pods: added as written, removed with the field, with one rollout each."""

from functools import partial
from typing import Any

from testbed.fault_injection import FaultyCluster
from testbed.kube import Object
from testbed.pools import Pools
from unit.api.pod_fields import ADDITIONS

DEPLOYMENT = ("apps/v1", "Deployment")


def _spec(pools: Pools) -> Any:
    return pools.child(*DEPLOYMENT)["spec"]["template"]


def _served(pools: Pools, **changes: Any) -> None:
    """Edit the only model of the pool. None removes a field."""
    model = pools.get("pool")["spec"]["models"][0] | changes
    pools.patch("pool", {"models": [{key: value for key, value in model.items() if value is not None}]})


def _generation(pools: Pools) -> int:
    return int(pools.child(*DEPLOYMENT)["metadata"]["generation"])


def _contains(live: Any, written: Any) -> bool:
    """Whether `live` contains all of `written`. Maps may have more fields, and lists more items before.

    The API server leaves out empty texts and false, and writes quantities as texts.
    """
    if isinstance(written, dict):
        return all(_contains(live.get(key), value) for key, value in written.items())
    if isinstance(written, list):
        return all(map(_contains, live[len(live) - len(written) :], written))
    return str(live or "") == str(written or "")


def test_additions_are_added_and_removed_with_one_rollout_each(operated: FaultyCluster) -> None:
    pools = operated.pools()
    pools.create("pool", tiers__lustre=None)
    operated.until_ready(pools, "pool")
    before, generation = _spec(pools), _generation(pools)
    _served(pools, podTemplate=ADDITIONS)
    operated.until(lambda: "initContainers" in _spec(pools)["spec"])
    operated.until_ready(pools, "pool")
    made = _spec(pools)
    live = made["spec"]["containers"][0] | made["spec"] | made["metadata"]
    assert [name for name, value in ADDITIONS.items() if not _contains(live[name], value)] == []
    assert _generation(pools) == generation + 1
    _served(pools, podTemplate=None)
    operated.until(lambda: _spec(pools) == before)
    operated.until_ready(pools, "pool")
    assert _generation(pools) == generation + 2


REFUSED: dict[str, tuple[Object, str]] = {
    "a container without an image": ({"containers": [{"name": "logs"}]}, "image: Required value"),
    "an unknown DNS policy": ({"dnsPolicy": "Mine"}, "dnsPolicy"),
    "an invalid probe": (
        {"containers": [{"name": "a", "image": "x", "livenessProbe": {"periodSeconds": 5}}]},
        "must specify a handler",
    ),
    "an empty node affinity": (
        {
            "affinity": {
                "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}}
            }
        },
        "nodeSelectorTerms",
    ),
    "a port twice": ({"ports": [{"name": "http", "containerPort": 8000}]}, "8000"),
    "a mount without a volume": (
        {"volumeMounts": [{"name": "gone", "mountPath": "/a"}]},
        'Not found: "gone"',
    ),
    "two containers with one name": (
        {"containers": [{"name": "a", "image": "x"}], "initContainers": [{"name": "a", "image": "x"}]},
        'Duplicate value: "a"',
    ),
    "an invalid toleration": ({"tolerations": [{"operator": "Maybe"}]}, "operator"),
}


def test_additions_that_the_api_server_refuses_are_reported_and_do_not_change_engines(
    operated: FaultyCluster,
) -> None:
    homes = {case: operated.pools() for case in REFUSED}
    for pools in homes.values():
        pools.create("pool", tiers__lustre=None)
    for pools in homes.values():
        operated.until_ready(pools, "pool")
    before = {case: pools.child(*DEPLOYMENT)["spec"] for case, pools in homes.items()}
    for case, pools in homes.items():
        _served(pools, podTemplate=REFUSED[case][0])
    for case, pools in homes.items():
        operated.until(partial(_reports, pools, REFUSED[case][1]), f"{case} is reported")
    assert {case: pools.child(*DEPLOYMENT)["spec"] for case, pools in homes.items()} == before
    for pools in homes.values():
        _served(pools, podTemplate=None)
    for pools in homes.values():
        operated.until_ready(pools, "pool")


def _reports(pools: Pools, words: str) -> bool:
    condition = pools.condition("pool", "ModelsReady")
    message = condition.get("message", "")
    refused = condition.get("status") == "False" and "Deployment " in message.partition(":")[0]
    return refused and words in message


def test_variables_from_secrets_are_passed_on_as_references(operated: FaultyCluster) -> None:
    pools = operated.pools()
    secret = {"name": "keys", "namespace": pools.namespace}
    operated.kube.create(
        {"apiVersion": "v1", "kind": "Secret", "metadata": secret, "stringData": {"api": "s3cr3t"}}
    )
    reference = {"secretKeyRef": {"name": "keys", "key": "api"}}
    pools.create("pool", tiers__lustre=None, models__0__env=[{"name": "KEY", "valueFrom": reference}])
    operated.until_ready(pools, "pool")
    (engine,) = _spec(pools)["spec"]["containers"]
    assert {"name": "KEY", "valueFrom": reference} in engine["env"]
    assert "s3cr3t" not in str(pools.get("pool")) + str(pools.child(*DEPLOYMENT))
