"""What keeps something from being made."""

from kvtier.plan import gates
from kvtier.plan.gates import blockers
from unit.builders import checks
from unit.tables import table


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
    assert blockers(found, gates.STORAGE, strict) == ([found["CapacityValid"]] if blocks else [])


def test_only_the_prerequisites_that_are_asked_about_block() -> None:
    found = checks(CapacityValid="False", CredentialsPresent="False")
    assert [c.type for c in blockers(found, gates.ENGINES, False)] == ["CredentialsPresent"]
    assert [c.type for c in blockers(found, gates.STORAGE, False)] == ["CapacityValid"]
    assert blockers(found, gates.NODES, False) == []


def test_what_engines_would_not_start_with_keeps_them_from_starting() -> None:
    assert set(gates.SPEC_FAULTS) < set(gates.ENGINES)


def test_a_missing_document_or_secret_does_not_freeze_engines_that_run() -> None:
    assert set(gates.ENGINES) - set(gates.SPEC_FAULTS) == {"ModelConfigValid", "CredentialsPresent"}


def test_no_nodes_are_made_that_are_too_small() -> None:
    assert set(gates.NODES) == {"LocalSSDSupported", "CPUTierFits"}


def test_engines_that_mount_lustre_need_all_that_engines_need() -> None:
    assert set(gates.ENGINES) < set(gates.ENGINES_ON_LUSTRE)
