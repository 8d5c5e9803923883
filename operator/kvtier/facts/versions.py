"""GKE versions as numbers, and the gates in `data/gke_versions.yaml`."""

import re
from dataclasses import dataclass
from typing import Any

from kvtier.data import table

_NUMBER = "([0-9]{1,20})"
_SHAPE = re.compile(rf"v?{_NUMBER}\.{_NUMBER}\.{_NUMBER}-gke\.{_NUMBER}")


@dataclass(frozen=True, order=True)
class GKEVersion:
    """A GKE version. Versions are compared by number, including the GKE build."""

    major: int
    minor: int
    patch: int
    build: int

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}.{self.patch}-gke.{self.build}"


def parse(text: str) -> GKEVersion | None:
    """The version in `v1.35.6-gke.1049000` (with or without `v`), or None for anything else.

    Other distributions' versions are None too: kvtier knows no gates for them.
    """
    match = _SHAPE.fullmatch(text.strip())
    return GKEVersion(*(int(group) for group in match.groups())) if match else None


def gate(name: str) -> GKEVersion:
    """The version from which the gated feature works."""
    return _parsed(table("gke_versions")["gates"][name]["from"])


def defect(name: str) -> tuple[GKEVersion, GKEVersion]:
    """First broken and first fixed version of a known defect."""
    entry: dict[str, Any] = table("gke_versions")["defects"][name]
    return _parsed(entry["brokenFrom"]), _parsed(entry["fixedIn"])


def _parsed(text: str) -> GKEVersion:
    version = parse(text)
    if version is None:
        raise ValueError(f"data/gke_versions.yaml: {text!r} is not a GKE version")
    return version
