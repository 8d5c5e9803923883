"""A vLLM server in a Pod, its answers and its metrics."""

import json
import re
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from engine.pod import Container
from testbed.waiting import eventually

NAME = "small"
START_SECONDS = 420.0
_SAMPLE = re.compile(r"^([a-zA-Z_:]+)(?:\{(.*)\})? (\S+)$")


@dataclass(frozen=True)
class Answer:
    """The tokens of one request, and the seconds until the first of them."""

    tokens: list[int]
    seconds: float


class Server:
    """A container that serves the model NAME on a port of this machine."""

    def __init__(self, container: Container, port: int) -> None:
        self.container = container
        self._url = f"http://127.0.0.1:{port}"

    def wait_ready(self) -> "Server":
        """Wait until /health answers, as the startup probe does. Raises if the container ends before."""
        eventually(self.healthy, START_SECONDS, "vLLM serves")
        return self

    def ask(self, prompt: Sequence[int], tokens: int = 8, **fields: Any) -> Answer:
        """The most likely continuation of token ids, and the time until the first streamed token.

        `fields` are added to the request.
        """
        body = {
            "model": NAME,
            "prompt": list(prompt),
            "max_tokens": tokens,
            "temperature": 0,
            "ignore_eos": True,
            "stream": True,
            "return_token_ids": True,
            **fields,
        }
        found: list[int] = []
        first, started = 0.0, time.perf_counter()
        for event in self._events("/v1/completions", body):
            first = first or time.perf_counter() - started
            found += event["choices"][0].get("token_ids") or []
        return Answer(found, first)

    def metric(self, name: str, **labels: str) -> float:
        """The sum of a metric's samples with these labels, 0 without any."""
        return sum(value for found, value in self._samples(name) if labels.items() <= found.items())

    def _samples(self, name: str) -> list[tuple[dict[str, str], float]]:
        with urllib.request.urlopen(f"{self._url}/metrics", timeout=30) as response:
            lines = response.read().decode().splitlines()
        matches = [match for line in lines if (match := _SAMPLE.match(line)) and match[1] == name]
        return [(dict(re.findall(r'(\w+)="([^"]*)"', match[2] or "")), float(match[3])) for match in matches]

    def _events(self, path: str, body: dict[str, Any]) -> Any:
        request = urllib.request.Request(
            self._url + path, json.dumps(body).encode(), {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=120) as response:
            for line in response:
                text = line.decode().removeprefix("data: ").strip()
                if text and text != "[DONE]":
                    yield json.loads(text)

    def healthy(self) -> bool:
        """Whether /health answers, as for the probes. Raises if the container has ended."""
        self.container.require_alive()
        try:
            with urllib.request.urlopen(f"{self._url}/health", timeout=5) as response:
                return bool(response.status == 200)
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            return False
