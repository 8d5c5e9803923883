"""What a CSI driver answers, as sidecars and kubelets quote it in Events and in conditions of a claim."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from kvtier.facts.model import Event
from kvtier.plan.lustre.api_errors import Advice, Retry, advice

SILENT_SECONDS = 120.0
"""For how long a driver that works may leave alone what Kubernetes has handed to it."""

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


@dataclass(frozen=True)
class DriverError:
    """`code` is the canonical code in CamelCase, empty where none is given; `words` are the driver's own."""

    code: str
    words: str

    @property
    def advice(self) -> Advice:
        """What it means, and what to do about it."""
        return advice(self.code, self.words)

    @property
    def goes_on(self) -> bool:
        """Whether the sidecar that asked takes its operation to be under way."""
        return self.advice.retry is Retry.GOES_ON


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


@dataclass(frozen=True)
class _Hint:
    words: tuple[str, ...]
    text: str

    def fits(self, message: str) -> bool:
        return any(words in message.lower() for words in self.words)


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


def mount_hint(pod_events: Iterable[Event], owner: str) -> str | None:
    """Why a Pod of a Deployment or Job cannot mount its volumes, and what to do; None where it can.

    Several Pods may have several messages: one that the table explains comes first.
    """
    messages = {
        event.message
        for event in pod_events
        if event.reason in _MOUNTS and event.name.startswith(f"{owner}-")
    }
    texts = sorted(messages, key=lambda text: (_SUMMARY in text, text))
    if not texts:
        return None
    explained = next((hint.text for hint in _TABLE if any(hint.fits(text) for text in texts)), None)
    if explained:
        return explained
    error = parse(texts[0])
    return f"a volume cannot be mounted: {f'{error.code}: ' if error.code else ''}{error.words}"
