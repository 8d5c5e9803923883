"""Templates: values arrive as they are, and can never change a manifest's structure."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jinja2 import DictLoader, UndefinedError

from kvtier.plan import children as module
from kvtier.plan.children import render

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8
)
CLAIM = {
    "name": "n",
    "namespace": "ns",
    "labels": {},
    "annotations": {},
    "storage_class": "c",
    "capacity": "1Gi",
}

HOSTILE = [
    "on",
    "yes",
    "null",
    "1e3",
    "0x10",
    "2026-11-29",
    "a: b",
    "- a",
    "# no comment",
    "'\"",
    "{{ name }}",
    "{% raw %}",
    "line\nspec: {replicas: 9}\n",
    "\ue0000\ue000",
    "\ue0001\ue000",
    "&anchor *alias",
    "!!python/object:os.system",
    "😀",
    "\t",
    "",
]


def _expected(values: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {key: values[key] for key in ("name", "namespace", "labels", "annotations")},
        "spec": {
            "accessModes": ["ReadWriteMany"],
            "volumeMode": "Filesystem",
            "storageClassName": values["storage_class"],
            "resources": {"requests": {"storage": values["capacity"]}},
        },
    }


@given(st.fixed_dictionaries(dict.fromkeys(CLAIM, VALUES)))
def test_any_value_stands_where_its_expression_stood_and_nowhere_else(values: dict[str, Any]) -> None:
    assert render("persistentvolumeclaim", **values) == _expected(values)


@pytest.mark.parametrize("text", HOSTILE)
def test_text_that_means_something_to_yaml_or_jinja_stays_text(text: str) -> None:
    values = dict.fromkeys(CLAIM, text)
    assert render("persistentvolumeclaim", **values) == _expected(values)


@pytest.mark.parametrize("value", [True, 1, 1.0, 214748364800, 10**30, "1", None])
def test_a_value_keeps_its_type(value: Any) -> None:
    found = render("persistentvolumeclaim", **CLAIM | {"capacity": value})
    stored = found["spec"]["resources"]["requests"]["storage"]
    assert (type(stored), stored) == (type(value), value)


@pytest.mark.parametrize("missing", CLAIM)
def test_a_missing_value_is_refused_by_its_name(missing: str) -> None:
    values = {key: value for key, value in CLAIM.items() if key != missing}
    with pytest.raises(UndefinedError, match=missing):
        render("persistentvolumeclaim", **values)


def test_two_manifests_of_one_shape_share_nothing() -> None:
    one = render("persistentvolumeclaim", **CLAIM)
    one["spec"]["accessModes"].append("ReadOnlyMany")
    assert render("persistentvolumeclaim", **CLAIM)["spec"]["accessModes"] == ["ReadWriteMany"]


def _render_text(monkeypatch: pytest.MonkeyPatch, text: str, **values: Any) -> Any:
    """The same rendering with a template of the test's own."""
    monkeypatch.setattr(module, "PackageLoader", lambda _: DictLoader({"mine.yaml.j2": text}))
    monkeypatch.setattr(module, "_template", module._template.__wrapped__)
    return render("mine", **values)


@pytest.mark.parametrize(
    "text",
    ["a: x{{ v }}", "a: '{{ v }} '", "a: {{ v }}x", "a: {{ v }}{{ v }}", "a: 1{{ v }}", "{{ v }}-key: 1"],
)
def test_an_expression_inside_a_longer_scalar_is_refused(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    with pytest.raises(ValueError, match="must use an expression as a whole scalar"):
        _render_text(monkeypatch, text, v="b")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: {{ v }}", {"a": "x: y"}),
        ("a: [{{ v }}, {{ v }}]", {"a": ["x: y", "x: y"]}),
        ("{{ v }}: 1", {"x: y": 1}),
        ("a: {{ v | length + 1 }}", {"a": 5}),
        ("{% for one in [v, v] %}\n- {{ one }}\n{% endfor %}", ["x: y", "x: y"]),
    ],
)
def test_an_expression_may_stand_wherever_a_scalar_may(
    monkeypatch: pytest.MonkeyPatch, text: str, expected: Any
) -> None:
    assert _render_text(monkeypatch, text, v="x: y") == expected


def test_a_missing_attribute_is_refused_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UndefinedError, match="colour"):
        _render_text(monkeypatch, "a: {{ v.colour }}", v={"shape": "round"})
