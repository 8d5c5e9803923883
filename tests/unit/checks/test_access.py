"""AccessGranted: what a pool may use without a grant, and what needs one."""

import json
from dataclasses import replace
from typing import Any

import pytest

from kvtier.api.v1alpha1 import KVCachePool
from kvtier.checks import STORAGE, blockers, run
from kvtier.checks.access import check, missing
from kvtier.context import Context
from kvtier.facts.policy import Grants
from unit.builders import NETWORK, context, facts, joined, pool
from unit.instances import CLUSTER, KEY, NAME, POLICY, api, by_hand, existing
from unit.tables import table
from unit.verdicts import assert_says

OWN = Grants(frozenset({"my-project"}))
"""The default: a cluster of my-project, and no policy."""

THEIRS = "projects/their-project"
BUCKET = {"uri": "gs://their-bucket/secrets/"}
COPIED: dict[str, Any] = {"cluster": CLUSTER, "tiers": {"cloudStorage": BUCKET}}
FOREIGN_NETWORK = pool(tiers={"lustre": {"network": f"{THEIRS}/global/networks/default"}})


def granting(**granted: list[str]) -> Grants:
    """The default, and these patterns."""
    return replace(OWN, granted={kind: tuple(values) for kind, values in granted.items()})  # type: ignore[misc]


def look(of: KVCachePool, grants: Grants = OWN) -> Context:
    return context(of, facts=replace(facts(), grants=grants))


@table(
    "of, grants, verdict",
    {
        "a pool without shared tiers uses nothing": (
            pool(tiers={"lustre": None}),
            Grants(),
            "True NotNeeded: The pool uses nothing that needs a grant.",
        ),
        "a bucket that engines reach themselves needs no grant": (
            pool(tiers={"lustre": None, "objectStorage": {"bucket": "blocks"}}),
            Grants(),
            "True NotNeeded",
        ),
        "a network of the cluster's project": (
            pool(),
            OWN,
            "True Granted: belongs to the cluster, or is granted",
        ),
        "an instance in the cluster's project": (pool(**api()), OWN, "True Granted"),
        "a key and a placement policy of the cluster's project": (
            pool(**api(kmsKey=KEY, placementPolicy=POLICY)),
            OWN,
            "True Granted",
        ),
        "a network of another project": (
            FOREIGN_NETWORK,
            OWN,
            f"False NotGranted: Pools in namespace team-a may not use {THEIRS}/global/networks/default "
            "(spec.tiers.lustre.network). The installer of kvtier can grant it in ConfigMap "
            "kvtier-system/kvtier-policy, with this item of grants in policy.yaml: "
            f'{{"namespaces": ["team-a"], "networks": ["{THEIRS}/global/networks/default"]}}',
        ),
        "a network that the GKE API returned": (
            FOREIGN_NETWORK,
            replace(OWN, learned=f"{THEIRS}/global/networks/default"),
            "True Granted",
        ),
        "another network than the installer stated": (
            pool(),
            replace(OWN, network="projects/my-project/global/networks/prod"),
            f"False NotGranted: {NETWORK}",
        ),
        "the network that the installer stated": (pool(), replace(OWN, network=NETWORK), "True Granted"),
        "another project": (
            pool(**joined(api(), {"cluster": {"project": "their-project"}})),
            OWN,
            "False NotGranted: their-project (spec.cluster.project)",
        ),
        "a key of another project": (
            pool(**api(kmsKey=KEY.replace("my-project", "their-project"))),
            OWN,
            "False NotGranted: spec.tiers.lustre.kmsKey",
        ),
        "a placement policy of another project": (
            pool(**api(placementPolicy=POLICY.replace("my-project", "their-project"))),
            OWN,
            "False NotGranted: their-project (spec.tiers.lustre.placementPolicy)",
        ),
        "an existing instance, also in the cluster's project": (
            pool(**existing()),
            OWN,
            f"False NotGranted: {NAME} (spec.tiers.lustre.instance)",
        ),
        "an instance that is granted": (pool(**existing()), granting(instances=[NAME]), "True Granted"),
        "instances of a project that are granted": (
            pool(**existing()),
            granting(instances=["projects/my-project/*"]),
            "True Granted",
        ),
        "an address by hand needs its own grant, else it could be that of another instance": (
            pool(**by_hand()),
            granting(instances=[NAME]),
            "False NotGranted: may not use 10.0.0.4 (spec.tiers.lustre.address)",
        ),
        "an instance and its address": (
            pool(**by_hand()),
            granting(instances=[NAME], addresses=["10.0.0.4"]),
            "True Granted",
        ),
        "a bucket": (
            pool(**COPIED),
            OWN,
            "False NotGranted: gs://their-bucket/secrets/ (spec.tiers.cloudStorage.uri)",
        ),
        "a bucket that is granted": (
            pool(**COPIED),
            granting(buckets=["gs://their-bucket/*"]),
            "True Granted",
        ),
        "another prefix of the bucket": (
            pool(**COPIED),
            granting(buckets=["gs://their-bucket/cache/*"]),
            "False NotGranted",
        ),
        "a path that leaves the prefix": (
            pool(**joined(COPIED, {"tiers": {"cloudStorage": {"uri": "gs://bucket/mine/../theirs/"}}})),
            granting(buckets=["gs://bucket/mine/*"]),
            "False NotGranted",
        ),
        "a cluster whose project is unknown": (
            pool(),
            Grants(),
            f"Unknown ClusterNotSeen: It is unknown whether {NETWORK} (spec.tiers.lustre.network) belongs to this "
            "cluster: no node has a provider ID gce://PROJECT/ZONE/NAME. The installer of kvtier can set "
            "cluster.project in policy.yaml of ConfigMap kvtier-system/kvtier-policy.",
        ),
        "an instance without a grant, in a cluster whose project is unknown": (
            pool(**existing()),
            Grants(),
            "False NotGranted",
        ),
        "a policy that could not be read": (
            pool(**existing()),
            replace(OWN, problem="Unread"),
            "Unknown NotReadable: ConfigMap kvtier-system/kvtier-policy could not be read, and",
        ),
        "a policy that is not valid": (
            pool(**existing()),
            replace(OWN, problem="Invalid"),
            "False PolicyInvalid: The policy in ConfigMap kvtier-system/kvtier-policy is not valid, so it grants "
            "nothing",
        ),
        "without a policy, the defaults apply": (pool(), replace(OWN, problem="Invalid"), "True Granted"),
    },
)
def test_access(of: KVCachePool, grants: Grants, verdict: str) -> None:
    assert_says(check(look(of, grants)), "AccessGranted", verdict)


def test_the_message_has_one_item_that_grants_everything_that_is_missing() -> None:
    asking = pool(**joined(by_hand(), COPIED))
    message = check(look(asking)).message
    item = json.loads(message.partition("policy.yaml: ")[2])
    assert item == {
        "namespaces": ["team-a"],
        "instances": [NAME],
        "addresses": ["10.0.0.4"],
        "buckets": ["gs://their-bucket/secrets/"],
    }
    granted = granting(**{kind: values for kind, values in item.items() if kind != "namespaces"})
    assert check(look(asking, granted)).status == "True"


def test_only_some_kinds_can_be_asked_about() -> None:
    found = missing(look(pool(**joined(by_hand(), COPIED))), "buckets", "projects")
    assert [one.value for one in found] == ["gs://their-bucket/secrets/"]


@pytest.mark.parametrize(
    "grants", [OWN, Grants(), replace(OWN, problem="Unread"), replace(OWN, problem="Invalid")]
)
def test_a_user_cannot_vouch_for_it(grants: Grants) -> None:
    of = pool(**existing())
    found = run(look(of, grants))["AccessGranted"]
    assert not found.vouchable
    assert "acknowledgedConditions" not in found.message


@pytest.mark.parametrize("grants", [OWN, replace(OWN, problem="Unread")], ids=["False", "Unknown"])
def test_it_blocks_every_pool_also_while_it_is_unknown(grants: Grants) -> None:
    of = pool(**existing())
    assert [one.type for one in blockers(run(look(of, grants)), STORAGE, of.spec)] == ["AccessGranted"]
