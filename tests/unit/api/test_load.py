"""Pools from files: what is refused, and the field path of the problem."""

import pytest
import yaml

from kvtier.cli.common import LoadError, load
from unit.builders import document, merged, model
from unit.tables import table


def _file(*documents: object) -> str:
    return yaml.safe_dump_all(documents)


def test_every_pool_of_a_stream_is_loaded_and_other_kinds_are_skipped() -> None:
    other = document(metadata={"name": "other", "namespace": None})
    pools = load(_file(document(), {"kind": "Secret"}, None, other), namespace="mine")
    assert [(pool.namespace, pool.name) for pool in pools] == [("team-a", "chat"), ("mine", "other")]


def test_the_status_in_a_file_is_ignored() -> None:
    (pool,) = load(_file(document(status={"phase": "Ready"})), "mine")
    assert pool.status.phase is None


@table(
    "text, words",
    {
        "text that is not YAML is refused": ("{", "not valid YAML: "),
        "half a character is refused": (
            '{apiVersion: v1, kind: Secret, data: "\\ud83d"}',
            r"not valid YAML: '\ud83d' is half a character; write the whole one",
        ),
        "an alias to the list around it is refused": (
            "&a [*a]",
            "not valid YAML: ",
        ),
        "deep nesting is refused": (
            "[" * 2000,
            "not valid YAML: nested too deeply",
        ),
        "a file without a pool is refused": (
            "kind: Secret",
            "contains no KVCachePool of kvtier.dev/v1alpha1",
        ),
        "another project's KVCachePool is refused": (
            _file(merged(document(), {"apiVersion": "other.example/v1"})),
            "apiVersion: must be kvtier.dev/v1alpha1 for a KVCachePool, not 'other.example/v1'",
        ),
        "a pool without a name is refused": (
            _file(merged(document(), {"metadata": {"name": None}})),
            "metadata.name: must be a string; put quotes around names such as",
        ),
        "a name that YAML reads as a number is refused": (
            "{apiVersion: kvtier.dev/v1alpha1, kind: KVCachePool, metadata: {name: 123}}",
            "metadata.name: must be a string; put quotes around names such as",
        ),
        "a name that no object can have is refused": (
            _file(merged(document(), {"metadata": {"name": "a_b"}})),
            "metadata.name: 'a_b' must consist of lower case letters",
        ),
        "a field that stands twice is refused": (
            _file(document()) + "spec: {}\n",
            "not valid YAML: field 'spec' is set twice",
        ),
        "a number that kubectl reads as a number is refused as text": (
            _file(document(models=[model(revision="TEXT")])).replace("TEXT", "1e3"),
            "spec.models[0].revision: Input should be a valid string",
        ),
        "a field that does not exist is named": (
            _file(document(tiers={"lustre": {"capacityy": "1Gi"}})),
            "spec.tiers.lustre.capacityy: unknown field; remove it or correct its name",
        ),
        "a problem in a list is found by its index": (
            _file(document(models=[model(), model(name="Capital")])),
            "spec.models[1].name: ",
        ),
        "a broken rule is reported with its message": (
            _file(document(tiers={"cpu": None})),
            "spec.tiers: localSSD, lustre and objectStorage require the cpu tier",
        ),
    },
)
def test_a_file_is_refused(text: str, words: str) -> None:
    with pytest.raises(LoadError) as refusal:
        load(text, "mine")
    assert words in str(refusal.value)


def test_every_problem_has_its_own_line() -> None:
    with pytest.raises(LoadError) as refusal:
        load(_file(document(mode="Sometimes", strictt=True)), "mine")
    assert len(str(refusal.value).splitlines()) == 2
