"""Errors of the CSI driver, as sidecars and kubelets quote them in Events and in conditions of a PVC."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from kvtier.api.sentences import sentences
from kvtier.facts.model import Event
from kvtier.plan.lustre.api_errors import Advice, Retry, advice

SILENT_SECONDS = 120.0
"""How long a working driver may take to start on a request of Kubernetes."""

_LONGEST = 300
_ANSWER = re.compile(r"rpc error: code = (?P<code>\w+) desc = (?P<words>.*)", re.DOTALL)
_SPELLINGS = {"Canceled": "Cancelled", "OK": ""}
_VARYING = (
    r"\nDetails:.*",
    r"[,;]?\s*\(?\b(?:Help Token|[Rr]equest[ _-]?[Ii][Dd]|Trace ID|traceId)\b\s*[:=]\s*\"?[\w./+=-]+\"?\)?",
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?",
    r"kube-api-access-\w+ ?",
    r"0x[0-9a-f]{6,}",
)
"""Parts of a message that differ between attempts, or between Pods."""


@dataclass(frozen=True)
class DriverError:
    """`code`: the canonical code in CamelCase, empty if there is none. `words`: the text of the driver."""

    code: str
    words: str

    @property
    def advice(self) -> Advice:
        """The meaning of the error, and what to do about it."""
        return advice(self.code, self.words)

    @property
    def goes_on(self) -> bool:
        """Whether the sidecar treats its operation as in progress."""
        return self.advice.retry is Retry.GOES_ON


def parse(message: str) -> DriverError:
    """The outermost error in a message. The same failure gives the same words each time."""
    found = _ANSWER.search(message)
    if found is None:
        return DriverError("", _without_varying_parts(message))
    code = found["code"]
    return DriverError(_SPELLINGS.get(code, code), _without_varying_parts(found["words"]))


def _without_varying_parts(text: str) -> str:
    # Long runs of white space would make the search slow.
    text = "\n".join(" ".join(line.split()) for line in text.splitlines() if line.strip())
    for pattern in _VARYING:
        text = re.sub(pattern, "", text, flags=re.DOTALL)
    words = " ".join(text.split()).rstrip(" .,;:")
    return words if len(words) <= _LONGEST else f"{words[:_LONGEST]}..."


_MOUNTS = ("FailedMount", "FailedAttachVolume")
_SUMMARY = "Unable to attach or mount volumes"
"""A summary that the kubelet reports every two minutes. Another Event has the reason."""


@dataclass(frozen=True)
class _Hint:
    words: tuple[str, ...]
    text: str

    def fits(self, message: str) -> bool:
        return any(words in message.lower() for words in self.words)


# The words come from the driver (lustre-csi-driver, docs/troubleshooting.md, node.go) and from mount.lustre.
_TABLE = (
    _Hint(
        ("a mountpoint with the same lustre filesystem name",),
        "Another Lustre file system of this name is mounted on the node, and a node can mount a name only once. Stop "
        "the Pods there that use the other file system, or create a pool with another tiers.lustre.filesystem.",
    ),
    _Hint(
        ("is the mgs running", "exit status 5", "input/output error", "connection timed out"),
        "The node does not reach the instance. Check that both are in the same VPC network, and that a firewall rule "
        "allows TCP 988 and 6988 between the nodes and the instance. An instance that was created with "
        "gke-support-enabled needs a cluster with --enable-legacy-lustre-port.",
    ),
    _Hint(
        ("is the filesystem name correct", "exit status 2"),
        "The instance has no file system of this name. Create a pool with the correct tiers.lustre.filesystem.",
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
        "The Lustre kernel modules are not loaded on the node. Upgrade the node pool. The upgrade also recreates nodes "
        "that are older than the add-on. With secure boot, the node loads only the signed modules of the add-on.",
    ),
    _Hint(
        ("list of registered csi drivers",),
        "The Lustre CSI driver does not run on the node. Check that the add-on is enabled. Then upgrade the node pool, "
        "so that its nodes are recreated with the driver.",
    ),
)


def mount_hint(pod_events: Iterable[Event], owner: str) -> str | None:
    """Why a Pod of a Deployment or Job cannot mount its volumes, and what to do, in full sentences; None if it can.

    Several Pods may have several messages. One that the table explains comes first.
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
    words = error.words or "no details"
    quoted = f"{error.code}: {words}" if error.code else words
    return sentences("The Pod cannot mount a volume", f"The kubelet reports: {quoted}")
