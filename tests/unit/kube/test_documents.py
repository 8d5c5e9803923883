"""Documents from the API server: what is decoded, and what an object loses that is nested too deeply."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kvtier.kube.documents import decode, readable

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


def nested(levels: int) -> Any:
    """A value of that many levels, half of them lists. `json.dumps` cannot write deep ones."""
    return Raw('{"a":[' * (levels // 2) + '"}]{["' + "]}" * (levels // 2))


class Raw(str):
    """A value in JSON."""


def text(value: Any) -> str:
    if isinstance(value, Raw):
        return value
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(key)}:{text(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list):
        return f"[{','.join(map(text, value))}]"
    return json.dumps(value)


def decoded(document: Any) -> Any:
    return decode(text(document).encode())


def odd(**fields: Any) -> Any:
    return {"metadata": {"name": "odd"}, "status": {"phase": 'a"\\'}, **fields}


PLAIN = {"metadata": {"name": "plain"}, "spec": {"a": 1}}


@given(JSON)
def test_a_document_is_what_was_encoded(document: Any) -> None:
    assert decode(json.dumps(document).encode()) == document


@given(JSON)
def test_a_deep_field_changes_no_other_field(value: Any) -> None:
    assert decoded(odd(spec={"x": nested(1100)}, data=value)) == odd(data=value)


def test_an_object_loses_the_field_that_is_nested_too_deeply() -> None:
    assert decoded(odd(spec=[nested(100_000), nested(300)], kind="Odd")) == odd(kind="Odd")
    assert decoded(odd(spec=nested(190)))["spec"]


def test_metadata_loses_only_the_field_in_it() -> None:
    assert decoded(odd(metadata={"name": "odd", "managedFields": [nested(1100)]})) == odd()


def test_only_the_odd_object_of_a_list_loses_a_field() -> None:
    items = [PLAIN, odd(spec=nested(1100)), PLAIN]
    found = decoded({"kind": "List", "metadata": {"continue": "x"}, "items": items})
    assert found == {"kind": "List", "metadata": {"continue": "x"}, "items": [PLAIN, odd(), PLAIN]}


def test_the_object_of_an_event_loses_its_field() -> None:
    event = {"type": "ADDED", "object": odd(spec=nested(1100))}
    assert decoded(event) == {"type": "ADDED", "object": odd()}


def test_what_is_deep_and_no_object_is_left_out() -> None:
    assert decoded([nested(1100), 1])[1] == 1


def test_another_decoder_gets_what_it_can_read() -> None:
    assert readable(text(PLAIN).encode()) == text(PLAIN).encode()
    assert json.loads(readable(text(odd(spec=nested(1100))).encode())) == odd()
