"""The StorageClass and the claim of the shared tier."""

from typing import Any

import pytest

from kvtier.api.v1alpha1 import KVCachePool
from kvtier.plan.model import Part
from unit.builders import claim, observed, pool, requesting
from unit.plan.lustre.csi import CLASS, POOL, of_size, planned, request
from unit.tables import table


def test_a_pool_without_lustre_has_no_storage_and_nothing_to_say_about_it() -> None:
    assert planned(pool(tiers={"lustre": None}), observed(CLASS, claim(POOL))) == Part()


def test_the_class_comes_before_the_claim_that_names_it() -> None:
    part = planned(POOL, observed())
    assert [one["kind"] for one in part.applies] == ["StorageClass", "PersistentVolumeClaim"]
    assert part.applies[1]["spec"]["storageClassName"] == part.applies[0]["metadata"]["name"]


FAILED_SPEC = {"storageClassName": "another-class"}

STATES: dict[str, tuple[KVCachePool, Any, tuple[str, str, str], tuple[str, str | None], str | None]] = {
    "a claim that is not there is made": (
        POOL,
        None,
        ("False", "Creating", "the claim is being made"),
        ("Waiting", None),
        "18000Gi",
    ),
    "a claim that waits for its instance says how to watch it": (
        POOL,
        claim(POOL, "Pending"),
        ("False", "Provisioning", "waits for its Lustre instance of 18000Gi; 10 to 30 minutes are normal"),
        ("Provisioning", None),
        "18000Gi",
    ),
    "a claim without a phase yet waits too": (
        POOL,
        claim(POOL, "Pending", status=None),
        ("False", "Provisioning", "kubectl -n team-a describe pvc"),
        ("Provisioning", None),
        "18000Gi",
    ),
    "another capacity waits until a claim is bound, because Kubernetes refuses it before": (
        of_size("27000Gi"),
        claim(POOL, "Pending"),
        ("False", "Provisioning", "18000Gi"),
        ("Provisioning", None),
        "18000Gi",
    ),
    "a bound claim is ready": (
        POOL,
        claim(POOL),
        ("True", "Bound", "is bound to 18000Gi"),
        ("Bound", "18000Gi"),
        "18000Gi",
    ),
    "a larger capacity is asked for, and Pods go on": (
        of_size("27000Gi"),
        claim(POOL),
        (
            "True",
            "Resizing",
            "is bound to 18000Gi and grows to 27000Gi, which may take 90 minutes; Pods go on",
        ),
        ("Resizing", "18000Gi"),
        "27000Gi",
    ),
    "a claim that grows already is left to grow": (
        of_size("27000Gi"),
        claim(POOL, spec=requesting("27000Gi")),
        ("True", "Resizing", "grows to 27000Gi"),
        ("Resizing", "18000Gi"),
        "27000Gi",
    ),
    "a growth that is taken back stays asked for, because it cannot be taken back": (
        POOL,
        claim(POOL, spec=requesting("27000Gi")),
        ("True", "GrowthAbandoned", "is bound to 18000Gi; it still asks for 27000Gi"),
        ("Bound", "18000Gi"),
        "27000Gi",
    ),
    "a growth that is taken back in part is asked for anew": (
        of_size("27000Gi"),
        claim(POOL, spec=requesting("36000Gi")),
        ("True", "Resizing", "grows to 27000Gi"),
        ("Resizing", "18000Gi"),
        "27000Gi",
    ),
    "a smaller capacity is never asked for": (
        of_size("9000Gi"),
        claim(POOL),
        ("True", "Bound", "is bound to 18000Gi"),
        ("Bound", "18000Gi"),
        "18000Gi",
    ),
    "an instance that came out larger keeps its request": (
        POOL,
        claim(POOL, capacity="18432Gi"),
        ("True", "Bound", "is bound to 18432Gi"),
        ("Bound", "18432Gi"),
        "18000Gi",
    ),
    "a claim whose volume is gone says so": (
        POOL,
        claim(POOL, "Lost"),
        ("False", "VolumeLost", "is gone: restore it or delete the claim"),
        ("Failed", None),
        "18000Gi",
    ),
    "a claim that somebody deletes says so": (
        POOL,
        claim(POOL, metadata={"deletionTimestamp": "2026-11-29T12:00:00Z"}),
        ("False", "ClaimDeleted", "goes when no Pod uses it any more"),
        ("Bound", "18000Gi"),
        None,
    ),
    "a claim of another class is not touched": (
        POOL,
        claim(POOL, spec=FAILED_SPEC),
        ("False", "ClaimMismatch", "was made for StorageClass another-class, the spec describes"),
        ("Failed", "18000Gi"),
        None,
    ),
}


@table("of, found, condition, tier, size", STATES)
def test_claim(
    of: KVCachePool,
    found: Any,
    condition: tuple[str, str, str],
    tier: tuple[str, str | None],
    size: str | None,
) -> None:
    part = planned(of, observed(CLASS, *([found] if found else [])))
    (said,), (state,) = part.conditions, part.tiers
    assert (said.type, said.status, said.reason) == ("StorageReady", *condition[:2])
    assert condition[2] in said.message
    assert (state.name, state.phase, state.capacity) == ("lustre", *tier)
    assert request(part) == size


@pytest.mark.parametrize("size", ["18000Gi", f"{18000 * 1024}Mi", str(18000 * 2**30)])
def test_the_same_size_in_another_unit_is_the_same_size(size: str) -> None:
    part = planned(POOL, observed(CLASS, claim(POOL, capacity=size, spec=requesting(size))))
    assert part.conditions[0].reason == "Bound"
    assert request(part) == "18000Gi"
