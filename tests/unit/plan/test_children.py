"""Manifests of children: common fields, and templates in which a value cannot change the structure."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jinja2 import DictLoader, UndefinedError

from kvtier.api import names
from kvtier.plan import children
from kvtier.plan.children import labels, owner, render, signature, signed
from kvtier.plan.offline import manifests
from unit.builders import context, manifest, merged, model, pool
from unit.tables import table

KINDS = ["StorageClass", "PersistentVolumeClaim", "ComputeClass", "Deployment", "Service"]


@table("kind", {f"a {kind}": kind for kind in KINDS})
def test_every_child_names_its_pool(kind: str) -> None:
    metadata = manifest(pool(), kind)["metadata"]
    assert (
        metadata["labels"]
        == labels("team-a", "chat")
        == {
            "app.kubernetes.io/managed-by": "kvtier",
            "kvtier.dev/pool": "chat",
            "kvtier.dev/pool-namespace": "team-a",
        }
    )
    assert metadata["annotations"]["kvtier.dev/pool"] == "team-a/chat"


def test_the_children_of_a_pool_with_a_long_name_have_a_shortened_label_and_the_full_name() -> None:
    long = pool(metadata={"name": "x." * 126 + "x"})
    for child in manifests(long):
        assert len(child["metadata"]["labels"]["kvtier.dev/pool"]) <= 63
        assert child["metadata"]["annotations"]["kvtier.dev/pool"] == f"team-a/{long.name}"
        assert len(child["metadata"]["name"]) <= 63


@given(st.from_regex(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?", fullmatch=True))
def test_children_of_one_kind_have_different_names(name: str) -> None:
    of = pool(metadata={"name": name}, models=[model(), model(name="other")])
    keys = [(child["kind"], child["metadata"]["name"]) for child in manifests(of)]
    assert len(set(keys)) == len(keys) == 7


def test_pools_of_the_same_name_share_no_cluster_wide_child() -> None:
    mine, theirs = pool(), pool(metadata={"namespace": "team-b"})
    for kind in ("StorageClass", "ComputeClass"):
        assert manifest(mine, kind)["metadata"]["name"] != manifest(theirs, kind)["metadata"]["name"]


def test_pool_and_model_names_with_the_same_concatenation_have_two_deployments() -> None:
    one = context(pool(metadata={"name": "a"}, models=[model(name="b-c")]))
    other = context(pool(metadata={"name": "a-b"}, models=[model(name="c")]))
    assert one.models[0].name != other.models[0].name
    assert one.lustre.claim_name != other.lustre.claim_name


def test_an_owner_reference_names_the_pool_and_never_blocks_its_deletion() -> None:
    assert owner(pool()) == {
        "apiVersion": "kvtier.dev/v1alpha1",
        "kind": "KVCachePool",
        "name": "chat",
        "uid": "pool-uid",
        "controller": True,
        "blockOwnerDeletion": False,
    }


@table(
    "change, same",
    {
        "the same manifest has the same digest": ({}, True),
        "another order of keys is the same manifest": (None, True),
        "another value is another manifest": ({"spec": {"a": 2}}, False),
        "a removed field is another manifest": ({"spec": {"b": None}}, False),
        "another order of a list is another manifest": ({"spec": {"l": [2, 1]}}, False),
    },
)
def test_the_digest_of_a_manifest(change: dict[str, Any] | None, same: bool) -> None:
    metadata: dict[str, Any] = {"name": "x", "annotations": {"note": "y"}}
    before = {"kind": "X", "metadata": metadata, "spec": {"a": 1, "b": {}, "l": [1, 2]}}
    shuffled = {"spec": {"l": [1, 2], "b": {}, "a": 1}, "metadata": metadata, "kind": "X"}
    after = shuffled if change is None else merged(before, change)
    assert (signature(signed(before)) == signature(signed(after))) is same
    assert set(signed(before)["metadata"]["annotations"]) == {"note", names.ANNOTATION_APPLIED}


def test_a_removed_field_changes_the_annotation() -> None:
    one, other = (manifest(pool(nodePool={"spot": spot}), "ComputeClass") for spot in (True, False))
    assert signature(one) != signature(other)


# Templates keep values unchanged.

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
def test_a_value_replaces_only_its_expression(values: dict[str, Any]) -> None:
    assert render("persistentvolumeclaim", **values) == _expected(values)


@pytest.mark.parametrize("text", HOSTILE)
def test_text_with_yaml_or_jinja_syntax_stays_text(text: str) -> None:
    values = dict.fromkeys(CLAIM, text)
    assert render("persistentvolumeclaim", **values) == _expected(values)


@pytest.mark.parametrize("value", [True, 1, 1.0, 214748364800, 10**30, "1", None])
def test_a_value_keeps_its_type(value: Any) -> None:
    found = render("persistentvolumeclaim", **CLAIM | {"capacity": value})
    stored = found["spec"]["resources"]["requests"]["storage"]
    assert (type(stored), stored) == (type(value), value)


@pytest.mark.parametrize("missing", CLAIM)
def test_a_missing_value_is_an_error_with_its_name(missing: str) -> None:
    values = {key: value for key, value in CLAIM.items() if key != missing}
    with pytest.raises(UndefinedError, match=missing):
        render("persistentvolumeclaim", **values)


def test_manifests_of_the_same_template_share_no_objects() -> None:
    one = render("persistentvolumeclaim", **CLAIM)
    one["spec"]["accessModes"].append("ReadOnlyMany")
    assert render("persistentvolumeclaim", **CLAIM)["spec"]["accessModes"] == ["ReadWriteMany"]


def _render_text(monkeypatch: pytest.MonkeyPatch, text: str, **values: Any) -> Any:
    """Render a template of the test."""
    monkeypatch.setattr(children, "PackageLoader", lambda _: DictLoader({"mine.yaml.j2": text}))
    monkeypatch.setattr(children, "_template", children._template.__wrapped__)
    return render("mine", **values)


@pytest.mark.parametrize(
    "text",
    ["a: x{{ v }}", "a: '{{ v }} '", "a: {{ v }}x", "a: {{ v }}{{ v }}", "a: 1{{ v }}", "{{ v }}-key: 1"],
)
def test_an_expression_inside_a_longer_scalar_is_an_error(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
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
def test_an_expression_can_replace_any_scalar(
    monkeypatch: pytest.MonkeyPatch, text: str, expected: Any
) -> None:
    assert _render_text(monkeypatch, text, v="x: y") == expected


def test_a_missing_attribute_is_an_error_with_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UndefinedError, match="colour"):
        _render_text(monkeypatch, "a: {{ v.colour }}", v={"shape": "round"})
