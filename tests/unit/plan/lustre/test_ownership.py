"""An instance belongs to the cluster and the pool whose uids its labels have; what happens to any other one."""

from dataclasses import replace
from typing import Any

import pytest

from kvtier.api.conditions import STORAGE_READY
from kvtier.api.v1alpha1 import KVCachePool
from kvtier.context import Context
from kvtier.facts.model import Instance, LustreFacts, OwnCluster
from kvtier.facts.volumes import Volumes
from kvtier.plan.lustre.api_instance import plan_instance
from kvtier.plan.lustre.instance import InstanceView
from kvtier.plan.lustre.ownership import Owner, label_value, owner
from unit.builders import OWN_CLUSTER, checks, context, facts, live, manifest, pool
from unit.instances import CLUSTER, api
from unit.simulation import Simulation, in_use, made
from unit.tables import table

PLAIN = pool(**api())
INSTANCE = made(PLAIN)
NAME = INSTANCE.name
UNREADABLE = OwnCluster(error="Namespace kube-system could not be read: forbidden.")
UIDS = ("kvtier-pool-uid", "kvtier-cluster-uid")
UNMARKED = {key: value for key, value in INSTANCE.labels.items() if key not in UIDS}
ELSEWHERE = {**INSTANCE.labels, "kvtier-cluster-uid": "other-cluster", "kvtier-pool-uid": "other-pool"}
EARLIER = {**INSTANCE.labels, "kvtier-pool-uid": "earlier-pool"}
ADOPTS: dict[str, Any] = {"metadata": {"annotations": {"kvtier.dev/adopt-instance": NAME}}}


def _labelled(labels: dict[str, str]) -> Instance:
    return replace(INSTANCE, labels=labels)


@table(
    "labels, cluster, expected",
    {
        "both uids": (INSTANCE.labels, OWN_CLUSTER, Owner.THIS_POOL),
        "a cluster that was renamed": (
            {**INSTANCE.labels, "kvtier-cluster": "renamed"},
            OWN_CLUSTER,
            Owner.THIS_POOL,
        ),
        "the uid of the pool, in an unknown cluster": (INSTANCE.labels, UNREADABLE, Owner.THIS_POOL),
        "another uid of the pool": (EARLIER, OWN_CLUSTER, Owner.EARLIER_POOL),
        "another uid of the pool, in an unknown cluster": (EARLIER, UNREADABLE, Owner.UNKNOWN),
        "another cluster": (ELSEWHERE, OWN_CLUSTER, Owner.OTHER_CLUSTER),
        "no uids": (UNMARKED, OWN_CLUSTER, Owner.NAMED_ONLY),
        "no uids, in another cluster": ({**UNMARKED, "kvtier-cluster": "other"}, OWN_CLUSTER, Owner.OTHERS),
        "another pool": ({**INSTANCE.labels, "kvtier-pool": "other"}, OWN_CLUSTER, Owner.OTHERS),
        "another namespace": (
            {**INSTANCE.labels, "kvtier-pool-namespace": "team-b"},
            OWN_CLUSTER,
            Owner.OTHERS,
        ),
        "nobody": ({}, OWN_CLUSTER, Owner.OTHERS),
    },
)
def test_the_labels_of_an_instance_name(labels: dict[str, str], cluster: OwnCluster, expected: Owner) -> None:
    assert owner(PLAIN, cluster, _labelled(labels)) is expected


def _context(of: KVCachePool, *children: Any, instance: Instance | None, cluster: OwnCluster) -> Context:
    world = replace(facts(), own_cluster=cluster, lustre=LustreFacts(instance), volumes=Volumes())
    return context(of, *children, facts=world)


def _view(look: Context) -> InstanceView:
    assert look.lustre.spec is not None
    return plan_instance(look, look.lustre.spec, checks(), blocked=False)


def _seen(
    of: KVCachePool,
    labels: dict[str, str],
    *children: Any,
    cluster: OwnCluster = OWN_CLUSTER,
    granted: bool = False,
) -> InstanceView:
    """What a pool does with an instance that has these labels."""
    look = _context(of, *children, instance=_labelled(labels), cluster=cluster)
    return _view(replace(look, lustre=replace(look.lustre, adoption_granted=granted)))


def _volume() -> Any:
    """The PersistentVolume that kvtier created for the instance."""
    return live(manifest(PLAIN, "PersistentVolume"))


@table(
    "changes, labels, children, granted",
    {
        "a pool that was restored from a backup": ({}, EARLIER, [], False),
        "an instance of an earlier version, by its PersistentVolume": ({}, UNMARKED, [_volume()], False),
        "an instance of another cluster, with a grant": (ADOPTS, ELSEWHERE, [], True),
    },
)
def test_an_instance_is_taken_over_by_its_labels(
    changes: dict[str, Any], labels: dict[str, str], children: list[Any], granted: bool
) -> None:
    view = _seen(pool(**api(), **changes), labels, *children, granted=granted)
    assert view.problem is None
    assert view.source is not None
    (call,) = view.part.calls
    assert (call.verb, call.body) == ("update", {"labels": INSTANCE.labels})
    events = [(event.type, event.reason) for event in view.part.events]
    assert events == ([] if labels is UNMARKED else [("Normal", "InstanceTakenOver")])


def test_the_event_names_from_whom_the_instance_was_taken_over() -> None:
    (event,) = _seen(PLAIN, EARLIER).part.events
    assert event.message == (
        f"kvtier takes over Lustre instance {NAME} from an earlier pool of the same namespace and name in this "
        "cluster, and updates its labels."
    )
    (event,) = _seen(pool(**api(), **ADOPTS), ELSEWHERE, granted=True).part.events
    assert f"from cluster {ELSEWHERE['kvtier-cluster']} with uid other-cluster," in event.message


@table(
    "changes, labels, granted, words",
    {
        "of another cluster": ({}, ELSEWHERE, False, "belongs to pool team-a/chat of cluster"),
        "of another cluster, without a grant": (ADOPTS, ELSEWHERE, False, "with uid other-cluster."),
        "of another cluster, without an annotation": ({}, ELSEWHERE, True, "kvtier.dev/adopt-instance="),
        "of another cluster, with an annotation for another one": (
            {"metadata": {"annotations": {"kvtier.dev/adopt-instance": f"{NAME}x"}}},
            ELSEWHERE,
            True,
            "kvtier.dev/adopt-instance=",
        ),
        "of an earlier version that no PersistentVolume is for": (
            {},
            UNMARKED,
            False,
            "do not name this pool",
        ),
        "of somebody else": (ADOPTS, {"kvtier-pool": "chat"}, True, "do not name this pool"),
    },
)
def test_an_instance_is_not_used(
    changes: dict[str, Any], labels: dict[str, str], granted: bool, words: str
) -> None:
    view = _seen(pool(**api(), **changes), labels, granted=granted)
    assert view.problem is not None
    assert (view.problem.condition.status, view.problem.condition.reason) == ("False", "InstanceNotOurs")
    assert words in view.problem.condition.message
    assert (view.source, view.part.calls, view.part.events) == (None, (), ())


def test_the_command_to_label_an_instance_names_all_labels() -> None:
    view = _seen(PLAIN, {})
    assert view.problem is not None
    message = view.problem.condition.message
    assert "gcloud lustre instances update team-a-chat-691bb0d1 --project=my-project" in message
    assert "--update-labels=kvtier-pool=chat,kvtier-pool-namespace=team-a,kvtier-cluster=" in message
    assert message.endswith("kvtier-cluster-uid=cluster-uid,kvtier-pool-uid=pool-uid")


def test_no_instance_is_created_while_the_cluster_is_unknown() -> None:
    view = _view(_context(PLAIN, instance=None, cluster=UNREADABLE))
    assert view.problem is not None
    assert (view.problem.condition.reason, view.part.calls) == ("ClusterUnknown", ())
    assert view.problem.condition.message == (
        "kvtier creates no Lustre instance while it cannot label it for this cluster. Namespace kube-system could not "
        "be read: forbidden."
    )


def test_a_pool_keeps_serving_while_the_cluster_is_unknown() -> None:
    simulation = in_use(PLAIN)
    simulation.facts = replace(simulation.facts, own_cluster=UNREADABLE)
    simulation.at()
    assert (simulation.verdict("Ready"), simulation.verdict(STORAGE_READY)) == (
        ("True", "AllReady"),
        ("True", "Bound"),
    )


def test_a_restored_pool_does_not_use_an_instance_while_the_cluster_is_unknown() -> None:
    view = _seen(PLAIN, EARLIER, cluster=UNREADABLE)
    assert view.problem is not None
    assert (view.problem.condition.status, view.problem.condition.reason) == ("Unknown", "ClusterUnknown")


@table(
    "labels, cluster, deleted, words",
    {
        "its own": (INSTANCE.labels, OWN_CLUSTER, True, ""),
        "of another cluster": (ELSEWHERE, OWN_CLUSTER, False, "are not those of this pool"),
        "of an earlier pool": (EARLIER, OWN_CLUSTER, False, "are not those of this pool"),
        "without uids": (UNMARKED, OWN_CLUSTER, False, "are not those of this pool"),
        "its own, in an unknown cluster": (INSTANCE.labels, UNREADABLE, False, "unknown whether instance"),
    },
)
def test_only_an_instance_with_both_uids_is_deleted(
    labels: dict[str, str], cluster: OwnCluster, deleted: bool, words: str
) -> None:
    simulation = Simulation(pool(**api(), deletionPolicy="Delete"), _labelled(labels))
    simulation.facts = replace(simulation.facts, own_cluster=cluster)
    simulation.delete()
    done = simulation.at()
    assert simulation.verbs() == (["delete"] if deleted else [])
    told = [event.message for event in done.events]
    told += [done.status.conditions[0].message] if done.status else []
    assert words in " ".join(told)


def test_two_clusters_with_the_same_pool_label_their_instances_differently() -> None:
    mine, theirs = made(PLAIN).labels, made(pool(**api(), metadata={"uid": "other"})).labels
    assert mine != theirs
    renamed = pool(**{**api(), "cluster": CLUSTER | {"name": "staging"}})
    assert owner(renamed, OWN_CLUSTER, INSTANCE) is Owner.THIS_POOL


@pytest.mark.parametrize("text", ["chat", "a" * 63, "a_b-c", "kv.cache", "Chat", "a" * 64, ""])
def test_labels_are_valid_for_google(text: str) -> None:
    value = label_value(text)
    assert len(value) <= 63
    assert not set(value) - set("abcdefghijklmnopqrstuvwxyz0123456789_-")
