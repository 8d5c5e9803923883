"""Which pool a child belongs to, by what it says itself."""

from typing import NamedTuple

from kvtier.api.names import ANNOTATION_POOL, LABEL_POOL, LABEL_POOL_NAMESPACE, label_value
from kvtier.facts.objects import Object


class Place(NamedTuple):
    """Where the API server keeps a child."""

    kind: str
    namespace: str | None
    name: str


def place_of(kind: str, obj: Object) -> Place:
    return Place(kind, obj["metadata"].get("namespace"), obj["metadata"]["name"])


def owner_of(obj: Object) -> tuple[str, str] | None:
    """Namespace and name of the pool that the labels name; in full, from the annotation, where a label cuts it.

    Labels that contradict the annotation, or point into another namespace, are somebody's mistake. Nobody owns
    such a child, so that no pool deletes what is another's.
    """
    metadata = obj["metadata"]
    labels, annotations = metadata.get("labels", {}), metadata.get("annotations", {})
    label, namespace = labels.get(LABEL_POOL, ""), labels.get(LABEL_POOL_NAMESPACE)
    if not namespace or metadata.get("namespace", namespace) != namespace:
        return None
    applied_for, _, name = annotations.get(ANNOTATION_POOL, f"{namespace}/{label}").partition("/")
    return (namespace, name) if (applied_for, label_value(name)) == (namespace, label) else None
