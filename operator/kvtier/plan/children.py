"""Manifests of children: readable templates, in which a value cannot change the structure."""

import json
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any

import yaml
from jinja2 import Environment, PackageLoader, StrictUndefined, Template, Undefined, pass_context
from jinja2.runtime import Context

from kvtier.api import names
from kvtier.api.v1alpha1 import GROUP, KIND, VERSION, KVCachePool
from kvtier.plan.model import Manifest

_MARK = "\ue000"


class _Values(list[Any]):
    """The values of one rendering, in the order in which the template uses them."""

    def token(self, value: Any) -> str:
        if isinstance(value, Undefined):
            str(value)  # raises, with the name of what is missing
        self.append(value)
        return f"{_MARK}{len(self) - 1}{_MARK}"


@pass_context
def _finalize(context: Context, value: Any) -> str:
    used: _Values = context["_used"]
    return used.token(value)


def render(template: str, **values: Any) -> dict[str, Any]:
    """The object of `templates/<template>.yaml.j2`. Raises if a value is missing."""
    used = _Values()
    text = _template(template).render(**values, _used=used)
    filled: dict[str, Any] = _fill(_parse(text), used)
    return filled


@cache
def _template(name: str) -> Template:
    environment = Environment(
        loader=PackageLoader("kvtier.plan"),
        undefined=StrictUndefined,
        finalize=_finalize,
        autoescape=False,  # noqa: S701 - no HTML: values never enter the text
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.clear()  # else Jinja's function `namespace` would replace a missing value
    return environment.get_template(f"{name}.yaml.j2")


@lru_cache(maxsize=256)
def _parse(text: str) -> Any:
    return yaml.load(text, Loader=yaml.CSafeLoader)


def _fill(node: Any, values: list[Any]) -> Any:
    """A copy of the parsed document with every token replaced by its value."""
    if isinstance(node, dict):
        return {_fill(key, values): _fill(value, values) for key, value in node.items()}
    if isinstance(node, list):
        return [_fill(item, values) for item in node]
    if isinstance(node, str) and _MARK in node:
        return _value(node, values)
    return node


def _value(text: str, values: list[Any]) -> Any:
    index = text.removeprefix(_MARK).removesuffix(_MARK)
    if not index.isdigit():
        raise ValueError(f"a template must use an expression as a whole scalar, not inside {text!r}")
    return values[int(index)]


def labels(namespace: str, pool: str) -> dict[str, str]:
    """Labels that identify the children of a pool."""
    return {
        names.LABEL_MANAGED_BY: "kvtier",
        names.LABEL_POOL: names.label_value(pool),
        names.LABEL_POOL_NAMESPACE: namespace,
    }


def owner(pool: KVCachePool) -> dict[str, Any]:
    """The owner reference: the garbage collector deletes children with their pool."""
    return {
        "apiVersion": f"{GROUP}/{VERSION}",
        "kind": KIND,
        "name": pool.name,
        "uid": pool.uid,
        "controller": True,
        "blockOwnerDeletion": False,
    }


def child(
    template: str, pool: KVCachePool, name: str, marks: Mapping[str, str] | None = None, **values: Any
) -> Manifest:
    """A rendered child with the labels and annotations of all children. `marks`: more annotations."""
    common = {
        "name": name,
        "namespace": pool.namespace,
        "labels": labels(pool.namespace, pool.name),
        "annotations": {names.ANNOTATION_POOL: f"{pool.namespace}/{pool.name}", **(marks or {})},
    }
    return signed(render(template, **common, **values))


def signed(manifest: Manifest) -> Manifest:
    """The manifest with its own digest as an annotation.

    The digest distinguishes a field that kvtier no longer applies from a field that another manager added.
    """
    metadata = manifest["metadata"]
    digest = names.digest(json.dumps(manifest, sort_keys=True), length=16)
    annotations = {**metadata["annotations"], names.ANNOTATION_APPLIED: digest}
    return {**manifest, "metadata": {**metadata, "annotations": annotations}}


def signature(manifest: Manifest) -> str:
    """The digest of a signed manifest."""
    return str(manifest["metadata"]["annotations"][names.ANNOTATION_APPLIED])
