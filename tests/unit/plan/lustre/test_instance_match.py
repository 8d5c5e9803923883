"""Whether an instance that exists is taken over."""

from typing import Any

from kvtier.api.v1alpha1 import LustreTier
from kvtier.plan.lustre.instance import mismatch
from unit.builders import pool
from unit.instances import KEY, api, dynamic
from unit.plan.lustre.tiers import made
from unit.tables import table

PLAIN, KEYED, DYNAMIC = pool(**api()), pool(**api(kmsKey=KEY)), pool(**dynamic())


def _mismatch(of: Any, **changes: Any) -> Any:
    lustre = of.spec.tiers.lustre
    assert isinstance(lustre, LustreTier)
    return mismatch(of, lustre, made(of, **changes))


@table(
    "of, changes",
    {
        "as it was made": (PLAIN, {}),
        "in the Dynamic tier": (DYNAMIC, {}),
        "grown by others": (PLAIN, {"gib": 27_000}),
        "with a version of the key": (KEYED, {"kms_key": f"{KEY}/cryptoKeyVersions/3"}),
        "with the project told by its number": (PLAIN, {"network": "projects/42/global/networks/default"}),
        "with the network in a longer form": (
            PLAIN,
            {"network": "https://compute/v1/projects/my-project/global/networks/default"},
        ),
    },
)
def test_taken_over(of: Any, changes: dict[str, Any]) -> None:
    assert _mismatch(of, **changes) is None


@table(
    "of, changes, words",
    {
        "another file system": (PLAIN, {"filesystem": "other"}, "filesystem is other, not kvnen3bu"),
        "another network": (
            PLAIN,
            {"network": "projects/my-project/global/networks/other"},
            "network is projects/my-project/global/networks/other",
        ),
        "the network of another project": (
            PLAIN,
            {"network": "projects/your-project/global/networks/default"},
            "network is projects/your-project",
        ),
        "no network": (PLAIN, {"network": ""}, "network is "),
        "another performance tier": (PLAIN, {"throughput": 500}, "throughputPerTiB is 500, not 1000"),
        "the Dynamic tier instead": (PLAIN, {"throughput": 0}, "is the Dynamic tier, not 1000"),
        "no Dynamic tier": (DYNAMIC, {"throughput": 250}, "is 250, not the Dynamic tier"),
        "no key": (KEYED, {"kms_key": ""}, f"kmsKey is none, not {KEY}"),
        "a key": (PLAIN, {"kms_key": KEY}, f"kmsKey is {KEY}, not none"),
    },
)
def test_another_one(of: Any, changes: dict[str, Any], words: str) -> None:
    found = _mismatch(of, **changes)
    assert (found.status, found.reason) == ("False", "InstanceMismatch")
    assert words in found.message


def test_another_s_is_left_alone_with_the_command_that_hands_it_over() -> None:
    found = _mismatch(PLAIN, labels={"kvtier-pool": "chat"}, filesystem="other")
    assert (found.status, found.reason) == ("False", "InstanceNotOurs")
    assert "gcloud lustre instances update team-a-chat-691bb0d1 --project=my-project" in found.message
    assert "--update-labels=kvtier-pool=chat,kvtier-pool-namespace=team-a,kvtier-cluster=" in found.message
