"""What `kvtier render` prints of a pool, and what it says about the rest."""

from typing import Any

from kvtier.plan.offline import printed
from unit import instances
from unit.builders import model, pool
from unit.tables import table


@table(
    "changes, kinds, said",
    {
        "all of what the CSI driver makes": ({}, ["StorageClass", "PersistentVolumeClaim"], []),
        "nothing of a tier that is not there": ({"tiers": {"lustre": None}}, [], []),
        "all of an existing instance that is given by hand": (
            instances.by_hand(),
            ["PersistentVolume", "PersistentVolumeClaim"],
            [],
        ),
        "no volume of an instance that is yet to be made": (
            instances.api(),
            ["PersistentVolumeClaim"],
            ["kvtier asks the Lustre API for instance", "the instance's address is known once it is made"],
        ),
        "nothing of an existing instance that only the API knows": (
            instances.existing(),
            [],
            [f"{instances.NAME} are read through the Lustre API, unless"],
        ),
    },
)
def test_storage(changes: dict[str, Any], kinds: list[str], said: list[str]) -> None:
    found = printed(pool(**changes))
    storage = [one["kind"] for one in found.manifests if one["kind"] not in _OTHERS]
    assert storage == kinds
    assert len(found.left_out) == len(said)
    assert all(part in sentence for part, sentence in zip(said, found.left_out, strict=True))


@table(
    "changes",
    {
        "made by kvtier": instances.api(),
        "of the Dynamic tier": instances.dynamic(),
        "existing": instances.existing(),
        "given by hand": instances.by_hand(),
    },
)
def test_nothing_is_made_up(changes: dict[str, Any]) -> None:
    text = repr(printed(pool(**changes)).manifests)
    assert "ADDRESS" not in text
    assert "FILESYSTEM" not in text


def test_engines_mount_the_claim_whether_it_is_printed_or_not() -> None:
    found = printed(pool(**instances.existing())).manifests
    (deployment,) = [one for one in found if one["kind"] == "Deployment"]
    assert "persistentVolumeClaim" in repr(deployment)


_OTHERS = ("ComputeClass", "Deployment", "Service")


@table(
    "changes, said",
    {
        "a ConfigMap that only the cluster has": (
            {"modelConfigFrom": {"configMapKeyRef": {"name": "configs"}}},
            1,
        ),
        "not where the number is given": (
            {"modelConfigFrom": {"configMapKeyRef": {"name": "configs"}}, "blocksPerChunk": 32},
            0,
        ),
        "not of a document at hand": ({"modelConfigFrom": {"inline": "{}"}}, 0),
    },
)
def test_what_is_not_read_is_told(changes: dict[str, Any], said: int) -> None:
    found = printed(pool(models=[model(**changes)])).left_out
    assert len(found) == said
    assert all("its ConfigMap is not read here" in sentence for sentence in found)
