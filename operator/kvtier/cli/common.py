"""What commands have in common: options, pools from YAML files, and how they refuse what they cannot read."""

import sys
from collections.abc import Iterator
from typing import Any, NoReturn, TextIO

import click
import yaml
from pydantic import ValidationError

from kvtier.api.v1alpha1 import GROUP, KIND, VERSION, KVCachePool


class LoadError(Exception):
    """The file is no list of valid pools; the text has one line per problem."""


def load(text: str, namespace: str) -> list[KVCachePool]:
    """Every KVCachePool in a YAML stream; `namespace` is for those that name none. Other kinds are skipped."""
    try:
        documents = [document for document in yaml.safe_load_all(text) if document is not None]
    except yaml.YAMLError as error:
        raise LoadError(f"not YAML: {error}") from error
    pools = [_pool(document, namespace) for document in documents if _is_pool(document)]
    if not pools:
        raise LoadError(f"no {KIND} of {GROUP}/{VERSION} in it")
    return pools


def _is_pool(document: Any) -> bool:
    known = isinstance(document, dict) and document.get("kind") == KIND
    if known and document.get("apiVersion") != f"{GROUP}/{VERSION}":
        raise LoadError(
            f"apiVersion of a {KIND} must be {GROUP}/{VERSION}, not {document.get('apiVersion')!r}"
        )
    return known


def _pool(document: dict[str, Any], namespace: str) -> KVCachePool:
    body = {key: value for key, value in document.items() if key not in ("apiVersion", "kind", "status")}
    metadata = body.get("metadata")
    if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str):
        raise LoadError("metadata.name is missing or not a string (a bare `on` or `123` is none in YAML)")
    body["metadata"] = {"namespace": namespace, **metadata}
    try:
        return KVCachePool.model_validate(body, extra="forbid")
    except ValidationError as error:
        raise LoadError("\n".join(_problems(error))) from error


def _problems(error: ValidationError) -> Iterator[str]:
    for problem in error.errors():
        message = problem["msg"].removeprefix("Value error, ")
        if problem["type"] == "extra_forbidden":
            message = "no such field"
        yield f"{_path(problem['loc'])}: {message}"


def _path(parts: tuple[str | int, ...]) -> str:
    """Where a value stands, as kubectl writes it: spec.models[0].name."""
    path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in parts)
    return path.removeprefix(".")


INVALID_INPUT = 2
POOL_FILE = click.option(
    "-f", "--filename", "file", required=True, type=click.File(encoding="utf-8"), metavar="FILE",
    help="YAML file with one or more KVCachePools; - reads standard input.",
)  # fmt: skip
NAMESPACE = click.option(
    "-n", "--namespace", default="default", show_default=True, help="For pools that name no namespace."
)
KUBECONFIG = click.option(
    "--kubeconfig", envvar="KUBECONFIG", metavar="FILE", help="Kubeconfig; ~/.kube/config when left out."
)
CONTEXT = click.option("--context", metavar="NAME", help="Context of the kubeconfig to use.")


def load_pools(file: TextIO, namespace: str) -> list[KVCachePool]:
    try:
        return load(file.read(), namespace)
    except (LoadError, UnicodeDecodeError) as error:
        refuse(f"{file.name}: {error}")


def refuse(message: str) -> NoReturn:
    click.echo(f"kvtier: {message}", err=True)
    sys.exit(INVALID_INPUT)
