"""Flags and images of the engine."""

from kvtier.api.v1alpha1 import ServedModel
from kvtier.api.v1alpha1.engine import MANAGED_FLAGS, managed_flag
from unit.builders import model, pool
from unit.tables import table


@table(
    "argument, flag",
    {
        "the flag itself": ("--kv-transfer-config", "--kv-transfer-config"),
        "underscores for dashes": ("--kv_transfer_config", "--kv-transfer-config"),
        "dashes and underscores mixed": ("--kv-transfer_config", "--kv-transfer-config"),
        "a value behind an equals sign": ("--kv-transfer-config={}", "--kv-transfer-config"),
        "underscores with a value": ("--kv_transfer_config={}", "--kv-transfer-config"),
        "one key of a JSON flag, its value apart": ("--kv-transfer-config.kv_role", "--kv-transfer-config"),
        "one key of a JSON flag with its value": (
            "--kv-transfer-config.kv_role=kv_both",
            "--kv-transfer-config",
        ),
        "one key and its value in one argument": ("--kv-transfer-config.a b", "--kv-transfer-config"),
        "an abbreviation": ("--kv-tr", "--kv-transfer-config"),
        "an abbreviation with underscores and value": ("--kv_tr={}", "--kv-transfer-config"),
        "a short flag": ("-tp", "-tp"),
        "a short flag with a value": ("-tp=8", "-tp"),
        "a negated flag": ("--no-enable-prefix-caching", "--no-enable-prefix-caching"),
    },
)
def test_a_managed_flag_is_known_in_every_spelling(argument: str, flag: str) -> None:
    assert managed_flag(argument) == flag


@table("flag", {f"{flag} is managed": flag for flag in MANAGED_FLAGS})
def test_every_flag_of_the_table_is_managed(flag: str) -> None:
    assert managed_flag(flag) is not None
    assert managed_flag(flag.replace("-", "_").replace("__", "--", 1)) is not None


def test_two_dashes_alone_are_refused_because_they_end_the_flags() -> None:
    assert managed_flag("--") is not None


@table(
    "argument",
    {
        "a flag that kvtier does not render": "--enforce-eager",
        "a longer flag that only begins like a managed one": "--model-impl",
        "another longer flag": "--max-model-length-hint",
        "a short flag of another meaning": "-q",
        "quantization, which the fingerprint takes in": "--quantization=fp8",
        "a value that holds a managed flag's name": "kv-transfer-config",
        "a value with a managed flag behind an equals sign": "x=--kv-transfer-config",
        "a JSON value": '{"--model": "-tp"}',
        "a negative number": "-1",
        "a dash alone, which often means standard input": "-",
        "nothing": "",
        "a flag in capitals, which vLLM does not know": "--MODEL",
    },
)
def test_other_arguments_pass(argument: str) -> None:
    assert managed_flag(argument) is None


@table(
    "image, version",
    {
        "a release": ("vllm/vllm-openai:v0.33.0", "0.33"),
        "a release without v": ("vllm/vllm-openai:0.33.1", "0.33"),
        "a minor version": ("mirror.example:5000/vllm:0.33", "0.33"),
        "a longer number is another version": ("vllm/vllm-openai:v0.331", None),
        "an older release is not supported": ("vllm/vllm-openai:v0.32.0", None),
        "a dot is a dot": ("vllm/vllm-openai:v0x33", None),
        "latest tells nothing": ("vllm/vllm-openai:latest", None),
        "a digest tells nothing": ("vllm/vllm-openai@sha256:" + "0" * 64, None),
        "a port is not a tag": ("mirror.example:5000/vllm", None),
    },
)
def test_an_image_tells_its_version_by_its_tag(image: str, version: str | None) -> None:
    (served,) = pool(models=[model(engine={"image": image, "version": "0.33"})]).spec.models
    assert served.engine.tag_version() == version


def test_an_explicit_version_wins_over_the_tag() -> None:
    (served,) = pool(models=[model(engine={"image": "mine:latest", "version": "0.33"})]).spec.models
    assert served.engine.supported_version() == "0.33"


@table(
    "changes, replicas",
    {
        "one Pod when nothing is said": ({}, 1),
        "as many as are asked for": ({"replicas": 3}, 3),
        "none when none are asked for": ({"replicas": 0}, 0),
        "whatever the autoscaler sets": ({"autoscaling": {}}, None),
    },
)
def test_wanted_replicas(changes: dict[str, object], replicas: int | None) -> None:
    assert ServedModel.model_validate(model(**changes)).wanted_replicas() == replicas
