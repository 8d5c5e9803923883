"""Requests of Google's client, by default for one instance."""

from collections.abc import Callable
from typing import Any

import pytest
from google.api_core.exceptions import GoogleAPICallError
from google.cloud import lustre_v1

from testbed.lustre.client import google_instance, google_refusal

PROJECT, ZONE = "p", "us-central1-a"
PARENT = f"projects/{PROJECT}/locations/{ZONE}"
NAME = f"{PARENT}/instances/cache"
SECONDS = 5.0


def create(client: Any, wanted: Any = None, request_id: str = "", name: str = NAME) -> Any:
    """Request an instance, by default of the smallest size. Return the operation."""
    parent, _, instance_id = name.partition("/instances/")
    request = {"parent": parent, "instance_id": instance_id, "request_id": request_id}
    return client.create_instance({**request, "instance": wanted or google_instance()}, timeout=SECONDS)


def update(client: Any, *fields: str, request_id: str = "", **values: Any) -> Any:
    """Request an update of the fields, by default of those that have values. Return the operation."""
    wanted = lustre_v1.Instance(name=NAME, **values)
    mask = {"paths": list(fields or values)}
    request = {"instance": wanted, "update_mask": mask, "request_id": request_id}
    return client.update_instance(request, timeout=SECONDS)


def get(client: Any, name: str = NAME) -> Any:
    """The instance."""
    return client.get_instance(name=name, timeout=SECONDS)


def get_operation(client: Any, operation: Any) -> Any:
    """Read the operation."""
    return client.get_operation({"name": operation.operation.name}, timeout=SECONDS)


def done(operation: Any) -> Any:
    """Wait for an operation that ends at once, and return its result."""
    return operation.result(timeout=SECONDS)


def refused(call: Callable[[], Any]) -> tuple[int, str, str]:
    """Status, code and message with which a call is refused."""
    with pytest.raises(GoogleAPICallError) as caught:
        call()
    return (*google_refusal(caught.value), caught.value.message)
