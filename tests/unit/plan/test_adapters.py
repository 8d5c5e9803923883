"""The init container that fetches LoRA adapters, and its program, run by Python on real directories."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from kvtier.plan.engine_pods import fetch_script
from unit.builders import manifest, model, pool

SQL = {"name": "sql", "model": "example/sql", "revision": "v$(2)"}
LAW = {"name": "law", "model": "/models/law", "revision": "2"}
TOKEN = {"tokenSecretRef": {"name": "hf"}, "env": [{"name": "HF_ENDPOINT", "value": "https://hub.example"}]}
OWN = {"name": "fetch", "image": "x"}
CERTIFICATES = {"name": "certificates", "mountPath": "/certificates"}


def _pod(**changes: Any) -> dict[str, Any]:
    of = pool(models=[model(adapters=[SQL, LAW], **changes)])
    return dict(manifest(of, "Deployment")["spec"]["template"]["spec"])


def _by_name(items: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {item["name"]: item for item in items}


def _fetch(**changes: Any) -> dict[str, Any]:
    return _by_name(_pod(**changes)["initContainers"])["lora-adapters"]


def test_a_pod_without_adapters_has_no_such_container_and_volume() -> None:
    pod = manifest(pool(), "Deployment")["spec"]["template"]["spec"]
    assert "initContainers" not in pod
    assert "lora-adapters" not in str(pod)


def test_it_fetches_each_adapter_to_the_path_that_the_engine_has() -> None:
    pod = _pod()
    fetched = [json.loads(one.replace("$$", "$")) for one in _fetch()["args"]]
    assert [(one["model"], one["revision"]) for one in fetched] == [
        ("example/sql", "v$(2)"),
        ("/models/law", "2"),
    ]
    (engine,) = pod["containers"]
    start = engine["args"].index("--lora-modules")
    assert engine["args"][start + 1 : start + 3] == [
        f"{name}={one['directory']}" for name, one in zip(("sql", "law"), fetched, strict=True)
    ]


def test_kubernetes_expands_nothing_in_its_arguments() -> None:
    container = _fetch()
    assert all("$" not in one.replace("$$", "") for one in [*container["command"], *container["args"]])
    assert container["command"][:2] == ["python3", "-c"], "no shell"


def test_the_requests_of_the_pod_stay_the_same() -> None:
    engine = dict(_pod()["containers"][0]["resources"])
    found = _fetch()["resources"]
    for part in ("requests", "limits"):
        assert found[part] == {name: engine[part][name] for name in found[part]}
    assert "nvidia.com/gpu" not in str(found)


def test_only_this_container_writes_adapters() -> None:
    pod = _pod()
    mounts = [_by_name(one["volumeMounts"])["lora-adapters"] for one in (_fetch(), pod["containers"][0])]
    assert [mount["mountPath"] for mount in mounts] == ["/kv/adapters"] * 2
    assert [mount.get("readOnly", False) for mount in mounts] == [False, True]
    assert _by_name(pod["volumes"])["lora-adapters"]["emptyDir"] == {}


def test_it_has_token_variables_and_mounts_of_the_engine() -> None:
    volume = {"name": "certificates", "emptyDir": {}}
    container = _fetch(**TOKEN, podTemplate={"volumes": [volume], "volumeMounts": [CERTIFICATES]})
    given = _by_name(container["env"])
    assert given["HF_ENDPOINT"]["value"] == "https://hub.example"
    assert given["HF_TOKEN"]["valueFrom"] == {"secretKeyRef": {"name": "hf", "key": "token"}}
    assert CERTIFICATES in container["volumeMounts"]


def test_it_runs_after_the_containers_of_the_user() -> None:
    names = [one["name"] for one in _pod(podTemplate={"initContainers": [OWN]})["initContainers"]]
    assert names == ["fetch", "lora-adapters"]


# The program.

HUB = """
import json, os
def snapshot_download(*given, **named):
    print(json.dumps([given, named]))
    os.makedirs(named["local_dir"])
    for file in os.environ["FILES"].split():
        open(os.path.join(named["local_dir"], file), "w").close()
"""
"""What the program needs of the package huggingface_hub. tests/engine/test_adapters.py uses the real one."""


def _run(hub: Path, files: str, *adapters: Mapping[str, str | None]) -> subprocess.CompletedProcess[str]:
    (hub / "huggingface_hub.py").write_text(HUB)
    command = [sys.executable, "-c", fetch_script(), *map(json.dumps, adapters)]
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(hub), "FILES": files}
    return subprocess.run(command, check=False, capture_output=True, text=True, env=env, timeout=60)


def test_a_path_becomes_a_link_also_if_it_is_not_mounted_there(tmp_path: Path) -> None:
    link = tmp_path / "kv" / "law" / "0123"
    adapter = {"directory": str(link), "model": str(tmp_path / "absent"), "revision": None}
    for _ in range(2):  # the container may start again in the same Pod
        assert _run(tmp_path, "", adapter).returncode == 0
        assert link.readlink() == tmp_path / "absent"


@pytest.mark.parametrize("revision", ["v2", None])
def test_a_repository_is_downloaded_at_its_revision(tmp_path: Path, revision: str | None) -> None:
    at = str(tmp_path / "kv" / "sql" / "0123")
    done = _run(
        tmp_path, "adapter_config.json", {"directory": at, "model": "example/sql", "revision": revision}
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == [
        ["example/sql"],
        {"revision": revision, "local_dir": at},
    ]


def test_a_repository_without_an_adapter_is_an_error(tmp_path: Path) -> None:
    adapter = {"directory": str(tmp_path / "a" / "b"), "model": "example/sql", "revision": "v2"}
    done = _run(tmp_path, "model.safetensors", adapter)
    assert done.returncode == 1
    assert done.stderr == (
        "example/sql has no adapter_config.json. It must contain a LoRA adapter in PEFT format.\n"
    )
