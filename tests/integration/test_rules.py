"""What the API server refuses at create: what `kvtier render` refuses offline, and items of one name."""

from typing import Any

import pytest

from testbed.kube import ApiError
from testbed.pools import Pools
from unit.api.examples import ACCEPTED, REFUSED, Changes, Refused, written
from unit.tables import table


def _create(pools: Pools, changes: Changes) -> None:
    query: dict[str, Any] = {"fieldValidation": "Strict", "dryRun": "All"}
    path = pools.kube.path("kvtier.dev/v1alpha1", "KVCachePool", pools.namespace)
    pools.kube.request("POST", path, json=written(changes, pools.namespace), params=query)


@table("example", REFUSED)
def test_is_refused_by_the_api_server(pools: Pools, example: Refused) -> None:
    with pytest.raises(ApiError) as refusal:
        _create(pools, example.changes)
    assert refusal.value.code in (400, 422)
    assert example.words in str(refusal.value)


@table("changes", ACCEPTED)
def test_is_accepted_by_the_api_server(pools: Pools, changes: Changes) -> None:
    _create(pools, changes)
