"""All checks together, and what they block."""

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


def test_candidates_are_the_nodes_on_which_engines_may_run() -> None:
    fitting, far = node(pool(), "near"), node(pool(), "far", labels={ZONE: "us-east1-b"})
    assert context(pool(), facts=facts(far, fitting)).nodes == (fitting,)


def test_every_prerequisite_has_one_condition_in_a_fixed_order() -> None:
    found = run(context(pool()))
    assert list(found) == [
        conditions.ACCESS_GRANTED,
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


DENIED = "The GKE API denied access. Grant roles/viewer."
BLIND = replace(
    facts(gke=GKECluster(error=DENIED)),
    lustre=LustreFacts(error="The Lustre API denied access. Grant roles."),
)


@table(
    "of, unseen",
    {
        "a PVC": (pool(cluster=CLUSTER), {"NetworkMatched"}),
        "an instance created through the API": (pool(**api()), {"NetworkMatched"}),
        "an existing instance": (
            pool(**joined(existing(), {"cluster": CLUSTER})),
            {"NetworkMatched", "PortMatched", "FilesystemUnique"},
        ),
        "an existing instance described in the spec": (
            pool(**joined(by_hand(), {"cluster": CLUSTER})),
            {"NetworkMatched", "PortMatched"},
        ),
    },
)
@pytest.mark.parametrize("seen", [BLIND, replace(facts(), gke=None, lustre=None)])
def test_without_google_credentials_only_facts_from_google_are_unknown(
    of: KVCachePool, unseen: set[str], seen: Facts
) -> None:
    found = run(context(of, facts=seen))
    statuses = {type_: condition.status for type_, condition in found.items()}
    quiet = {conditions.NODE_IMAGE_SUPPORTED} if not seen.cluster.nodes else set()
    assert {type_ for type_, status in statuses.items() if status == "Unknown"} - quiet == unseen
    assert "False" not in statuses.values()
    assert all(found[type_].message for type_ in unseen)


def test_facts_that_google_does_not_return_block_only_a_strict_pool() -> None:
    found = run(context(pool(**joined(existing(), {"cluster": CLUSTER})), facts=BLIND))
    assert blockers(found, STORAGE, pool().spec) == []
    assert {condition.type for condition in blockers(found, STORAGE, pool(strict=True).spec)} == {
        "NetworkMatched",
        "PortMatched",
        "FilesystemUnique",
    }


def test_a_false_prerequisite_always_has_a_message() -> None:
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
    assert blockers(found, STORAGE, pool(strict=strict).spec) == ([found["CapacityValid"]] if blocks else [])


def test_only_the_given_types_block() -> None:
    found = checks(CapacityValid="False", CredentialsPresent="False")
    assert [c.type for c in blockers(found, ENGINES, pool().spec)] == ["CredentialsPresent"]
    assert [c.type for c in blockers(found, STORAGE, pool().spec)] == ["CapacityValid"]
    assert blockers(found, NODES, pool().spec) == []


def test_faults_of_the_spec_block_the_start_of_engines() -> None:
    assert set(SPEC_FAULTS) < set(ENGINES)


def test_a_missing_document_or_secret_does_not_block_updates_of_running_engines() -> None:
    assert set(ENGINES) - set(SPEC_FAULTS) == {"ModelConfigValid", "CredentialsPresent"}


def test_nodes_that_are_too_small_are_not_created() -> None:
    assert set(NODES) == {"LocalSSDSupported", "CPUTierFits"}


def test_engines_that_mount_lustre_also_need_all_prerequisites_of_engines() -> None:
    assert set(ENGINES) < set(ENGINES_ON_LUSTRE)
