"""Every pool that decodes has a plan in every world that decodes, and its status can be written."""

import json
from dataclasses import asdict, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from kvtier.api.v1alpha1 import KVCachePool
from kvtier.facts.children import children
from kvtier.facts.cluster import node
from kvtier.facts.events import newest_first, parsed
from kvtier.facts.model import Instance, LustreFacts, Observed, Operation, Window
from kvtier.facts.volumes import Volumes, volume
from kvtier.plan.events import status_events
from kvtier.plan.model import Plan
from kvtier.plan.plan import plan
from unit.builders import NOW, document, model, pool
from unit.corpus.changes import changed
from unit.corpus.documents import EVENT, NODE, VOLUME
from unit.instances import CLUSTER, NAME, api, by_hand, dynamic, existing
from unit.simulation import Simulation, in_use

_FULL = {"mode": "Opportunistic", "tiers": {"localSSD": {"capacity": "2000Gi"}}}
POOLS: dict[str, dict[str, Any]] = {
    "CSI": _FULL,
    "CSI with a cluster": {"cluster": CLUSTER, "deletionPolicy": "Delete"},
    "API": api(maintenance="Bypass") | {"mode": "Opportunistic"},
    "API, Dynamic tier": dynamic(),
    "Existing": existing(),
    "by hand": by_hand(),
    "a bucket": {
        "cluster": CLUSTER,
        "tiers": {"cloudStorage": {"uri": "gs://bucket/p/", "exportSchedule": "0 * * * *"}},
    },
    "no tier": {"tiers": {"cpu": None, "lustre": None}},
    "LMCache": {"models": [model(engine={"backend": "LMCache", "lmcache": {"version": "0.5.6"}})]},
}
WORLDS = {name: in_use(pool(**changes)) for name, changes in POOLS.items()}
LEAVING = {"deletionTimestamp": NOW, "finalizers": ["kvtier.dev/teardown"]}
_WINDOW = Window(start=NOW, end="2026-11-29T13:00:00Z")
_INSTANCE = Instance(
    NAME, "ACTIVE", 18_000 << 30, 1000, "lfs", "n", "10.0.0.4", "why", NOW, {}, window=_WINDOW
)


@st.composite
def worlds(draw: st.DrawFn) -> tuple[KVCachePool, Observed]:
    """A pool in use, and some of what is observed about it is odd."""
    known = WORLDS[draw(st.sampled_from(sorted(WORLDS)))]
    of = draw(_odd_pool(known))
    objects = {key: draw(changed(obj, 1)) for key, obj in sorted(known.objects.items()) if draw(_MOST)}
    strangers = [draw(changed(VOLUME)) for _ in range(draw(st.integers(0, 2)))]
    found = [volume(obj) for (kind, _), obj in objects.items() if kind == "PersistentVolume"]
    volumes = Volumes({one.name: one for one in [*found, *map(volume, strangers)] if one})
    events = newest_first(parsed(draw(_event(known))) for _ in range(draw(st.integers(0, 3))))
    cluster = replace(known.facts.cluster, nodes=(*known.facts.cluster.nodes, node(draw(changed(NODE)))))
    facts = replace(known.facts, cluster=cluster, volumes=volumes, lustre=draw(_lustre(of)))
    return of, Observed(facts, children(objects), events, events, draw(st.sampled_from([(), ("a", "b")])))


_MOST = st.sampled_from([True, True, True, False])


def _odd_pool(known: Simulation) -> st.SearchStrategy[KVCachePool]:
    """The pool, perhaps being deleted, with a status that somebody edited."""
    status = known.pool.status.model_dump(by_alias=True, exclude_none=True)
    leaving = st.sampled_from([{}, LEAVING])

    def built(edited: Any, metadata: dict[str, Any]) -> KVCachePool:
        spec = known.pool.spec.model_dump(by_alias=True, exclude_none=True)
        raw = {"metadata": {**known.pool.metadata, **metadata}, "spec": spec, "status": edited}
        try:
            return KVCachePool.model_validate(raw)
        except ValidationError:
            return known.pool

    return st.builds(built, changed(status), leaving)


def _event(known: Simulation) -> st.SearchStrategy[Any]:
    names = [f"{obj['metadata']['name']}-a-b" for obj in known.objects.values()]
    reasons = (
        "FailedScheduling",
        "FailedScaleUp",
        "FailedMount",
        "Failed",
        "ProvisioningFailed",
        "Provisioning",
    )
    about = st.tuples(st.sampled_from(names or ["x"]), st.sampled_from(reasons))
    return about.flatmap(
        lambda chosen: changed(
            {**EVENT, "involvedObject": {"kind": "Pod", "name": chosen[0]}, "reason": chosen[1]}
        )
    )


def _lustre(of: KVCachePool) -> st.SearchStrategy[LustreFacts | None]:
    operations = {one.request_id: Operation("op", True, "Internal", "why") for one in of.status.operations}

    def built(values: dict[str, Any]) -> LustreFacts:
        given = values.pop("window", None) or {}
        window = Window(given.get("start", ""), given.get("end", ""))
        instance = replace(_INSTANCE, **values, window=window if window.start else None)
        return LustreFacts(instance, None, operations)

    plain = {name: value for name, value in asdict(_INSTANCE).items() if name != "name"}
    return st.sampled_from([None, LustreFacts(), LustreFacts(error="why")]) | changed(plain).map(built)


def _checked(of: KVCachePool, made: Plan) -> None:
    """What is written about a plan can be written."""
    json.dumps([made.applies, [call.body for call in made.calls]]).encode()
    if made.status is not None:
        written = made.status.model_dump(by_alias=True, exclude_none=True)
        numbers = [one for one in _leaves(written) if isinstance(one, int)]
        assert all(-(2**63) <= number < 2**63 for number in numbers)
        json.dumps(written, ensure_ascii=False).encode()
        assert list(status_events(of.status, made.status)) is not None


def _leaves(value: Any) -> list[Any]:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return [value] if inner is None else [leaf for one in inner for leaf in _leaves(one)]


@settings(max_examples=200)
@given(worlds())
def test_every_world_has_a_plan(world: tuple[KVCachePool, Observed]) -> None:
    of, seen = world
    _checked(of, plan(of, seen, NOW))


# The worst texts for the patterns that messages are searched with, each a megabyte long.
LONGEST = [
    one * (1_000_000 // len(one))
    for one in (
        "\n",
        " ",
        "failed: ",
        "rpc error: code = A desc = \n",
        "Container ",
        ": kubectl ",
        "/a?",
        "x",
        "ID:",
    )
]
REASONS = ("FailedScheduling", "FailedScaleUp", "FailedMount", "Failed", "ProvisioningFailed")


@pytest.mark.parametrize("text", LONGEST, ids=lambda text: repr(text[:12]))
@pytest.mark.timeout(20)
def test_a_message_of_a_megabyte_takes_no_time(text: str) -> None:
    known = WORLDS["CSI"]
    wrong = [{"type": type_, "status": "True", "message": text} for type_ in ("Failed", "ReplicaFailure")]
    failed = [*wrong, {"type": "ControllerResizeError", "status": "True", "message": text}]
    objects = {key: {**obj, "status": {"conditions": failed}} for key, obj in known.objects.items()}
    owners = [obj["metadata"]["name"] for obj in objects.values()]
    about = [{"kind": "Pod", "name": f"{owner}-a-b"} for owner in owners]
    told = [
        {**EVENT, "involvedObject": one, "reason": why, "message": text} for one in about for why in REASONS
    ]
    events = newest_first(map(parsed, told))
    seen = Observed(known.facts, children(objects), events, events)
    _checked(known.pool, plan(known.pool, seen, NOW))


_DOCUMENTS = [document(**changes) for changes in POOLS.values()]


@settings(max_examples=200)
@given(st.sampled_from(_DOCUMENTS).flatmap(changed))
def test_every_pool_that_decodes_has_a_plan(raw: Any) -> None:
    try:
        of = KVCachePool.model_validate(raw)
    except ValidationError:
        return
    _checked(of, plan(of, Observed(), NOW))
