"""What kvtier knows about the vLLM version in a model's image."""

import re

from kvtier.api.v1alpha1 import ServedModel
from kvtier.data.engines import ENGINES, EngineFacts


def facts(model: ServedModel) -> EngineFacts:
    """The row of `data/engines.yaml`. A version that is not in it gets the nearest row, and a cache of its own."""
    release = model.engine.release()
    return ENGINES.versions.get(release) or nearest(release).untested(release)


def nearest(release: str) -> EngineFacts:
    """The row of the newest version that is not newer than `release`, else of the oldest one."""
    rows = sorted(ENGINES.versions.values(), key=lambda row: minor(row.version), reverse=True)
    return next((row for row in rows if minor(row.version) <= minor(release)), rows[-1])


def minor(release: str) -> tuple[int, ...]:
    """Major and minor version, to compare: (0, 34) for 0.34.0rc1."""
    return tuple(int(number) for number in re.findall("[0-9]+", release)[:2])
