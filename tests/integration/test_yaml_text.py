"""Plain texts in YAML, read by the API server and by `kvtier check`, and written by `kvtier render`."""

from typing import Any

import pytest
from yaml import YAMLError

from kvtier.cli.yaml_text import documents, dumped
from testbed.kube import ApiError, Kube

PLAIN = (
    *(
        "1e3",
        "1E+3",
        "1.0e3",
        "1.e3",
        ".5",
        ".5e1",
        "1.",
        "-1e3",
        "+1",
        "+1.5",
        "+.5",
        "1e",
        "e1",
        "1e-3",
        "1.5e",
    ),
    *(
        "1_000",
        "1_0.5",
        "1__0",
        "_1",
        "1_",
        "0_1",
        "1e3_0",
        "0x1f",
        "-0x1",
        "0x",
        "0xg",
        "0b11",
        "0b",
        "0b2",
        "0o17",
    ),
    *(
        "017",
        "08",
        "09.5",
        "0123",
        "00",
        "-0",
        "1:30",
        "12:30:45",
        "1:30.5",
        "123456789012345678901234567890",
    ),
    *(
        "2026-11-01",
        "2026-11-01T10:00:00Z",
        "2026-11-01 10:00:00",
        "yes",
        "no",
        "on",
        "off",
        "y",
        "N",
        "TRUE",
        "tRUE",
    ),
    *("null", "~", "NULL", ".inf", "-.Inf", ".nan", "<<", "=", "a", "1.2.3", "v1", "0.33"),
)
OBJECT = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: default}\ndata:\n  key: "


def _as_read(kube: Kube, text: str) -> str | None:
    """A value that the API server reads as text; None for a number, a boolean or null."""
    path, headers = "/api/v1/namespaces/default/configmaps", {"Content-Type": "application/yaml"}
    try:
        made: Any = kube.request("POST", path, data=text.encode(), params={"dryRun": "All"}, headers=headers)
    except ApiError:
        return None
    value = made.get("data", {}).get("key")
    return value or None


@pytest.mark.parametrize("plain", PLAIN)
def test_a_plain_text_is_read_as_by_the_api_server(kube: Kube, plain: str) -> None:
    (document,) = documents(OBJECT + plain)
    value = document["data"]["key"]
    assert (value if isinstance(value, str) else None) == _as_read(kube, OBJECT + plain)


@pytest.mark.parametrize("text", [*PLAIN, "", " a", "🙂", "\u2028", "\ue000", "a\n", "- a", "{a", "#"])
def test_a_text_is_written_so_that_the_api_server_reads_it(kube: Kube, text: str) -> None:
    written = {"metadata": {"name": "a"}, "apiVersion": "v1", "kind": "ConfigMap", "data": {"key": text}}
    assert (_as_read(kube, dumped([written])) or "") == text


def test_a_field_that_stands_twice_is_refused_by_both(kube: Kube) -> None:
    twice = OBJECT + "a\n  key: b\n"
    with pytest.raises(YAMLError, match="'key' is set twice"):
        list(documents(twice))
    with pytest.raises(ApiError, match='key "key" already set'):
        kube.request(
            "POST",
            "/api/v1/namespaces/default/configmaps",
            data=twice.encode(),
            params={"dryRun": "All", "fieldValidation": "Strict"},
            headers={"Content-Type": "application/yaml"},
        )
