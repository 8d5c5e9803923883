"""Which fields a CRD in a cluster lacks."""

from copy import deepcopy
from typing import Any

from kvtier.api.crd import missing_fields, schema
from kvtier.control.older_crd import older, without


def served(**removed: str) -> Any:
    """The schema of this version without one property of spec, status or both, by dotted path."""
    document = deepcopy(schema())
    for part, path in removed.items():
        *above, last = path.split(".")
        node = document["properties"][part]
        for step in above:
            node = node["items"] if step == "[]" else node["properties"][step]
        del node["properties"][last]
    return document


def test_the_crd_of_this_version_lacks_nothing() -> None:
    assert missing_fields(schema()) == []


def test_a_field_that_an_older_crd_lacks_is_found_in_lists_too() -> None:
    served_before = served(spec="models.[].revision", status="operations.[].requestID")
    assert missing_fields(served_before) == ["spec.models[].revision", "status.operations[].requestID"]


def test_a_newer_or_free_form_schema_lacks_nothing() -> None:
    newer = served()
    newer["properties"]["spec"]["properties"]["newer"] = {"type": "string"}
    newer["properties"]["status"] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    assert missing_fields(newer) == []


def test_only_the_first_missing_fields_are_named() -> None:
    found = older([f"status.f{index}" for index in range(7)]).message
    assert (
        "It lacks status.f0, status.f1, status.f2, status.f3, status.f4 and 2 more. Pools lose these fields. "
        in found
    )


def test_a_status_is_written_without_the_fields_that_the_crd_lacks() -> None:
    transfer = {"objectsFound": 1, "bytesFound": 2}
    status = {"phase": "Ready", "operations": [{"kind": "Import", "transfer": transfer}, {"kind": "Export"}]}
    lacking = ["modelsReady", "phase", "operations[].transfer.bytesFound", "tiers[].name"]
    kept = {"kind": "Import", "transfer": {"objectsFound": 1}}
    assert without(status, lacking) == {"operations": [kept, {"kind": "Export"}]}
