"""All checks together."""

from kvtier.api import conditions
from kvtier.checks import run
from unit.builders import facts, node, pool


def test_every_prerequisite_has_one_condition_in_a_fixed_order() -> None:
    found = run(pool(), facts())
    assert list(found) == [
        conditions.GKE_VERSION_SUPPORTED,
        conditions.LUSTRE_DRIVER_ENABLED,
        conditions.NODE_IMAGE_SUPPORTED,
        conditions.ZONE_MATCHED,
        conditions.NETWORK_MATCHED,
        conditions.CAPACITY_VALID,
        conditions.LOCAL_SSD_SUPPORTED,
        conditions.CREDENTIALS_PRESENT,
    ]
    assert all(condition.type == type_ for type_, condition in found.items())


def test_a_pool_without_tiers_has_no_unmet_prerequisite_anywhere() -> None:
    bare = pool(tiers={"cpu": None, "lustre": None})
    odd = facts(node(bare, os_image="?", kubelet_version="?"), version="v1.2.3", lustre_driver=False)
    assert {condition.status for condition in run(bare, odd).values()} == {"True"}


def test_a_false_prerequisite_always_says_why() -> None:
    bad = facts(version="v1.30.0-gke.1", lustre_driver=False, secrets={"hf": frozenset()})
    unmet = [c for c in run(pool(), bad).values() if c.status != "True"]
    assert unmet
    assert all(len(condition.message) > 20 for condition in unmet)
