"""Two Pods of one Deployment with a shared directory: what the first Pod computed, and where it is."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from engine.kubelet import Started
from engine.replica import Image, Replica, replica
from engine.server import Answer, Server
from engine.small import CHUNK, claims, deployment, pool, prompt
from testbed.waiting import eventually

TOKENS = 1500
"""Tokens of a prompt: two chunks, and a rest that is always computed."""
STORED = 2 * CHUNK
PREFIX = "vllm_offload_"
PROMPTS = (
    *("warm", "found", "not promoted", "spoiled", "deleted", "truncated"),
    *("read-only", "full", "unmounted", "whole while read-only", "hanging", "told"),
)
"""Prompts that the first Pod answers. Each test uses its own."""
LONG = 4000
LONG_PROMPTS = ("long 1", "long 2", "long 3")


@dataclass
class Shared:
    """The shared tier, and the results of the first Pod: answers, and the files of each prompt."""

    directory: Path
    image: Image
    stale: list[str] = field(default_factory=list)
    """Files that were in /dev/shm before the first engine started, and still existed when it served."""
    left: list[str] = field(default_factory=list)
    """Files that the first engine left in /dev/shm when it was killed."""
    answers: dict[str, Answer] = field(default_factory=dict)
    files: dict[str, list[Path]] = field(default_factory=dict)

    def blocks(self) -> set[Path]:
        """Every complete file of cached blocks."""
        return set(self.directory.rglob("*.bin"))

    def compute(self, server: Server, name: str, tokens: int = TOKENS) -> None:
        """Let a server answer a new prompt, and wait for its files."""
        before = self.blocks()
        self.answers[name] = server.ask(prompt(name, tokens))
        wanted = len(before) + tokens // CHUNK
        eventually(lambda: len(self.blocks()) == wanted, 60, f"the files of {name}")
        self.files[name] = sorted(self.blocks() - before)


@contextmanager
def pod(shared: Shared, directory: Path, shm: str | None = None) -> Iterator[Replica]:
    """A Pod of the Deployment on the shared tier. `shm` replaces the rendered size of /dev/shm."""
    # One name of the image for all versions: the weights are in it, and another image could have others.
    made = deployment(pool(engine={"image": "registry.example/vllm", "version": shared.image.version}))
    (volume,) = [one for one in made["spec"]["template"]["spec"]["volumes"] if one["name"] == "shm"]
    volume["emptyDir"]["sizeLimit"] = shm or volume["emptyDir"]["sizeLimit"]
    with replica(made, shared.image, claims(made, shared.directory), directory) as running:
        yield running


def bare(started: Started) -> Started:
    """Only the arguments, without the shell line of the Deployment."""
    return replace(started, command=[])


def offload_files(running: Replica) -> list[str]:
    """Names of vLLM's cache files in the Pod's /dev/shm."""
    return sorted(path.name for path in running.pod.path("/dev/shm").glob(f"{PREFIX}*"))


def plant(running: Replica) -> list[str]:
    """Create the two kinds of files that a killed engine leaves in the Pod's /dev/shm, and return their names."""
    names = [f"{PREFIX}stale.mmap", f"{PREFIX}stale.mmap.1"]
    for name in names:
        running.pod.give(f"/dev/shm/{name}", running.user)
    return names


def look_up(server: Server, name: str, tokens: int = TOKENS) -> tuple[Answer, int]:
    """The answer to a prompt, and how many of its tokens were found outside the GPU's memory."""
    hits = "vllm:external_prefix_cache_hits_total"
    before = server.metric(hits)
    answer = server.ask(prompt(name, tokens))
    return answer, int(server.metric(hits) - before)
