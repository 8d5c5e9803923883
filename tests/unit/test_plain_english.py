"""The phrases that readers stumbled over do not come back. CONTRIBUTING has the list, with what to say instead."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "CONTRIBUTING.md"
_TABLE = GUIDE.read_text().split("| before | after |")[1].split("\n\n")[0]
PHRASES = re.findall(r"^\| `(.+?)` \|", _TABLE, re.MULTILINE)
_TEXT = {".md", ".py", ".yaml", ".j2", ".toml", ".sh", ".go", ""}


def _files() -> list[Path]:
    """What git tracks, and what it would track."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    paths = [ROOT / name for name in listed.stdout.splitlines()]
    return [path for path in paths if path.suffix in _TEXT and path.is_file() and path != GUIDE]


WORDS = {path: " ".join(path.read_text(errors="replace").split()) for path in _files()}


def test_the_guide_lists_phrases_and_there_are_files_to_look_at() -> None:
    assert len(PHRASES) > 20
    assert len(WORDS) > 300


@pytest.mark.parametrize("phrase", PHRASES)
def test_a_phrase_of_the_guides_left_column_stands_nowhere_else(phrase: str) -> None:
    pattern = re.compile(rf"\b{re.escape(phrase)}\b", re.IGNORECASE)
    found = [str(path.relative_to(ROOT)) for path, words in WORDS.items() if pattern.search(words)]
    assert found == []
