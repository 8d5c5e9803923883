"""What a policy grants to a namespace."""

from typing import Any

import pytest

from kvtier.api.policy import InvalidPolicyError, Kind, Policy
from kvtier.facts.policy import PolicyFacts, installed, matches
from unit.builders import NETWORK
from unit.tables import table

NODES = frozenset({"my-project"})


def _grants(namespace: str = "team-a", projects: frozenset[str] = NODES, **policy: Any) -> Any:
    return PolicyFacts(Policy.model_validate(policy)).grants(namespace, projects)


@table(
    "pattern, value, found",
    {
        "the value itself": ("team-a", "team-a", True),
        "no prefix": ("team", "team-a", False),
        "any characters": ("gs://b/*", "gs://b/c/d/", True),
        "also none": ("gs://b/*", "gs://b/", True),
        "in the middle": ("projects/*/global/networks/x", "projects/p/global/networks/x", True),
        "a dot is a dot": ("a.b", "axb", False),
        "brackets have no meaning": ("[a]", "a", False),
        "everything": ("*", "", True),
    },
)
def test_a_pattern(pattern: str, value: str, found: bool) -> None:
    assert matches(pattern, value) is found


def test_grants_of_a_namespace_add_up_and_others_have_none() -> None:
    given = [
        {"namespaces": ["team-*"], "buckets": ["gs://all/*"]},
        {"namespaces": ["team-a"], "buckets": ["gs://a/*"]},
    ]
    assert _grants("team-a", grants=given).granted["buckets"] == ("gs://all/*", "gs://a/*")
    assert _grants("team-b", grants=given).granted["buckets"] == ("gs://all/*",)
    assert _grants("other", grants=given).granted["buckets"] == ()


@table(
    "kind, value, own",
    {
        "the project of the nodes": ("projects", "my-project", True),
        "another project": ("projects", "their-project", False),
        "a network of the project": ("networks", NETWORK, True),
        "a network of another project": ("networks", "projects/x/global/networks/default", False),
        "a key of the project": ("kmsKeys", "projects/my-project/locations/l/keyRings/r/cryptoKeys/k", True),
        "no instance": ("instances", "projects/my-project/locations/z/instances/i", False),
        "no bucket": ("buckets", "gs://my-project/", False),
        "no address": ("addresses", "10.0.0.4", False),
    },
)
def test_without_a_policy_the_project_of_the_cluster_is_granted(kind: Kind, value: str, own: bool) -> None:
    assert _grants().allows(kind, value) is own


def test_the_installer_can_state_the_cluster() -> None:
    stated = _grants(cluster={"project": "other", "network": NETWORK})
    assert not stated.allows("projects", "my-project")
    assert stated.allows("projects", "other")
    assert stated.allows("networks", NETWORK)
    assert not stated.allows("networks", "projects/other/global/networks/default")


def test_nothing_belongs_to_a_cluster_without_google_nodes() -> None:
    assert not _grants(projects=frozenset()).allows("projects", "")
    assert not _grants(projects=frozenset()).allows("networks", NETWORK)


def test_without_a_config_map_the_default_applies() -> None:
    assert installed(None) == Policy()


@pytest.mark.parametrize("data", [None, {}, {"policy.yml": ""}])
def test_a_config_map_without_the_key_is_not_valid(data: Any) -> None:
    with pytest.raises(InvalidPolicyError, match=r"the ConfigMap has no key policy\.yaml"):
        installed({"data": data})
