"""The policy of the installer, kvtier-system/kvtier-policy, as tests need it."""

import json

from testbed.kube import Kube, Object
from testbed.operator_process import NAMESPACE

NAME = "kvtier-policy"
EVERYTHING: Object = {
    "namespaces": ["*"],
    **{kind: ["*"] for kind in ("projects", "networks", "instances", "addresses", "buckets", "kmsKeys")},
}


def install_policy(kube: Kube, *grants: Object, **fields: Object) -> None:
    """Write the policy: these grants, and other fields such as `cluster`."""
    write_policy(kube, json.dumps({"grants": grants, **fields}))


def write_policy(kube: Kube, text: str) -> None:
    """Write any text as the policy."""
    metadata = {"name": NAME, "namespace": NAMESPACE}
    kube.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"policy.yaml": text}})


def grant_everything(kube: Kube) -> None:
    """Let all pools use everything. Tests have projects of their own, and clusters without nodes."""
    install_policy(kube, EVERYTHING)


def remove_policy(kube: Kube) -> None:
    """Let the defaults apply."""
    kube.delete("v1", "ConfigMap", NAME, NAMESPACE)
