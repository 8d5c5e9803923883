"""The pool of the end-to-end tests: a small model on CPUs, with every tier in a small size."""

import random
from pathlib import Path
from typing import Any

from engine.kubelet import Volume
from engine.rendering import Manifest, deployments
from engine.replica import MODEL
from engine.server import NAME
from kvtier.api.v1alpha1 import KVCachePool
from unit import builders

# vLLM's attention on CPUs needs blocks of a multiple of 32 tokens.
BLOCK = 32
_BLOCKS = 16
CHUNK = _BLOCKS * BLOCK
# A loaded prefix and a computed prefix differ in the last bits of a sum. With 16 bits, that can change the best token.
EXACT = ["--dtype=float32"]
# A small cache, and one thread per engine on any core: engines on the same cores would wait for each other.
_ON_CPUS = {"VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_CPU_OMP_THREADS_BIND": "nobind", "OMP_NUM_THREADS": "1"}
_VOCABULARY = 2048


def pool(**changes: Any) -> KVCachePool:
    """The pool, with `changes` of its model."""
    served = {
        "name": NAME,
        "model": MODEL,
        "tensorParallelSize": 1,
        "maxModelLen": 8192,
        "extraArgs": ["--skip-tokenizer-init", "--enforce-eager", *EXACT],
        "blockSize": BLOCK,
        "blocksPerChunk": _BLOCKS,
        "env": [{"name": name, "value": value} for name, value in _ON_CPUS.items()],
    }
    tiers = {"cpu": {"capacity": "512Mi"}, "localSSD": {"capacity": "4Gi"}}
    return builders.pool(tiers=tiers, models=[builders.model(**{**served, **changes})])


def deployment(of: KVCachePool) -> Manifest:
    """The Deployment of its model."""
    ((_, made),) = deployments(of)
    return made


def claims(made: Manifest, directory: Path) -> dict[str, Volume]:
    """The PVC of the Deployment, bound to a directory of this machine."""
    volumes = made["spec"]["template"]["spec"]["volumes"]
    names = [v["persistentVolumeClaim"]["claimName"] for v in volumes if "persistentVolumeClaim" in v]
    return dict.fromkeys(names, Volume(directory))


def prompt(name: str, tokens: int) -> list[int]:
    """Random token ids that depend only on the name, so that two prompts never share a block."""
    chance = random.Random(name)
    return [chance.randrange(3, _VOCABULARY) for _ in range(tokens)]
