"""policy.yaml: what is valid."""

import pytest

from kvtier.api.policy import Grant, InvalidPolicyError, Policy, StatedCluster, parse
from unit.tables import table

FULL = """
cluster:
  project: my-project
  network: projects/my-project/global/networks/default
grants:
- namespaces: [team-a, "team-b-*"]
  projects: [their-project]
  networks: [projects/host-project/global/networks/shared]
  instances: [projects/my-project/locations/us-central1-a/instances/shared-cache]
  addresses: [10.90.1.4]
  buckets: ["gs://team-a/*"]
  kmsKeys: ["*"]
"""


def test_all_fields() -> None:
    policy = parse(FULL)
    assert policy.cluster == StatedCluster(
        project="my-project", network="projects/my-project/global/networks/default"
    )
    (grant,) = policy.grants
    assert grant.namespaces == ["team-a", "team-b-*"]
    assert grant.patterns("kmsKeys") == ("*",)
    assert grant.patterns("buckets") == ("gs://team-a/*",)


@pytest.mark.parametrize("text", ["", "# nothing", "{}", "grants: []"])
def test_an_empty_policy_grants_nothing(text: str) -> None:
    assert parse(text) == Policy()


def test_a_grant_may_list_nothing() -> None:
    assert parse("grants: [{namespaces: [a]}]").grants == [Grant(namespaces=["a"])]


@table(
    "text, says",
    {
        "an unknown field": ("grant: []", "grant: unknown field"),
        "an unknown field of a grant": (
            "grants: [{namespaces: [a], bucket: []}]",
            "grants[0].bucket: unknown field",
        ),
        "no namespaces": ("grants: [{buckets: ['gs://b/*']}]", "grants[0].namespaces: Field required"),
        "a list of namespaces that is empty": (
            "grants: [{namespaces: []}]",
            "grants[0].namespaces: List should",
        ),
        "a bucket without its scheme": (
            "grants: [{namespaces: [a], buckets: [b]}]",
            "grants[0].buckets[0]: String",
        ),
        "an instance without its project": (
            "grants: [{namespaces: [a], instances: [i]}]",
            "grants[0].instances[0]",
        ),
        "an address that is a name": (
            "grants: [{namespaces: [a], addresses: [x]}]",
            "grants[0].addresses[0]",
        ),
        "a number as the project": ("cluster: {project: 12}", "cluster.project"),
        "a network by its short name": ("cluster: {network: default}", "cluster.network"),
        "a list": ("[]x", "not valid YAML"),
        "no mapping": ("- a", "policy.yaml: "),
        "a deep document": ("[" * 20_000, "not valid YAML: nested too deeply"),
        "a control character": ("a: \x00", "not valid YAML"),
    },
)
def test_an_invalid_policy_names_the_field(text: str, says: str) -> None:
    with pytest.raises(InvalidPolicyError) as error:
        parse(text)
    assert says in str(error.value)
