"""Paths that a user's volumes may be mounted at."""

import pytest
from pydantic import ValidationError

from kvtier.api.v1alpha1.pod_template import PodTemplate
from unit.tables import table


def _mounted(path: str) -> PodTemplate:
    return PodTemplate.model_validate({"volumeMounts": [{"name": "models", "mountPath": path}]})


@table(
    "path",
    {
        "a directory": "/models",
        "one below kvtier's, but for the tiers": "/home/vllm/.cache/huggingface",
        "one of temporary files": "/tmp/mine",
        "one that only begins like the tiers'": "/kv2",
        "a hidden one": "/.cache",
        "one with dots": "/a..b/..c",
        "spaces and unicode": "/my models/üñ",
    },
)
def test_is_free(path: str) -> None:
    assert _mounted(path).volume_mounts == [{"name": "models", "mountPath": path}]


@table(
    "path",
    {
        "the tiers' directory": "/kv",
        "one below it": "/kv/mine",
        "that of the CPU tier": "/dev/shm",
        "the home of the engine": "/home/vllm",
        "that of temporary files": "/tmp",
        "another spelling of it by a slash": "/tmp/",
        "by two": "//tmp",
        "by a dot": "/tmp/.",
        "by a dot before": "/./tmp",
        "by a way back": "/models/../tmp",
        "the root": "/",
        "a relative one": "models",
        "a colon, which Kubernetes refuses": "/a:b",
        "nothing": "",
    },
)
def test_is_refused(path: str) -> None:
    with pytest.raises(ValidationError):
        _mounted(path)
