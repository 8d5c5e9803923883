"""``python answer.py``: answer questions about vLLM, one JSON object per line in and out, until input ends.

The import of vLLM takes much longer than a question, so one process answers all questions.
"""

import importlib
import json
import os
import sys
from typing import Any

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def main() -> None:
    """Answer until end of file. Output of vLLM goes to stderr, because the real stdout is for answers."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    for line in sys.stdin:
        answers.write(json.dumps(_answered(**json.loads(line))) + "\n")


def _answered(about: str, variables: dict[str, str], question: dict[str, Any]) -> dict[str, Any]:
    """`about` is MODULE.FUNCTION of this package; `variables` are set while it runs."""
    module, _, function = about.partition(".")
    before = dict(os.environ)
    os.environ.update(variables)
    try:
        return {"answer": getattr(importlib.import_module(f"inside.{module}"), function)(**question)}
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}
    finally:
        os.environ.clear()
        os.environ.update(before)


if __name__ == "__main__":
    main()
