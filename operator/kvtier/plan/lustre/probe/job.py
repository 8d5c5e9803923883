"""The Job that tries the shared tier out, on the nodes and as the user of the engines."""

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from kvtier.api import names
from kvtier.api.v1alpha1 import KVCachePool
from kvtier.engines.fingerprint import pool_directory
from kvtier.engines.native import LUSTRE_ROOT
from kvtier.facts.objects import Object
from kvtier.plan.children import child, owner
from kvtier.plan.lustre.probe.caches import Cache
from kvtier.plan.model import Manifest
from kvtier.plan.pods import literal, placed

EXIT_CODES = (5, 13, 28, 30)
"""What `templates/probe.sh` ends with where the file system has answered: EIO, EACCES, ENOSPC, EROFS."""

DEADLINE_SECONDS = 1800
"""For all of it: a node that GKE makes first, a large image to pull, a mount."""

_LONGEST_DOCUMENT = 16 << 10
"""Bytes. Linux takes 128 KiB as one argument, etcd 1.5 MiB as an object: better no document than no Job."""

_RESOURCES = {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": "128Mi"}}


def series(pool: KVCachePool, claim: Object, caches: Sequence[Cache]) -> str:
    """Names what is to be proven and described: this claim, for this pool's caches, with or without root's help."""
    lustre = pool.spec.tiers.lustre
    as_root = str(lustre is not None and lustre.prepare_as_root)
    directories = (cache.directory for cache in caches)
    return names.digest(pool.uid, claim["metadata"].get("uid", ""), as_root, *directories)


def is_probe(job: Object) -> bool:
    """Whether a Job tries the shared tier out."""
    return names.LABEL_PROBE in _pod_labels(job)


def belongs(job: Object, to: str) -> bool:
    """Whether a Job is of a series."""
    return _pod_labels(job).get(names.LABEL_PROBE) == to


def _pod_labels(job: Object) -> Mapping[str, str]:
    labels: Mapping[str, str] = job["spec"]["template"].get("metadata", {}).get("labels", {})
    return labels


def probe(pool: KVCachePool, claim: Object, caches: Sequence[Cache], after: str) -> Manifest:
    """The next Job of a series; `after` is the uid of the one that failed before, empty for the first.

    A Job's template cannot change, so whatever is in it is in the name.
    """
    values = _values(pool, claim, caches)
    made_of = json.dumps(values, sort_keys=True)
    name = names.derive(pool.name, "probe", names.digest(pool.uid, made_of, after))
    return child("job", pool, name, owner=owner(pool), **values)


def _values(pool: KVCachePool, claim: Object, caches: Sequence[Cache]) -> dict[str, Any]:
    lustre = pool.spec.tiers.lustre
    return {
        **placed(pool, pool.spec.models[0]),
        "pod_labels": {
            names.LABEL_POOL: names.label_value(pool.name),
            names.LABEL_PROBE: series(pool, claim, caches),
        },
        "deadline": DEADLINE_SECONDS,
        "exit_codes": list(EXIT_CODES),
        # It has /bin/sh, and the nodes pull it anyway.
        "image": pool.spec.models[0].engine.image,
        "script": literal(script()),
        "root": LUSTRE_ROOT,
        "arguments": ["write", LUSTRE_ROOT, pool_directory(pool), *_documents(caches)],
        "resources": _RESOURCES,
        "as_root": lustre is not None and lustre.prepare_as_root,
        "claim": claim["metadata"]["name"],
    }


def _documents(caches: Sequence[Cache]) -> Iterator[str]:
    """A directory and the document that shall stand in it, for each of them."""
    for one in caches:
        if len(one.document.encode()) <= _LONGEST_DOCUMENT:
            yield from (one.directory, literal(one.document))


@cache
def script() -> str:
    """The shell script, which gets its paths as arguments."""
    return files("kvtier.plan").joinpath("templates/probe.sh").read_text(encoding="utf-8")
