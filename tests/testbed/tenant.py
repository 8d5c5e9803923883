"""A tenant: a user with rights in one namespace only. And witnesses: what a tenant must not change."""

import json
from collections.abc import Mapping
from typing import Any

from testbed.control_plane.cluster import Cluster
from testbed.kube import Kube, Object
from testbed.lustre.client import LustreProject
from testbed.waiting import eventually

RBAC = "rbac.authorization.k8s.io/v1"
NAME = "tenant"
_ALL = ("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection")
Rule = Mapping[str, Any]

POOLS: Rule = {"apiGroups": ["kvtier.dev"], "resources": ["kvcachepools"], "verbs": list(_ALL)}
EDIT: tuple[Rule, ...] = (
    POOLS,
    {
        "apiGroups": [""],
        "resources": ["persistentvolumeclaims", "pods", "services", "secrets", "configmaps"],
        "verbs": list(_ALL),
    },
    {"apiGroups": [""], "resources": ["events"], "verbs": ["get", "list", "watch"]},
    {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": list(_ALL)},
    {"apiGroups": ["batch"], "resources": ["jobs"], "verbs": list(_ALL)},
)
"""What the ClusterRole `edit` of Kubernetes allows, as far as it matters here, and all verbs on pools.

Without kvcachepools/status, and without anything outside the namespace.
"""


def tenant(cluster: Cluster, namespace: str, *more: Rule, rules: tuple[Rule, ...] = EDIT) -> Kube:
    """A client of a new user, who has only these rights and `more`, and only in this namespace.

    With `rules=(POOLS,)` the user may do nothing but manage pools.
    """
    role = {"rules": [dict(rule) for rule in (*rules, *more)]}
    subject = {"kind": "ServiceAccount", "name": NAME, "namespace": namespace}
    bound = {"kind": "Role", "name": NAME, "apiGroup": "rbac.authorization.k8s.io"}
    for api_version, kind, fields in (
        ("v1", "ServiceAccount", {}),
        (RBAC, "Role", role),
        (RBAC, "RoleBinding", {"roleRef": bound, "subjects": [subject]}),
    ):
        metadata = {"name": NAME, "namespace": namespace}
        cluster.kube.apply({"apiVersion": api_version, "kind": kind, "metadata": metadata, **fields})
    made = Kube(cluster.url, cluster.service_account_token(namespace, NAME), cluster.ca_file)
    pools = made.path("kvtier.dev/v1alpha1", "KVCachePool", namespace)
    eventually(lambda: _allowed(made, pools), what="the rights of the tenant are in effect")
    return made


def _allowed(kube: Kube, path: str) -> bool:
    """The authorizer reads roles from a watch, so that a new one is in effect after a moment."""
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": _attributes(path)},
    }
    answer: Object = kube.request(
        "POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", json=review
    )
    return bool(answer["status"]["allowed"])


def _attributes(path: str) -> Object:
    *_, namespace, resource = path.split("/")
    return {"group": "kvtier.dev", "resource": resource, "namespace": namespace, "verb": "create"}


class Witness:
    """Objects, and instances of a Lustre project, as they are now. `unchanged` compares them with later."""

    def __init__(self, kube: Kube, *objects: Object, project: LustreProject | None = None) -> None:
        self._kube = kube
        self._objects = [_essence(self._read(one) or one) for one in objects]
        self._project = project
        self._instances = self._seen()

    def unchanged(self) -> bool:
        """Always True; an AssertionError shows what changed."""
        for before in self._objects:
            found = self._read(before)
            assert found is not None, f"{before['kind']} {before['metadata']['name']} was deleted"
            assert _essence(found) == before
        assert self._seen() == self._instances
        return True

    def _read(self, one: Object) -> Object | None:
        metadata = one["metadata"]
        return self._kube.find(one["apiVersion"], one["kind"], metadata["name"], metadata.get("namespace"))

    def _seen(self) -> str:
        return json.dumps(self._project.instances(), sort_keys=True) if self._project else ""


_BOOKKEEPING = ("resourceVersion", "managedFields", "generation")


def _essence(obj: Object) -> Object:
    """An object without what changes when somebody only looks at it, and without its status."""
    kept = {key: value for key, value in obj.items() if key != "status"}
    metadata = {key: value for key, value in obj["metadata"].items() if key not in _BOOKKEEPING}
    return kept | {"metadata": metadata}
