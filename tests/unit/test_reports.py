"""The table of public bug reports in docs/evidence/testing.md names tests that exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NAMED = re.findall(
    r"`((?:unit|integration|engine)/\S+\.py)::(test_\w+)`",
    (ROOT / "docs/evidence/testing.md").read_text("utf-8"),
)


@pytest.mark.parametrize(("file", "test"), sorted(set(NAMED)))
def test_exists(file: str, test: str) -> None:
    text = (ROOT / "tests" / file).read_text("utf-8")
    assert re.search(rf"^(async )?def {test}\(", text, re.MULTILINE)


def test_the_table_is_read() -> None:
    assert len(NAMED) > 60
