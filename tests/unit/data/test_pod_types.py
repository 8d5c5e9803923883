"""The schema of Pods: bounded, without free-form parts, and complete."""

import gzip
import json
import re
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kvtier.api.crd import manifest, schema
from kvtier.data import pod_types

PAGE = (Path(__file__).parents[3] / "docs" / "reference" / "additions.md").read_text()
ALLOWED = 400_000
"""Bytes of the CRD, in each form. A client-side `kubectl apply` keeps a copy in an annotation of at most 256 KiB."""


def _template() -> dict[str, Any]:
    models = schema()["properties"]["spec"]["properties"]["models"]
    template: dict[str, Any] = models["items"]["properties"]["podTemplate"]
    return template


def _nodes(node: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    yield path, node
    for name, child in node.get("properties", {}).items():
        yield from _nodes(child, f"{path}.{name}")
    for key in ("items", "additionalProperties"):
        if key in node:
            yield from _nodes(node[key], f"{path}[]")


NODES = dict(_nodes(_template()))


def test_the_crd_is_small() -> None:
    text = manifest()
    assert len(text.encode()) < ALLOWED
    assert len(json.dumps(schema())) < 256 * 1024
    # Helm keeps a chart as gzip of base64 in base64, and the Secret encodes it again.
    release = b64encode(b64encode(gzip.compress(b64encode(text.encode()))))
    assert len(release) < 100_000, "the most for a Secret is 1 MB"


def test_nothing_is_free_form() -> None:
    assert [path for path, node in NODES.items() if "x-kubernetes-preserve-unknown-fields" in node] == []
    for path, node in NODES.items():
        if node.get("type") == "object":
            assert "properties" in node or "additionalProperties" in node, path
        if node.get("type") == "array":
            assert "items" in node, path


def test_everything_is_bounded() -> None:
    for path, node in NODES.items():
        if node.get("type") == "array":
            assert node["maxItems"] <= pod_types.MAX_ITEMS, path
        if "additionalProperties" in node:
            assert node["maxProperties"] <= pod_types.MAX_ENTRIES, path
        if node.get("type") == "string" or "x-kubernetes-int-or-string" in node:
            assert node["maxLength"] <= pod_types.MAX_ARGUMENT, path
    assert max(path.count(".") + path.count("[]") for path in NODES) < 20


def test_only_the_fields_of_pod_template_have_descriptions() -> None:
    described = [path for path, node in NODES.items() if "description" in node and path]
    assert [path for path in described if path.count(".") > 1 or "[]" in path] == []


@pytest.mark.parametrize("of", ["PodSpec", "Container"])
def test_the_page_of_additions_says_why_a_field_is_missing(of: str) -> None:
    missing = pod_types.fields(of) - set(_template()["properties"])
    section = next(part for part in PAGE.split("\n## ") if part.startswith("Fields that"))
    named = set(re.findall(r"`(\w+)`", " ".join(re.findall(r"^\| (`.+?) \|", section, re.MULTILINE))))
    assert missing <= named
    assert not named & set(_template()["properties"])
