"""A rendered container, started as by the kubelet and a runtime: the exact arguments of the program `vllm`."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from engine import kubelet
from engine.kubelet import Manifest, Volume
from engine.pod import Pod
from engine.rendering import deployments
from testbed.waiting import eventually
from unit.builders import model, pool
from unit.tables import table

RECORDER_AT = "/image/recorder"
# Replaces vLLM: records its arguments and its environment.
RECORDER = """#!/bin/sh
printf '%s\\0' "$@" > /tmp/arguments
/usr/bin/env -0 > /tmp/variables
: > /tmp/done
"""
ODD = 'it\'s "quoted" `id` $HOME $(id) $(A) $$(A) $$ ${A} {} {{ x }} \\ \\n \n second line\t😀 ; rm -rf / & | > <'


@table(
    "text",
    {
        "text of every kind": ODD,
        "a reference to a variable": "$(A)",
        "an escaped reference": "$$(A)",
        "only dollars": "$$$",
        "globs": "/dev/shm/* ~ [a-z]*",
        "white space at both ends": " \n x \n ",
    },
)
def test_text_is_passed_without_changes(text: str, tmp_path: Path) -> None:
    own = {"revision": text, "extraArgs": ["--x", text], "env": [{"name": "A", "value": text}, {"name": "E"}]}
    of = pool(models=[model(model=text, **own)], tiers={"lustre": None, "cpu": None})
    ((_, deployment),) = deployments(of)
    arguments, variables = _record(deployment, tmp_path)
    assert arguments[:2] == ["serve", text]
    assert arguments[-2:] == ["--x", text]
    assert f"--revision={text}" in arguments
    assert (variables["A"], variables["E"]) == (text, "")
    assert (variables["PYTHONHASHSEED"], variables["HOME"]) == ("0", "/home/vllm")


def _record(deployment: Manifest, directory: Path) -> tuple[list[str], dict[str, str]]:
    """The arguments and the environment that `vllm` gets."""
    with _pod(deployment, directory) as pod:
        _run(pod, deployment)
        arguments, variables = (
            (pod.path("/tmp") / name).read_text().split("\0")[:-1] for name in ("arguments", "variables")
        )
    return arguments, dict(one.split("=", 1) for one in variables)


@pytest.mark.parametrize("stale", ["vllm_offload_1-2-3.mmap", "vllm_offload_1-2-3.mmap.1"])
def test_only_shared_memory_of_a_dead_engine_is_deleted(stale: str, tmp_path: Path) -> None:
    ((_, deployment),) = deployments(pool(tiers={"lustre": None}))
    with _pod(deployment, tmp_path) as pod:
        for name in (stale, "psm_other", "vllm_other"):
            pod.give(f"/dev/shm/{name}", kubelet.started(deployment).user)
        _run(pod, deployment)
        assert {file.name for file in pod.path("/dev/shm").iterdir()} == {"psm_other", "vllm_other"}


@contextmanager
def _pod(deployment: Manifest, directory: Path) -> Iterator[Pod]:
    """A Pod of the Deployment whose image holds the recorder."""
    recorder = directory / "recorder"
    recorder.mkdir()
    (recorder / "vllm").write_text(RECORDER)
    (recorder / "vllm").chmod(0o755)
    volumes = kubelet.volumes(deployment, {}, directory / "volumes")
    with Pod(directory / "pod", {**volumes, RECORDER_AT: Volume(recorder)}) as pod:
        yield pod


def _run(pod: Pod, deployment: Manifest) -> None:
    pod.run(kubelet.started(deployment), {"PATH": f"{RECORDER_AT}:{os.defpath}"})
    eventually((pod.path("/tmp") / "done").exists, 60, "the recorder has run")
