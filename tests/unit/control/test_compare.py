"""When a live object already is what is wanted."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kvtier.control.applier import satisfied
from kvtier.plan.offline import manifests
from unit.builders import deployment, live, manifest, merged, pool
from unit.tables import table

A, B = {"name": "a", "value": "1"}, {"name": "b", "value": "2"}
SIDECAR = {"name": "sidecar", "image": "x"}


@table(
    "found, wanted, verdict",
    {
        "equal values are satisfied": ({"a": 1}, {"a": 1}, True),
        "another value is not": ({"a": 2}, {"a": 1}, False),
        "a missing field is not": ({}, {"a": 1}, False),
        "a missing object is not": ({"a": 1}, {"b": {}}, False),
        "a field that others added is theirs": ({"a": 1, "default": "x"}, {"a": 1}, True),
        "a nested field that others added is theirs": ({"a": {"b": 1, "c": 2}}, {"a": {"b": 1}}, True),
        "a nested difference is seen": ({"a": {"b": {"c": 1}}}, {"a": {"b": {"c": 2}}}, False),
        "an empty object is satisfied by any object": ({"a": {"b": 1}}, {"a": {}}, True),
        "an object is not satisfied by a value": ({"a": "x"}, {"a": {}}, False),
        "a list is not satisfied by a value": ({"a": "x"}, {"a": ["x"]}, False),
        "text is not a number": ({"a": "1"}, {"a": 1}, False),
        "the order of fields does not count": ({"b": 1, "a": 2}, {"a": 2, "b": 1}, True),
        "an item that others added to a keyed list is theirs": ({"l": [SIDECAR, A]}, {"l": [A]}, True),
        "the order of a keyed list does not count": ({"l": [B, A]}, {"l": [A, B]}, True),
        "a missing item of a keyed list is seen": ({"l": [A]}, {"l": [A, B]}, False),
        "a changed item of a keyed list is seen": ({"l": [A, B | {"value": "3"}]}, {"l": [A, B]}, False),
        "a field that others added to an item is theirs": ({"l": [A | {"x": 1}]}, {"l": [A]}, True),
        "a keyed list is not satisfied by values": ({"l": ["a"]}, {"l": [A]}, False),
        "mounts of one volume are told apart by their paths": (
            {"l": [{"mountPath": "/a"}, {"mountPath": "/b"}]},
            {"l": [{"mountPath": "/b"}]},
            True,
        ),
        "a second item of one name, which others added, is theirs": (
            {"l": [A, A | {"value": "9"}]},
            {"l": [A]},
            True,
        ),
        "a list of values counts as one value": ({"l": ["a", "b"]}, {"l": ["a", "b"]}, True),
        "its order counts": ({"l": ["b", "a"]}, {"l": ["a", "b"]}, False),
        "its length counts": ({"l": ["a", "b"]}, {"l": ["a"]}, False),
        "an empty list is satisfied by an empty list only": ({"l": [A]}, {"l": []}, False),
        "a list of objects without a key is compared in order": (
            {"l": [{"x": 1, "y": 0}, {"x": 2}]},
            {"l": [{"x": 1}, {"x": 2}]},
            True,
        ),
        "and not out of order": ({"l": [{"x": 2}, {"x": 1}]}, {"l": [{"x": 1}, {"x": 2}]}, False),
    },
)
def test_satisfied(found: Any, wanted: Any, verdict: bool) -> None:
    assert satisfied(found, wanted) is verdict


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@given(VALUES)
def test_everything_satisfies_itself(value: Any) -> None:
    assert satisfied(value, value)


@given(st.dictionaries(st.text(), VALUES), st.text(), VALUES)
def test_fields_of_others_never_matter(wanted: dict[str, Any], key: str, value: Any) -> None:
    assert satisfied({key: value} | wanted, wanted)


def test_what_the_api_server_adds_to_our_objects_is_no_difference() -> None:
    of = pool(tiers={"localSSD": {"capacity": "1Ti"}})
    added = {"status": {"phase": "Bound"}, "spec": {"clusterIP": "10.0.0.1", "volumeName": "pv-1"}}
    for wanted in manifests(of):
        assert satisfied(live(wanted, **added), wanted)


@table(
    "change",
    {
        "a field that is no longer wanted": {"nodePool": {"spot": True}},
        "another value": {"nodePool": {"accelerator": {"count": 16}}},
        "a removed branch": {"tiers": {"lustre": None}},
    },
)
def test_what_changed_in_the_pool_is_seen(change: dict[str, Any]) -> None:
    before, after = manifest(pool(), "ComputeClass"), manifest(pool(**change), "ComputeClass")
    assert not satisfied(live(before), after)


def test_an_edit_by_hand_is_seen() -> None:
    of = pool()
    edited = deployment(of, spec={"template": {"spec": {"enableServiceLinks": True}}})
    assert not satisfied(edited, manifest(of, "Deployment"))
    relabelled = live(merged(manifest(of, "Service"), {"metadata": {"labels": {"kvtier.dev/pool": "other"}}}))
    assert not satisfied(relabelled, manifest(of, "Service"))
