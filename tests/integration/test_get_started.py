"""The page "Get started", command by command, as a reader pastes them after `make demo KEEP=1`."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from testbed.control_plane.cluster import Cluster
from testbed.kube import Kube
from testbed.pages import commands
from testbed.pools import Pools

ROOT = Path(__file__).parents[2]
SHOWN = [
    command for command in commands(ROOT / "docs" / "get-started.md") if not command.startswith("make demo")
]
# Commands that fail on purpose, and the words by which the page explains why. Each fails once, then the reader helps.
REFUSED = {
    ".venv/bin/kvtier check -f manifests/samples/two-models.yaml": "hf-token",
    """kubectl patch kvpool two-models --type=merge -p '{"spec":{"tiers":{"lustre":{"capacity":"37000Gi"}}}}'""": (
        "multiple of 18000Gi"
    ),
}

pytestmark = pytest.mark.usefixtures("operator")


@pytest.fixture
def kubeconfig(control_plane: Cluster, kube: Kube, pools: Pools, tmp_path: Path) -> Path:
    """A kubeconfig for the test's namespace, in which the demo's pool exists, as the demo leaves it."""
    document = yaml.safe_load(control_plane.kubeconfig.read_text())
    document["contexts"][0]["context"]["namespace"] = pools.namespace
    path = tmp_path / "kubeconfig"
    path.write_text(yaml.safe_dump(document))
    sample = yaml.safe_load((ROOT / "manifests" / "samples" / "long-document-chat.yaml").read_text())
    sample["metadata"]["namespace"] = pools.namespace
    kube.create(sample)
    pools.wait("long-document-chat")
    return path


def _run(
    command: str, cluster: Cluster, namespace: str, kubeconfig: Path
) -> subprocess.CompletedProcess[str]:
    """In a shell, with the programs of this checkout. Unlike kubectl, kvtier takes no namespace from a kubeconfig."""
    if command.startswith(".venv/bin/kvtier"):
        command = command.replace(".venv/bin/kvtier", f"{sys.executable} -m kvtier", 1)
        command += f" -n {namespace}" if " -f " in command else ""
    env = {
        "PATH": f"{cluster.binaries}:{os.environ['PATH']}",
        "HOME": str(kubeconfig.parent),
        "KUBECONFIG": str(kubeconfig),
        "PYTHONPATH": os.pathsep.join(sys.path),
        "COLUMNS": "120",
    }
    return subprocess.run(
        ["bash", "-c", command], cwd=ROOT, env=env, text=True, capture_output=True, timeout=150, check=False
    )


def test_the_page_shows_the_commands_that_this_test_expects() -> None:
    assert [command for command in REFUSED if command not in SHOWN] == []
    assert {command.split()[0] for command in SHOWN} == {"kubectl", ".venv/bin/kvtier"}


def test_every_command_of_the_page_does_what_the_page_says(
    control_plane: Cluster, pools: Pools, kubeconfig: Path
) -> None:
    refused, said = dict(REFUSED), ""
    for command in SHOWN:
        done = _run(command, control_plane, pools.namespace, kubeconfig)
        words, said = refused.pop(command, None), done.stdout + done.stderr
        assert (done.returncode != 0) == (words is not None), f"{command}: {said}"
        assert said, command
        assert (words or "") in " ".join(said.split()), f"{command}: {said}"
    assert refused == {}
    assert "Bound" in said, "the last command shows that the data stays"
