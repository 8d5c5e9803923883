"""PersistentVolumes of the Lustre CSI driver as facts."""

from typing import Any

from kvtier.facts.volumes import Volume, Volumes, volume
from unit.builders import live, manifest, pool
from unit.instances import by_hand
from unit.tables import table

PV = live(manifest(pool(**by_hand()), "PersistentVolume"))
GIB = 1 << 30


def _volume(**changes: Any) -> Volume:
    found = volume(live(PV, **changes))
    assert found is not None
    return found


def test_a_persistent_volume_is_reduced_to_its_facts() -> None:
    found = _volume(status={"phase": "Failed", "message": "it has snapshots"})
    assert (found.address, found.filesystem, found.capacity) == ("10.0.0.4", "given", 18_000 * GIB)
    assert (found.phase, found.message, found.reclaim) == ("Failed", "it has snapshots", "Retain")
    assert found.claim == ("team-a", PV["spec"]["claimRef"]["name"])
    assert (found.claim_uid, found.storage_class, found.version) == ("", "", "10")


def test_persistent_volumes_of_other_drivers_are_ignored() -> None:
    assert volume(live(PV, spec={"csi": {"driver": "pd.csi.storage.gke.io"}})) is None


@table(
    "capacity, size",
    {
        "with an exponent": ({"storage": "10e12"}, 10**13),
        "with a fraction": ({"storage": "1.5Ti"}, 3 << 39),
        "of something else": ({"storage": None, "files": "1"}, 0),
        "missing": (None, 0),
    },
)
def test_the_capacity_of_a_persistent_volume(capacity: Any, size: int) -> None:
    assert _volume(spec={"capacity": capacity}).capacity == size


@table(
    "handle, name",
    {
        "of the driver": ("p/z/i", "projects/p/locations/z/instances/i"),
        "with a suffix": ("p/z/i:team-a", "projects/p/locations/z/instances/i"),
        "of a project in a domain": ("example.com:p/z/i", "projects/example.com:p/locations/z/instances/i"),
        "of something else": ("p/z/i/pool/container", ""),
        "with an empty part": ("p//i", ""),
        "with a space": ("p/z/i j", ""),
        "missing": ("", ""),
    },
)
def test_the_instance_of_a_persistent_volume(handle: str, name: str) -> None:
    assert _volume(spec={"csi": {"volumeHandle": handle}}).instance == name


def test_persistent_volumes_are_found_by_pvc_and_by_file_system() -> None:
    found = _volume()
    known = Volumes({found.name: found})
    assert found.claim is not None
    assert known.by_claim[found.claim] == known.by_filesystem["given"] == (found,)


def test_a_new_resource_version_alone_is_not_a_change() -> None:
    assert _volume(metadata={"resourceVersion": "11"}) == _volume()
