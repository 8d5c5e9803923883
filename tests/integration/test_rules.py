"""What the API server refuses at create: what `kvtier render` refuses offline."""

from typing import Any

import pytest

from testbed.kube import ApiError, Kube
from testbed.pools import API
from unit.api.examples import ACCEPTED, REFUSED, Changes, Refused, written
from unit.tables import table


def _create(kube: Kube, changes: Changes) -> None:
    query: dict[str, Any] = {"fieldValidation": "Strict", "dryRun": "All"}
    kube.request("POST", kube.path(*API, "default"), json=written(changes, "default"), params=query)


@table("example", REFUSED)
def test_is_refused_by_the_api_server(kube: Kube, example: Refused) -> None:
    with pytest.raises(ApiError) as refusal:
        _create(kube, example.changes)
    assert refusal.value.code in (400, 422)
    assert example.words in str(refusal.value)


@table("changes", ACCEPTED)
def test_is_accepted_by_the_api_server(kube: Kube, changes: Changes) -> None:
    _create(kube, changes)
