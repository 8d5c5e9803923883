"""The `kvtier` command as a user runs it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from testbed.control_plane.cluster import Cluster
from testbed.pools import manifest

SAMPLES = Path(__file__).parents[2] / "manifests" / "samples"


def kvtier(*arguments: str, text: str | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command in a terminal of 120 columns."""
    env = {"PATH": os.defpath, "COLUMNS": "120", "PYTHONPATH": os.pathsep.join(sys.path)} | environment
    command = [sys.executable, "-m", "kvtier", *arguments]
    return subprocess.run(
        command, input=text, text=True, capture_output=True, env=env, timeout=60, check=False
    )


@pytest.mark.parametrize("command", ["", "run", "check", "render", "crd", "lustre", "lustre sizes"])
def test_help_has_examples_and_fits_the_terminal(command: str) -> None:
    done = kvtier(*command.split(), "--help")
    assert done.returncode == 0
    assert done.stdout.startswith("Usage: kvtier")
    assert "Examples:" in done.stdout
    for columns in ("80", "120"):
        lines = kvtier(*command.split(), "--help", COLUMNS=columns).stdout.splitlines()
        assert [line for line in lines if len(line) > min(100, int(columns))] == []


def test_crd_prints_the_file_in_the_repository() -> None:
    stored = Path(__file__).parents[2] / "crds" / "kvtier.dev_kvcachepools.yaml"
    assert kvtier("crd").stdout == stored.read_text()


def test_render_prints_manifests_that_the_api_server_accepts(control_plane: Cluster, namespace: str) -> None:
    path = str(SAMPLES / "two-models.yaml")
    done = kvtier("render", "-n", namespace, "-f", path)
    kinds = [document["kind"] for document in yaml.safe_load_all(done.stdout)]
    assert kinds == [
        "StorageClass",
        "PersistentVolumeClaim",
        "ComputeClass",
        "Deployment",
        "Service",
        "Deployment",
        "Service",
    ]
    apply = ("apply", "--dry-run=server", "--validate=strict", "--server-side", "-f", "-")
    control_plane.kubectl(*apply, input=done.stdout)


def test_render_names_the_objects_that_need_the_lustre_api(control_plane: Cluster, namespace: str) -> None:
    done = kvtier("render", "-n", namespace, "-f", str(SAMPLES / "dynamic-tier.yaml"))
    assert done.returncode == 0
    assert "dynamic-tier: kvtier creates instance projects/my-project/" in done.stderr
    assert "because the instance has no address until it is created." in done.stderr
    apply = ("apply", "--dry-run=server", "--validate=strict", "--server-side", "-f", "-")
    control_plane.kubectl(*apply, input=done.stdout)


def test_lustre_sizes_needs_no_cluster() -> None:
    done = kvtier("lustre", "sizes", "--tier", "1000", "--near", "10000Gi", KUBECONFIG="/nonexistent")
    assert (done.returncode, done.stderr) == (0, "")
    assert "the nearest are 9000Gi and 18000Gi" in done.stdout
    refused = kvtier("lustre", "sizes", "--near", "10000")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "write 10000Gi" in refused.stderr


def test_check_shows_every_prerequisite_and_passes_with_unknown(control_plane: Cluster) -> None:
    path = str(SAMPLES / "long-document-chat.yaml")
    done = kvtier("check", "-f", path, "--kubeconfig", str(control_plane.kubeconfig))
    assert done.returncode == 0, done.stderr
    for word in (
        "GKEVersionSupported",
        "LustreDriverEnabled",
        "NetworkMatched",
        "Unknown",
        "spec.cluster",
        "0 failed",
    ):
        assert word in done.stdout
    strict = kvtier("check", "-f", path, "--kubeconfig", str(control_plane.kubeconfig), "--strict")
    assert strict.returncode == 1


def test_check_fails_when_a_prerequisite_is_false(control_plane: Cluster) -> None:
    pool = yaml.safe_dump(manifest("disks", "default", tiers__localSSD__capacity="6000Gi"))
    arguments = ("check", "-f", "-", "-o", "json")
    done = kvtier(*arguments, text=pool, KUBECONFIG=str(control_plane.kubeconfig))
    assert done.returncode == 1
    conditions = {one["type"]: one for one in json.loads(done.stdout)["default/disks"]}
    assert conditions["LocalSSDSupported"]["reason"] == "TooLarge"
    assert conditions["CapacityValid"]["status"] == "True"


UNREADABLE = {
    "no YAML": ("{", "not valid YAML"),
    "nothing": ("", "contains no KVCachePool"),
    "another kind": ("kind: Pod\napiVersion: v1\n", "contains no KVCachePool"),
    "another version": ("kind: KVCachePool\napiVersion: kvtier.dev/v1\n", "apiVersion"),
    "a name that YAML reads as a boolean": (
        "kind: KVCachePool\napiVersion: kvtier.dev/v1alpha1\nmetadata: {name: on}\n",
        "metadata.name",
    ),
    "a list": ("- 1\n", "contains no KVCachePool"),
    "text": ("hello", "contains no KVCachePool"),
}


@pytest.mark.parametrize("command", ["check", "render"])
@pytest.mark.parametrize(("text", "says"), UNREADABLE.values(), ids=UNREADABLE)
def test_a_file_without_a_pool_is_refused_with_the_reason(command: str, text: str, says: str) -> None:
    done = kvtier(command, "-f", "-", text=text, KUBECONFIG="/nonexistent")
    assert (done.returncode, done.stdout) == (2, "")
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_every_problem_of_a_pool_is_named_with_its_path() -> None:
    changes = {"models__0__replicaCount": 2, "models__0__kvCacheDtype": "fp7", "tiers__cpu__capacity": "9"}
    done = kvtier("render", "-f", "-", text=yaml.safe_dump(manifest("wrong", "default", **changes)))
    assert done.returncode == 2
    for path in (
        "spec.models[0].replicaCount: unknown field",
        "spec.models[0].kvCacheDtype",
        "spec.tiers.cpu.capacity",
    ):
        assert path in done.stderr


def test_an_unreachable_cluster_is_an_error_without_a_traceback(tmp_path: Path) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    cluster = {"name": "a", "cluster": {"server": "http://127.0.0.1:1"}}
    context = {"name": "a", "context": {"cluster": "a", "user": "a"}}
    user = {"name": "a", "user": {}}
    config = {"clusters": [cluster], "contexts": [context], "users": [user], "current-context": "a"}
    kubeconfig.write_text(yaml.safe_dump(config))
    for path, what in ((str(kubeconfig), "cluster"), (str(tmp_path / "missing"), "kubeconfig")):
        done = kvtier("check", "-f", str(SAMPLES / "minimal.yaml"), "--kubeconfig", path)
        assert done.returncode == 2
        assert f"Error: could not read the {what}: " in done.stderr
        assert "Traceback" not in done.stderr
