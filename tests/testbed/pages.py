"""Pages of the documentation as tests read them: the commands that a reader would copy."""

import re
from pathlib import Path

_FENCED = re.compile(r"^ *```(\w*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)


def commands(page: Path) -> list[str]:
    """The lines of the fenced blocks without a language, in their order. Blocks with one are files or output."""
    blocks = (text for language, text in _FENCED.findall(page.read_text()) if not language)
    return [line.strip() for text in blocks for line in text.splitlines() if line.strip()]


def outside_fences(text: str) -> str:
    """The text without its fenced blocks, in which `#` and brackets mean something else."""
    return _FENCED.sub("", text)
