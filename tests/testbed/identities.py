"""Who talks to the API server, by static token, and the files that say so."""

import secrets
from pathlib import Path
from typing import Any

import yaml

ADMIN = "admin"

# The bed's own components. Membership of this group keeps them out of the audit log.
BED_GROUP = "testbed"
_MASTERS = "system:masters"
_USERS = {
    ADMIN: [_MASTERS],
    "system:kube-controller-manager": [BED_GROUP],
    "system:kube-scheduler": [BED_GROUP],
    "testbed:kwok": [BED_GROUP, _MASTERS],
    "testbed:csi": [BED_GROUP, _MASTERS],
    "testbed:setup": [BED_GROUP, _MASTERS],
}

AUDIT_POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived", "ResponseStarted"],
    "rules": [
        {"level": "None", "userGroups": [BED_GROUP, "system:serviceaccounts:kube-system"]},
        {"level": "None", "users": ["system:apiserver"]},
        {"level": "None", "nonResourceURLs": ["/*"]},
        {"level": "Metadata"},
    ],
}


def new_tokens() -> dict[str, str]:
    """A fresh token for every user."""
    return {user: secrets.token_urlsafe(24) for user in _USERS}


def write_files(directory: Path, url: str, ca_file: Path, tokens: dict[str, str]) -> None:
    """The API server's token file and audit policy, and a kubeconfig for every user."""
    (directory / "audit-policy.yaml").write_text(yaml.safe_dump(AUDIT_POLICY))
    _write_tokens(directory / "tokens.csv", tokens)
    for user, token in tokens.items():
        write_kubeconfig(directory / "kubeconfigs" / user, url, ca_file, token)


def _write_tokens(path: Path, tokens: dict[str, str]) -> None:
    rows = [f'{token},{user},{user},"{",".join(_USERS[user])}"' for user, token in tokens.items()]
    path.touch(mode=0o600)
    path.write_text("\n".join(rows) + "\n")


def write_kubeconfig(path: Path, url: str, ca_file: Path, token: str, namespace: str = "default") -> Path:
    """A kubeconfig with one context; the server's certificate is verified."""
    config: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "testbed", "cluster": {"server": url, "certificate-authority": str(ca_file)}}],
        "users": [{"name": "testbed", "user": {"token": token}}],
        "contexts": [
            {"name": "testbed", "context": {"cluster": "testbed", "user": "testbed", "namespace": namespace}}
        ],
        "current-context": "testbed",
    }
    path.parent.mkdir(exist_ok=True)
    path.touch(mode=0o600)
    path.write_text(yaml.safe_dump(config, sort_keys=False))
    return path
