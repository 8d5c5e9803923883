"""Certificates, static tokens and kubeconfigs of one control plane."""

import datetime
import ipaddress
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_VALIDITY = datetime.timedelta(days=1)
_AUTHORITY_USAGE = x509.KeyUsage(
    key_cert_sign=True,
    crl_sign=True,
    digital_signature=False,
    content_commitment=False,
    key_encipherment=False,
    data_encipherment=False,
    key_agreement=False,
    encipher_only=False,
    decipher_only=False,
)
ADMIN = "admin"
# The test bed's own components. The audit policy excludes this group.
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


@dataclass(frozen=True)
class Pair:
    """The files of a certificate and its private key."""

    certificate: Path
    key: Path


class Authority:
    """A certificate authority that writes what it signs into one directory."""

    def __init__(self, directory: Path, name: str) -> None:
        self._directory = directory
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _common_name(name)
        certificate = (
            self._builder(self._name, self._key.public_key())
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(_AUTHORITY_USAGE, critical=True)
            .sign(self._key, hashes.SHA256())
        )
        self.certificate = _write_certificate(directory / f"{name}.crt", certificate)

    def issue(self, name: str) -> Pair:
        """Sign a certificate for 127.0.0.1 and localhost, valid for servers and clients."""
        key = ec.generate_private_key(ec.SECP256R1())
        alternatives = [
            x509.IPAddress(ipaddress.ip_address("127.0.0.1")),
            x509.DNSName("localhost"),
            x509.DNSName("kubernetes.default.svc"),
        ]
        certificate = (
            self._builder(_common_name(name), key.public_key())
            .add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
            .sign(self._key, hashes.SHA256())
        )
        return Pair(
            _write_certificate(self._directory / f"{name}.crt", certificate),
            write_key(self._directory / f"{name}.key", key),
        )

    def _builder(self, subject: x509.Name, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
        now = datetime.datetime.now(datetime.UTC)
        authority = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(minutes=5))
            .not_valid_after(now + _VALIDITY)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
            .add_extension(authority, critical=False)
        )


def write_key(path: Path, key: ec.EllipticCurvePrivateKey | None = None) -> Path:
    """Write a private key (a new one by default) that only the owner may read."""
    pem = (key or ec.generate_private_key(ec.SECP256R1())).private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    )
    path.touch(mode=0o600)
    path.write_bytes(pem)
    return path


def _write_certificate(path: Path, certificate: x509.Certificate) -> Path:
    path.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    return path


def _common_name(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


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
