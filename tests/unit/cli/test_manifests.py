"""What `kvtier render` prints."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from kvtier.cli import main

SAMPLES = Path(__file__).parents[3] / "manifests" / "samples"


@pytest.mark.parametrize("sample", sorted(path.name for path in SAMPLES.iterdir()))
def test_manifests_are_printed_without_anchors_and_aliases(sample: str) -> None:
    printed = CliRunner().invoke(main, ["render", "-f", str(SAMPLES / sample)])
    assert printed.exit_code == 0
    assert "matchLabels:\n" in printed.stdout
    assert "&id" not in printed.stdout
