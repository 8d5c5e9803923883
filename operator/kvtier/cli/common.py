"""Common parts of the commands: options, pools from YAML files, and errors."""

import json
import re
import sys
from collections.abc import Iterator
from functools import cache
from typing import Any, NoReturn, TextIO

import click
import yaml
from pydantic import ValidationError
from pydantic_core import ErrorDetails, SchemaValidator

from kvtier.api.crd import schema
from kvtier.api.structural import validator, without_nulls
from kvtier.api.v1alpha1 import GROUP, KIND, VERSION, KVCachePool
from kvtier.cli.yaml_text import documents as yaml_documents
from kvtier.kube.client import ApiError

_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LONGEST_NAME = 253


class LoadError(Exception):
    """The file does not contain valid pools. The text has one line per problem."""


def load(text: str, namespace: str) -> list[KVCachePool]:
    """Every KVCachePool in a YAML stream. Other kinds are skipped. `namespace` is for pools without one."""
    try:
        documents = [document for document in yaml_documents(text) if document is not None]
        # As the API server would read it: this finds halves of characters, and aliases to the node around them.
        json.dumps(documents, ensure_ascii=False, skipkeys=True, default=str).encode()
    except UnicodeEncodeError as error:
        half = error.object[error.start]
        raise LoadError(f"not valid YAML: {half!r} is half a character; write the whole one") from error
    except (yaml.YAMLError, ValueError) as error:
        raise LoadError(f"not valid YAML: {error}") from error
    except RecursionError as error:
        raise LoadError("not valid YAML: nested too deeply") from error
    pools = [pool_of(document, namespace) for document in documents if _is_pool(document)]
    if not pools:
        raise LoadError(f"contains no {KIND} of {GROUP}/{VERSION}")
    return pools


def _is_pool(document: Any) -> bool:
    known = isinstance(document, dict) and document.get("kind") == KIND
    if known and document.get("apiVersion") != f"{GROUP}/{VERSION}":
        raise LoadError(
            f"apiVersion: must be {GROUP}/{VERSION} for a {KIND}, not {document.get('apiVersion')!r}"
        )
    return known


def pool_of(document: dict[str, Any], namespace: str) -> KVCachePool:
    """A pool from its manifest. Raises LoadError with all problems."""
    body = {key: value for key, value in document.items() if key not in ("apiVersion", "kind", "status")}
    metadata = body.get("metadata")
    if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str):
        raise LoadError('metadata.name: must be a string; put quotes around names such as "on" or "123"')
    if not _NAME.fullmatch(metadata["name"]) or len(metadata["name"]) > _LONGEST_NAME:
        raise LoadError(
            f"metadata.name: {metadata['name'][:80]!r} must consist of lower case letters, digits, '-' and '.', start "
            f"and end with a letter or digit, and have at most {_LONGEST_NAME} characters"
        )
    body["metadata"] = {"namespace": namespace, **metadata}
    try:
        body = without_nulls(body, schema())
        _structure().validate_python(body)
        return KVCachePool.model_validate(body)
    except ValidationError as error:
        raise LoadError("\n".join(_problems(error))) from error


@cache
def _structure() -> SchemaValidator:
    return validator(schema())


def _problems(error: ValidationError) -> Iterator[str]:
    for problem in error.errors():
        yield f"{_path(problem['loc'])}: {_message(problem)}"


def _message(problem: ErrorDetails) -> str:
    """What pydantic says, in plain words where its own are not."""
    match problem["type"]:
        case "extra_forbidden":
            return "unknown field; remove it or correct its name"
        case "missing":
            return "required field is missing"
        case "string_pattern_mismatch":
            return f"{problem['input']!r} does not match {problem['ctx']['pattern']}"
        case _:
            return problem["msg"].removeprefix("Value error, ")


def _path(parts: tuple[str | int, ...]) -> str:
    """The path of a field as kubectl writes it: spec.models[0].name."""
    path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in parts)
    return path.removeprefix(".")


INVALID_INPUT = 2
_NO_KUBECONFIG = "NoCluster"
"""The reason of `kube.aio.connect`."""
POOL_FILE = click.option(
    "-f", "--filename", "file", required=True, type=click.File(encoding="utf-8"), metavar="FILE",
    help="YAML file with one or more KVCachePools. - reads standard input.",
)  # fmt: skip
NAMESPACE = click.option(
    "-n", "--namespace", default="default", show_default=True, metavar="NAME",
    help="Namespace of pools whose manifest does not set one.",
)  # fmt: skip
KUBECONFIG = click.option(
    "--kubeconfig", envvar="KUBECONFIG", metavar="FILE",
    help="Path of the kubeconfig.  [default: $KUBECONFIG, else ~/.kube/config]",
)  # fmt: skip
CONTEXT = click.option(
    "--context", metavar="NAME", help="Context of the kubeconfig.  [default: its current context]"
)
OUTPUT = click.option(
    "-o", "--output", type=click.Choice(["table", "json"]), default="table", show_default=True, help="Output format."
)  # fmt: skip


def load_pools(file: TextIO, namespace: str) -> list[KVCachePool]:
    try:
        return load(file.read(), namespace)
    except (LoadError, UnicodeDecodeError) as error:
        problems = str(error).splitlines()
        if len(problems) == 1:
            refuse(f"{file.name}: {problems[0]}")
        refuse("\n  ".join([f"{file.name} is not valid:", *problems]))


def refuse_cluster(error: ApiError) -> NoReturn:
    """Exit because the kubeconfig or the cluster could not be read."""
    if error.reason == _NO_KUBECONFIG:
        refuse(
            f"could not read the kubeconfig: {error.message.rstrip('.')}. Check --kubeconfig and --context"
        )
    refuse(f"could not read the cluster: {error.message}")


def refuse(message: str) -> NoReturn:
    """Print an error as click does, and exit."""
    click.echo(f"Error: {message}", err=True)
    sys.exit(INVALID_INPUT)
