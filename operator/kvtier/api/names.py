"""Every name, label and annotation that kvtier writes, and the one function that derives names."""

import base64
import hashlib
import re
from typing import NamedTuple

FIELD_MANAGER = "kvtier"
HANDOVER_MANAGER = "kvtier-handover"
FINALIZER = "kvtier.dev/teardown"

LUSTRE_DRIVER = "lustre.csi.storage.gke.io"
"""Name of the CSI driver and of its CSIDriver object (GoogleCloudPlatform/lustre-csi-driver)."""

OPERATOR_NAMESPACE = "kvtier-system"
"""The namespace of the operator in manifests/install.yaml."""
POLICY, POLICY_KEY = "kvtier-policy", "policy.yaml"
"""The ConfigMap with the policy of the installer, in the namespace of the operator, and its key."""

LABEL_MANAGED_BY = "app.kubernetes.io/managed-by"
LABEL_POOL = "kvtier.dev/pool"
LABEL_POOL_NAMESPACE = "kvtier.dev/pool-namespace"
LABEL_MODEL = "kvtier.dev/model"
LABEL_PROBE = "kvtier.dev/probe"
ANNOTATION_POOL = "kvtier.dev/pool"
ANNOTATION_APPLIED = "kvtier.dev/applied"
ANNOTATION_PROVISIONER = "kvtier.dev/provisioner"
ANNOTATION_ADOPT = "kvtier.dev/adopt-instance"
"""Written by users: the full name of an instance of another cluster that the pool may adopt."""

_LABEL_MAX = 63


class PoolKey(NamedTuple):
    """Namespace and name of a pool."""

    namespace: str
    name: str


def digest(*parts: str, length: int = 8) -> str:
    """Hex digest of some strings; different lists of strings give different digests."""
    joined = "".join(f"{len(part)}:{part}" for part in parts)
    return hashlib.sha256(joined.encode(errors="surrogatepass")).hexdigest()[:length]


def derive(*parts: str, limit: int = 52) -> str:
    """A readable DNS label of at most `limit` characters that is unique to `parts`.

    It always ends with a digest. Otherwise two names could become equal: by truncation, by a replaced dot, or by a dash
    that could belong to either part. 52 characters leave room for the suffixes that controllers add.
    """
    readable = re.sub(r"[^a-z0-9]+", "-", "-".join(parts).lower()).strip("-")
    if not readable[:1].isalpha():
        readable = f"kv-{readable}"
    return f"{readable[: limit - 9].rstrip('-')}-{digest(*parts)}"


def label_value(name: str) -> str:
    """`name` if it fits into a label, else a derived name. An annotation contains the full name."""
    return name if len(name) <= _LABEL_MAX else derive(name, limit=_LABEL_MAX)


def claim(pool: str) -> str:
    """Name of the PVC of the Lustre tier. It is a valid Google Cloud label, because the driver copies it."""
    return derive(pool, "lustre")


def filesystem(namespace: str, pool: str) -> str:
    """A Lustre file system name for a pool: 8 characters, a letter first, 30 bits of the pool's digest.

    Each pool has a different name, because the driver refuses to mount two file systems with one name on a node.
    """
    raw = bytes.fromhex(digest(namespace, pool, length=10))
    return "kv" + base64.b32encode(raw).decode().lower()[:6]
