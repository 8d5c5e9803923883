"""Quantities of others, in every spelling that the API server accepts: no pool and no operator stops at one."""

import random
from collections.abc import Iterator

from kvtier.api.quantities import canonical, parse
from testbed.fault_injection import CLAIM, FaultyCluster
from testbed.kube import ApiError, Kube, Object
from testbed.pools import OWNER_LABEL, Pools

VOLUME = ("v1", "PersistentVolume")
SPELLINGS = (
    "5.",
    ".5Gi",
    "+1Gi",
    "1.G",
    "9e12",
    "1E13",
    "1e13",
    "1.5e3",
    "1500m",
    "1n",
    "7Ei",
    "9Ei",
    "00.10Gi",
)
_DRAWN = 60


def test_a_persistent_volume_of_others_with_any_quantity_stops_nothing(faulty: FaultyCluster) -> None:
    pools = faulty.pools()
    for index, size in enumerate(SPELLINGS):
        faulty.kube.create(_volume(f"{pools.namespace}-{index}", size, pools.namespace))
    with faulty.operator() as process:
        pools.create("pool")
        faulty.until_ready(pools, "pool")
        process.require_alive()


def test_a_pvc_that_somebody_resized_with_an_exponent_is_reported_and_deleted(faulty: FaultyCluster) -> None:
    with faulty.operator() as process:
        pools = faulty.ready_pool(deletionPolicy="Delete")
        claim = pools.child(*CLAIM)["metadata"]["name"]
        more = {"spec": {"resources": {"requests": {"storage": "1e13"}}}}
        stored = faulty.kube.patch(*CLAIM, claim, more, pools.namespace)
        assert stored["spec"]["resources"]["requests"]["storage"] == "10e12"
        faulty.until(lambda: _capacity(pools) == canonical(10**13), "the status has the new size")
        pools.delete("pool")
        faulty.until(lambda: not faulty.kube.list("kvtier.dev/v1alpha1", "KVCachePool", pools.namespace))
        process.require_alive()


def _capacity(pools: Pools) -> str:
    tiers = pools.get("pool")["status"]["tiers"]
    return str(next(one["capacity"] for one in tiers if one["name"] == "lustre"))


def test_the_api_server_stores_the_same_size_that_kvtier_reads(faulty: FaultyCluster) -> None:
    stored = {text: found for text in (*SPELLINGS, *_drawn()) if (found := _stored(faulty.kube, text))}
    assert len(stored) > _DRAWN // 2
    assert {text: parse(found) for text, found in stored.items()} == {text: parse(text) for text in stored}


def _stored(kube: Kube, size: str) -> str | None:
    """A quantity as the API server would store it; None for one that it refuses."""
    volume, path = _volume("dry", size, "n"), kube.path(*VOLUME)
    try:
        created: Object = kube.request("POST", path, json=volume, params={"dryRun": "All"})
    except ApiError:
        return None
    return str(created["spec"]["capacity"]["storage"])


def _drawn() -> Iterator[str]:
    draw = random.Random(7)
    suffixes = [*"numkMGTPE", "", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "e5", "E-3", "e+9", "e14", "x", "ki"]
    for _ in range(_DRAWN):
        whole, part = draw.randint(0, 10 ** draw.randint(1, 6)), draw.choice(["", ".", ".5", ".0625", ".333"])
        yield f"{draw.choice(['', '', '+'])}{whole}{part}{draw.choice(suffixes)}"


def _volume(name: str, size: str, namespace: str) -> Object:
    return {
        "apiVersion": VOLUME[0],
        "kind": VOLUME[1],
        "metadata": {"name": name, "labels": {OWNER_LABEL: namespace}},
        "spec": {
            "capacity": {"storage": size},
            "accessModes": ["ReadWriteMany"],
            "csi": {"driver": "lustre.csi.storage.gke.io", "volumeHandle": f"theirs/us-central1-a/{name}"},
        },
    }
