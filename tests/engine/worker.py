"""A process of the engines' Python that answers questions about one vLLM version."""

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from engine.environment import Environment
from testbed import die_with_parent

ANSWER = Path(__file__).parent / "inside" / "answer.py"
TINY = Path(__file__).parent / "models" / "llama.json"
_STDERR_LINES = 40


class EngineError(AssertionError):
    """The worker could not answer. The text is its error, or the end of its output."""


class Worker:
    """Asks one question at a time."""

    def __init__(self, version: str, process: "subprocess.Popen[str]", log: Path, model: Path) -> None:
        self.version = version
        self.model = model
        self._process = process
        self._log = log

    def ask(self, about: str, variables: dict[str, str] | None = None, **question: Any) -> Any:
        """The answer of the function `about` of the package `inside`. Raises ``EngineError`` if it fails."""
        assert self._process.stdin
        assert self._process.stdout
        asked = {"about": about, "variables": variables or {}, "question": question}
        try:
            self._process.stdin.write(json.dumps(asked) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise EngineError("\n".join(self._log.read_text().splitlines()[-_STDERR_LINES:]))
        found = json.loads(line)
        if "error" in found:
            raise EngineError(found["error"])
        return found["answer"]

    def serve(self, command: list[str], variables: dict[str, str] | None = None) -> dict[str, Any]:
        """The result of `vllm serve` for a command line and environment (inside/serve.py)."""
        found: dict[str, Any] = self.ask("serve.answer", variables, command=command, model=str(self.model))
        return found


@contextmanager
def running(environment: Environment, version: str) -> Iterator[Worker]:
    """A worker. It ends with the block or with this process."""
    with tempfile.TemporaryDirectory(prefix="kvtier-engine-worker-") as directory:
        home, model = Path(directory) / "home", Path(directory) / "model"
        home.mkdir()
        model.mkdir()
        (model / "config.json").write_text(TINY.read_text())
        log = Path(directory) / "stderr"
        with log.open("w") as errors, _started(environment, version, home, errors) as process:
            try:
                yield Worker(version, process, log, model)
            finally:
                process.kill()


def _started(environment: Environment, version: str, home: Path, errors: Any) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [str(environment.python), "-I", "-S", die_with_parent.__file__, str(os.getpid()),
         str(environment.python), str(ANSWER)],
        env={**environment.variables(version), "HOME": str(home), "LC_ALL": "C.UTF-8"},
        cwd=home,
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=errors,
    )  # fmt: skip
