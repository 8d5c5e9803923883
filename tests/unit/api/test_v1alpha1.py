"""What follows from the fields of a pool."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from kvtier.api.v1alpha1 import ServedModel
from kvtier.api.v1alpha1.engine import Engine
from kvtier.api.v1alpha1.tiers import CloudStorageTier
from kvtier.plan.lustre.cloud_storage import next_time, schedule_problem
from unit.builders import NOW, model
from unit.tables import table


@table(
    "image, version",
    {
        "a release": ("vllm/vllm-openai:v0.33.0", "0.33"),
        "a release without v": ("vllm/vllm-openai:0.33.1", "0.33"),
        "a minor version": ("mirror.example:5000/vllm:0.33", "0.33"),
        "a version with more digits is another version": ("vllm/vllm-openai:v0.331", "0.331"),
        "the previous release": ("vllm/vllm-openai:v0.32.0", "0.32"),
        "a release that kvtier does not know": ("vllm/vllm-openai:v0.34.1", "0.34"),
        "a post-release": ("vllm/vllm-openai:v0.33.0.post1", "0.33"),
        "a release candidate, which is another version": ("vllm/vllm-openai:v0.33.0rc2", "0.33.0rc2"),
        "a development version": ("mirror.example:5000/vllm:0.34.0.dev12", "0.34.0.dev12"),
        "an unknown suffix": ("vllm/vllm-openai:v0.33.0-patched", None),
        "a date": ("example/vllm:2026-11-29", None),
        "numbers that are too long": ("example/vllm:20261129.1", None),
        "another character instead of the dot": ("vllm/vllm-openai:v0x33", None),
        "latest has no version": ("vllm/vllm-openai:latest", None),
        "a digest has no version": ("vllm/vllm-openai@sha256:" + "0" * 64, None),
        "a port is not a tag": ("mirror.example:5000/vllm", None),
    },
)
def test_the_version_is_read_from_the_image_tag(image: str, version: str | None) -> None:
    if version is None:
        with pytest.raises(ValidationError, match="is required unless the image tag"):
            Engine.model_validate({"image": image})
    else:
        assert Engine.model_validate({"image": image}).release() == version
    assert Engine.model_validate({"image": image, "version": "v0.35.2"}).release() == "0.35", "explicit wins"


@table(
    "changes, replicas",
    {
        "one Pod by default": ({}, 1),
        "the number in replicas": ({"replicas": 3}, 3),
        "no Pods with replicas 0": ({"replicas": 0}, 0),
        "the number that the autoscaler sets": ({"autoscaling": {}}, None),
    },
)
def test_wanted_replicas(changes: dict[str, object], replicas: int | None) -> None:
    assert ServedModel.model_validate(model(**changes)).wanted_replicas() == replicas


def _field(low: int, high: int, names: str = "") -> st.SearchStrategy[str]:
    """One field of a cron expression: values, ranges and steps."""
    value = st.integers(low, high)
    several = st.tuples(value, value).map(lambda pair: f"{min(pair)}-{max(pair)}")
    some = st.one_of(
        st.just("*"), value.map(str), several, *([st.sampled_from(names.split())] if names else [])
    )
    stepped = st.tuples(some, st.integers(1, 59)).map(lambda pair: f"{pair[0]}/{pair[1]}")
    return st.lists(st.one_of(some, stepped), min_size=1, max_size=3).map(",".join)


FIELDS = (
    _field(0, 59),
    _field(0, 23),
    _field(1, 28),
    _field(1, 12, "JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC"),
    _field(0, 7, "SUN MON TUE WED THU FRI SAT"),
)


@given(st.tuples(*FIELDS).map(" ".join).filter(lambda text: len(text) <= 64))
def test_an_accepted_schedule_can_be_parsed(schedule: str) -> None:
    tier = CloudStorageTier.model_validate({"uri": "gs://bucket/chat/", "exportSchedule": schedule})
    assert tier.export_schedule == schedule
    assert schedule_problem(schedule, NOW) == ""
    assert next_time(schedule, NOW) > NOW
