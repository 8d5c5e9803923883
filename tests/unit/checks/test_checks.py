"""All checks together, and what keeps something from being made."""

from dataclasses import replace

import pytest

from kvtier.api import conditions
from kvtier.api.placement import ZONE
from kvtier.api.v1alpha1 import KVCachePool
from kvtier.checks import ENGINES, ENGINES_ON_LUSTRE, NODES, SPEC_FAULTS, STORAGE, blockers, run
from kvtier.facts.model import Facts, GKECluster, LustreFacts
from unit.builders import checks, context, facts, joined, node, pool
from unit.instances import CLUSTER, api, by_hand, existing
from unit.tables import table


def test_candidates_are_the_nodes_that_engines_could_run_on() -> None:
    fitting, far = node(pool(), "near"), node(pool(), "far", labels={ZONE: "us-east1-b"})
    assert context(pool(), facts=facts(far, fitting)).nodes == (fitting,)


def test_every_prerequisite_has_one_condition_in_a_fixed_order() -> None:
    found = run(context(pool()))
    assert list(found) == [
        conditions.GKE_VERSION_SUPPORTED,
        conditions.LUSTRE_DRIVER_ENABLED,
        conditions.NODE_IMAGE_SUPPORTED,
        conditions.ZONE_MATCHED,
        conditions.NETWORK_MATCHED,
        conditions.PORT_MATCHED,
        conditions.FILESYSTEM_UNIQUE,
        conditions.CAPACITY_VALID,
        conditions.LOCAL_SSD_SUPPORTED,
        conditions.CPU_TIER_FITS,
        conditions.ENGINE_SUPPORTED,
        conditions.KV_CACHE_DTYPE_SUPPORTED,
        conditions.MODEL_CONFIG_VALID,
        conditions.CREDENTIALS_PRESENT,
    ]


def test_a_pool_without_tiers_has_no_unmet_prerequisite_anywhere() -> None:
    bare = pool(tiers={"cpu": None, "lustre": None})
    odd = facts(node(bare, os_image="?", kubelet_version="?"), version="v1.2.3", lustre_driver=False)
    assert {condition.status for condition in run(context(bare, facts=odd)).values()} == {"True"}


DENIED = "grant it roles/viewer"
BLIND = replace(
    facts(gke=GKECluster(error=DENIED)),
    lustre=LustreFacts(error="the Lustre API cannot be asked: grant it roles"),
)


@table(
    "of, unseen",
    {
        "a claim": (pool(cluster=CLUSTER), {"NetworkMatched"}),
        "an instance made through the API": (pool(**api()), {"NetworkMatched"}),
        "an existing instance": (
            pool(**joined(existing(), {"cluster": CLUSTER})),
            {"NetworkMatched", "PortMatched", "FilesystemUnique"},
        ),
        "an existing instance by hand": (
            pool(**joined(by_hand(), {"cluster": CLUSTER})),
            {"NetworkMatched", "PortMatched"},
        ),
    },
)
@pytest.mark.parametrize("seen", [BLIND, replace(facts(), gke=None, lustre=None)])
def test_without_google_credentials_what_only_google_knows_is_unknown_and_the_rest_is_judged(
    of: KVCachePool, unseen: set[str], seen: Facts
) -> None:
    found = run(context(of, facts=seen))
    statuses = {type_: condition.status for type_, condition in found.items()}
    quiet = {conditions.NODE_IMAGE_SUPPORTED} if not seen.cluster.nodes else set()
    assert {type_ for type_, status in statuses.items() if status == "Unknown"} - quiet == unseen
    assert "False" not in statuses.values()
    assert all(found[type_].message for type_ in unseen)


def test_what_google_does_not_tell_blocks_only_a_strict_pool() -> None:
    found = run(context(pool(**joined(existing(), {"cluster": CLUSTER})), facts=BLIND))
    assert blockers(found, STORAGE, strict=False) == []
    assert {condition.type for condition in blockers(found, STORAGE, strict=True)} == {
        "NetworkMatched",
        "PortMatched",
        "FilesystemUnique",
    }


def test_a_false_prerequisite_always_says_why() -> None:
    bad = facts(version="v1.30.0-gke.1", lustre_driver=False, secrets={"hf": frozenset()})
    unmet = [c for c in run(context(pool(), facts=bad)).values() if c.status != "True"]
    assert unmet
    assert all(len(condition.message) > 20 for condition in unmet)


@table(
    "status, strict, blocks",
    {
        "False blocks": ("False", False, True),
        "Unknown does not block": ("Unknown", False, False),
        "Unknown blocks a strict pool": ("Unknown", True, True),
        "False blocks a strict pool": ("False", True, True),
        "True never blocks": ("True", True, False),
    },
)
def test_a_status_blocks(status: str, strict: bool, blocks: bool) -> None:
    found = checks(CapacityValid=status)
    assert blockers(found, STORAGE, strict) == ([found["CapacityValid"]] if blocks else [])


def test_only_the_prerequisites_that_are_asked_about_block() -> None:
    found = checks(CapacityValid="False", CredentialsPresent="False")
    assert [c.type for c in blockers(found, ENGINES, False)] == ["CredentialsPresent"]
    assert [c.type for c in blockers(found, STORAGE, False)] == ["CapacityValid"]
    assert blockers(found, NODES, False) == []


def test_what_engines_would_not_start_with_keeps_them_from_starting() -> None:
    assert set(SPEC_FAULTS) < set(ENGINES)


def test_a_missing_document_or_secret_does_not_freeze_engines_that_run() -> None:
    assert set(ENGINES) - set(SPEC_FAULTS) == {"ModelConfigValid", "CredentialsPresent"}


def test_no_nodes_are_made_that_are_too_small() -> None:
    assert set(NODES) == {"LocalSSDSupported", "CPUTierFits"}


def test_engines_that_mount_lustre_need_all_that_engines_need() -> None:
    assert set(ENGINES) < set(ENGINES_ON_LUSTRE)
