"""A pool with a bucket as the last tier, and the steps of its engine."""

import json
from pathlib import Path
from typing import Any

from engine import kubelet
from engine.kubelet import Started
from engine.object_storage.bucket import KEY_ID, NAME, Bucket
from engine.rendering import deployments
from engine.worker import Worker
from kvtier.api.v1alpha1 import KVCachePool
from unit.builders import model, pool

SECRET = {"AWS_ACCESS_KEY_ID": KEY_ID, "AWS_SECRET_ACCESS_KEY": "not-in-arguments"}
CONFIG = json.loads((Path(__file__).parents[1] / "models" / "small" / "config.json").read_text())
_TRANSFER = "--kv-transfer-config="


def pool_with(bucket: Bucket, version: str) -> KVCachePool:
    """A pool with a small model. kvtier chooses the size of its objects."""
    tier = {
        "bucket": NAME,
        "endpoint": bucket.endpoint,
        "scheme": "http",
        "region": "auto",
        "credentialsSecretRef": {"name": "hmac"},
    }
    served = model(
        tensorParallelSize=1,
        engine={"version": version},
        modelConfigFrom={"inline": json.dumps(CONFIG)},
    )
    return pool(tiers={"lustre": None, "objectStorage": tier}, models=[served])


def started(bucket: Bucket, version: str) -> Started:
    """The container that the container runtime starts."""
    ((_, deployment),) = deployments(pool_with(bucket, version))
    return kubelet.started(deployment, SECRET)


def transfer(rendered: Started) -> Any:
    """The value of --kv-transfer-config."""
    (given,) = [one for one in rendered.arguments if one.startswith(_TRANSFER)]
    return json.loads(given.removeprefix(_TRANSFER))


def run(engine: Worker, bucket: Bucket, *steps: str, **changed: str | None) -> dict[str, Any]:
    """The steps (inside/objects.py) with the rendered configuration and variables, and those in `changed`."""
    rendered = started(bucket, engine.version)
    variables = {name: value for name, value in (rendered.variables | changed).items() if value is not None}
    found: dict[str, Any] = engine.ask(
        "objects.answer", variables, config=CONFIG, transfer=transfer(rendered), steps=list(steps)
    )
    return found
