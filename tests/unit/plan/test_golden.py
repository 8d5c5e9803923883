"""The manifests of the samples, byte for byte: a change here rolls the engines of every user.

`make golden` writes the files anew; the commit says why the change is worth the rollout.
"""

from pathlib import Path

import pytest
import yaml

from kvtier.cli.common import load
from kvtier.plan.offline import rendered

GOLDEN = Path(__file__).parent / "golden"
SAMPLES = Path(__file__).parents[3] / "manifests" / "samples"
NAMES = sorted(path.stem for path in SAMPLES.glob("*.yaml"))


@pytest.mark.parametrize("name", NAMES)
def test_a_sample_renders_to_what_is_running_already(name: str) -> None:
    (pool,) = load((SAMPLES / f"{name}.yaml").read_text(), "default")
    stored = list(yaml.safe_load_all((GOLDEN / f"{name}.yaml").read_text()))
    assert list(rendered(pool).manifests) == stored
