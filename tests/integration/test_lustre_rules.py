"""The rules of the shared tier: API server and offline commands refuse the same with the same words."""

from typing import Any

import pytest

from integration.test_rules import offline
from testbed.kube import ApiError
from testbed.pools import Pools
from unit.builders import document, joined
from unit.instances import CLUSTER, KEY, NAME, POLICY, api, by_hand, dynamic, existing
from unit.tables import table

WINDOW = {"day": "Sunday", "hour": 3}
SQUASH = {
    "defaultSquash": "RootSquash",
    "squashUID": 1000,
    "exceptions": [{"name": "admins", "addressRanges": ["10.0.0.0/24", "10.0.1.7"]}],
}


def _lustre(**changes: Any) -> dict[str, Any]:
    return {"tiers": {"lustre": changes}}


def _copied(base: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return joined(base, {"tiers": {"cloudStorage": {"uri": "gs://bucket/chat/", **changes}}})


NAMED = {"cluster": CLUSTER}


@table(
    "changes, says",
    {
        "a claim without a capacity": (_lustre(capacity=None), "capacity is required with provisioner CSI"),
        "a claim without a tier": (_lustre(throughputPerTiB=None), "throughputPerTiB is required"),
        "a claim without a zone": (_lustre(zone=None), "zone is required"),
        "a claim without a network": (_lustre(network=None), "network is required"),
        "a claim of an instance": (
            _lustre(instance=NAME),
            "can only be set with provisioner Existing: the others make an instance of their own",
        ),
        "a claim with an address": (_lustre(address="10.0.0.4"), "can only be set with provisioner Existing"),
        "a claim in the Dynamic tier": (
            _lustre(dynamicTier="DefaultCache"),
            "can only be set with provisioner API: the Lustre CSI driver has no parameter for them",
        ),
        "a claim with a key": (_lustre(kmsKey=KEY), "can only be set with provisioner API"),
        "a claim with a placement": (_lustre(placementPolicy=POLICY), "can only be set with provisioner API"),
        "a claim with squashing": (_lustre(accessRules=SQUASH), "can only be set with provisioner API"),
        "a claim with a window": (_lustre(maintenanceWindow=WINDOW), "can only be set with provisioner API"),
        "an unknown provisioner": (_lustre(provisioner="Terraform"), "provisioner"),
        "an API instance in no project": (
            joined(api(), {"cluster": None}),
            "lustre.provisioner API needs cluster: it says in which project the instance is made",
        ),
        "an API instance without a zone": (api(zone=None), "zone is required with provisioner CSI and API"),
        "an API instance of no tier": (
            api(throughputPerTiB=None),
            "provisioner API needs either throughputPerTiB or dynamicTier",
        ),
        "an API instance of both tiers": (dynamic(throughputPerTiB=125), "needs either throughputPerTiB or"),
        "an API instance with a name": (api(instance=NAME), "can only be set with provisioner Existing"),
        "an unknown Dynamic tier": (dynamic(dynamicTier="Large"), "dynamicTier"),
        "a Dynamic tier that is too small": (dynamic(capacity="9000Gi"), "capacity"),
        "a Dynamic tier between two steps": (dynamic(capacity="480000Gi"), "in the Dynamic tier"),
        "a Dynamic tier that is too large": (dynamic(capacity="84488000Gi"), "84016000Gi"),
        "a key of another region": (
            api(kmsKey=KEY.replace("central1", "east1")),
            "kmsKey must be in the region of the instance",
        ),
        "a key without its project": (api(kmsKey=KEY.partition("/locations")[2]), "kmsKey"),
        "a placement that is none": (api(placementPolicy="near"), "placementPolicy"),
        "squashing of nobody": (
            api(accessRules={"defaultSquash": "NoSquash", "squashGID": 1}),
            "squashUID, squashGID and exceptions need defaultSquash RootSquash",
        ),
        "exceptions of nothing": (
            api(accessRules={**SQUASH, "squashUID": None, "defaultSquash": "NoSquash"}),
            "squashUID, squashGID and exceptions need defaultSquash RootSquash",
        ),
        "squashing to root": (api(accessRules={**SQUASH, "squashUID": 0}), "squashUID"),
        "an exception for no address": (
            api(accessRules={**SQUASH, "exceptions": [{"name": "a", "addressRanges": ["10.0.0.256"]}]}),
            "addressRanges",
        ),
        "an exception with a long name": (
            api(accessRules={**SQUASH, "exceptions": [{"name": "a" * 17, "addressRanges": ["10.0.0.2"]}]}),
            "name",
        ),
        "a window on no day": (api(maintenanceWindow={"day": "Caturday", "hour": 1}), "day"),
        "a window at no hour": (api(maintenanceWindow={"day": "Sunday", "hour": 24}), "hour"),
        "no existing instance": (existing(instance=None), "instance is required with provisioner Existing"),
        "an existing instance in short form": (existing(instance="shared"), "instance"),
        "an existing instance in a region": (
            existing(instance=NAME.replace("us-central1-a", "us-central1")),
            "instance",
        ),
        **{
            f"an existing instance with its own {name}": (
                existing(**{name: value}),
                "cannot be set with provisioner Existing: the instance has them",
            )
            for name, value in {
                "throughputPerTiB": 1000,
                "zone": "us-central1-a",
                "network": "projects/p1/global/networks/n",
            }.items()
        },
        "an existing instance in the Dynamic tier": (
            existing(dynamicTier="DefaultCache"),
            "can only be set with provisioner API",
        ),
        **{
            f"by hand all but {name}": (
                by_hand(**{name: None}),
                "of an existing instance are given together or not at all",
            )
            for name in ("address", "filesystem", "capacity")
        },
        "by hand an address that is none": (by_hand(address="10.0.0.400"), "address"),
        "by hand a capacity in Ti": (by_hand(capacity="18Ti"), "written in Gi"),
        "copies without a shared tier": (
            joined(_copied(NAMED), {"tiers": {"lustre": None}}),
            "cloudStorage needs the lustre tier",
        ),
        "copies in no project": (_copied({}), "cloudStorage needs cluster, or an existing instance"),
        "copies from a directory without a slash": (_copied(NAMED, uri="gs://bucket/chat"), "uri"),
        "copies from elsewhere": (_copied(NAMED, uri="s3://bucket/chat/"), "uri"),
        **{
            f"copies at {schedule!r}": (
                _copied(NAMED, exportSchedule=schedule),
                "exportSchedule must be a cron expression of five fields, minute, hour, day, month and weekday",
            )
            for schedule in ("", "@daily", "0 3 * *", "0 24 * * *", "0 3 * * 8", "0 0 3 * * *", "0 3 * * sun")
        },
        "going around maintenance of what is required": (
            _lustre(maintenance="Bypass"),
            "lustre.maintenance Bypass needs mode Opportunistic: engines of a Required pool cannot run without",
        ),
    },
)
def test_is_refused_with_the_same_words(pools: Pools, changes: dict[str, Any], says: str) -> None:
    pool = _pool(changes, pools.namespace)
    with pytest.raises(ApiError) as refusal:
        _create(pools, pool)
    assert refusal.value.code == 422
    assert says in str(refusal.value)
    assert says in offline(pool)


@table(
    "changes",
    {
        "an instance made through the API": api(),
        "with all that only the API can do": api(
            kmsKey=KEY,
            placementPolicy=POLICY,
            accessRules=SQUASH,
            maintenanceWindow=WINDOW,
            filesystem="mine",
        ),
        "the Dynamic tier": dynamic(),
        "the largest Dynamic tier": dynamic(capacity="84016000Gi"),
        "an existing instance": existing(),
        "an existing instance by hand": by_hand(),
        "an existing instance of a size that no tier has": by_hand(capacity="18432Gi"),
        "copies of a claim": _copied(NAMED),
        "copies at times": _copied(
            NAMED, exportSchedule="*/15 0-6,22 1,15 JAN-MAR MON", importOnCreate=False
        ),
        "copies of the whole bucket": _copied(NAMED, uri="gs://bucket/"),
        "copies of an existing instance": _copied(existing()),
        "going around maintenance": {"mode": "Opportunistic", **_lustre(maintenance="Bypass")},
        "handing over the top directory": _lustre(prepareAsRoot=True),
    },
)
def test_is_accepted_by_both(pools: Pools, changes: dict[str, Any]) -> None:
    pool = _pool(changes, pools.namespace)
    _create(pools, pool)
    assert offline(pool) == ""


def _pool(changes: dict[str, Any], namespace: str) -> dict[str, Any]:
    metadata = {"name": "ruled", "namespace": namespace, "uid": None, "generation": None}
    return document(**changes, metadata=metadata)


def _create(pools: Pools, pool: dict[str, Any]) -> None:
    query = {"fieldValidation": "Strict", "dryRun": "All"}
    path = pools.kube.path("kvtier.dev/v1alpha1", "KVCachePool", pools.namespace)
    pools.kube.request("POST", path, json=pool, params=query)
