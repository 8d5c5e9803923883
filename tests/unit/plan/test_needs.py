"""The kinds that a pool depends on are at least those that its plan writes."""

from kvtier.api.kinds import CHILD_KINDS
from kvtier.plan.needs import needs
from kvtier.plan.offline import manifests
from unit.builders import deleted, pool
from unit.instances import existing


def test_everything_that_is_written_for_a_pool_is_needed() -> None:
    for one in (pool(), pool(tiers={"lustre": None}), pool(**existing())):
        assert {manifest["kind"] for manifest in manifests(one)} <= needs(one)


def test_a_pool_does_not_need_what_it_does_not_use() -> None:
    plain = pool(tiers={"lustre": None}, nodePool={"provisioner": "Existing"})
    assert needs(plain) == {"Node", "Deployment", "Service"}


def test_a_teardown_needs_every_kind_of_child() -> None:
    assert needs(deleted()) == {child.kind for child in CHILD_KINDS}
