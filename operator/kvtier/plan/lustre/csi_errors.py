"""What a CSI driver answers, as sidecars and kubelets quote it in Events and in conditions of a claim."""

import re
from typing import NamedTuple

from kvtier.facts.model import Observed

_LONGEST = 300
_ANSWER = re.compile(r"rpc error: code = (?P<code>\w+) desc = (?P<words>.*)", re.DOTALL)
_SPELLINGS = {"Canceled": "Cancelled", "OK": ""}
_FLEETING = (
    r"\n\s*Details:.*",
    r"[,;]?\s*\(?\b(?:Help Token|[Rr]equest[ _-]?[Ii][Dd]|Trace ID|traceId)\b\s*[:=]\s*\"?[\w./+=-]+\"?\)?",
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?",
    r"kube-api-access-\w+ ?",
    r"0x[0-9a-f]{6,}",
)
"""What differs from one try to the next, or from one Pod to its neighbour."""


class DriverError(NamedTuple):
    """`code` is the canonical code in CamelCase, empty where none is given; `words` are the driver's own."""

    code: str
    words: str


def parse(message: str) -> DriverError:
    """The outermost answer in a message. The same failure gives the same words each time."""
    found = _ANSWER.search(message)
    if found is None:
        return DriverError("", _steady(message))
    code = found["code"]
    return DriverError(_SPELLINGS.get(code, code), _steady(found["words"]))


def _steady(text: str) -> str:
    for pattern in _FLEETING:
        text = re.sub(pattern, "", text, flags=re.DOTALL)
    words = " ".join(text.split()).rstrip(" .,;:")
    return words if len(words) <= _LONGEST else f"{words[:_LONGEST]}..."


_MOUNTS = ("FailedMount", "FailedAttachVolume")
_SUMMARY = "Unable to attach or mount volumes"
"""What the kubelet says beside the reason itself, every two minutes."""


class _Hint(NamedTuple):
    words: tuple[str, ...]
    text: str


# The texts are those of the driver (lustre-csi-driver, docs/troubleshooting.md, node.go) and of mount.lustre.
_TABLE = (
    _Hint(
        ("a mountpoint with the same lustre filesystem name",),
        "the node has another Lustre file system of this name mounted, and a node can mount a name only once: stop the "
        "Pods there that use the other one, or set another tiers.lustre.filesystem in a new pool",
    ),
    _Hint(
        ("is the mgs running", "exit status 5", "input/output error", "connection timed out"),
        "the node does not reach the instance: it has to be in the same VPC network, a firewall rule has to allow TCP "
        "988 and 6988 between the nodes and the instance, and an instance made with gke-support-enabled needs a "
        "cluster with --enable-legacy-lustre-port",
    ),
    _Hint(
        ("is the filesystem name correct", "exit status 2"),
        "the instance has no file system of this name: correct tiers.lustre.filesystem, in a new pool",
    ),
    _Hint(
        (
            "operation not permitted",
            "unknown filesystem type",
            "no such device",
            "key was rejected",
            "required key not available",
            "modprobe",
        ),
        "the node has not loaded the Lustre kernel modules: upgrade the node pool, which also recreates nodes that are "
        "older than the add-on; with secure boot only the add-on's own signed modules load",
    ),
    _Hint(
        ("list of registered csi drivers",),
        "the Lustre CSI driver does not run on the node: see that the add-on is enabled, and upgrade the node pool, so "
        "that its nodes are recreated with it",
    ),
)


def mount_hint(observed: Observed, owner: str) -> str | None:
    """Why a Pod of a Deployment or Job cannot mount its volumes, and what to do; None where it can.

    Several Pods may say several things: the one that is known best is told.
    """
    said = {
        event.message
        for event in observed.pod_events
        if event.reason in _MOUNTS and event.name.startswith(f"{owner}-")
    }
    texts = sorted(said, key=lambda text: (_SUMMARY in text, text))
    known = next((hint.text for hint in _TABLE if any(_fits(hint, text) for text in texts)), None)
    if known or not texts:
        return known
    code, words = parse(texts[0])
    return f"a volume cannot be mounted: {f'{code}: ' if code else ''}{words}"


def _fits(hint: _Hint, text: str) -> bool:
    return any(words in text.lower() for words in hint.words)
