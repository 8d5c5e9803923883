"""manifests/admission.yaml: who may ask for the data of others, judged by the real API server."""

import shlex
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from testbed.fault_injection import FaultyCluster
from testbed.kube import ApiError, Kube, Object
from testbed.lustre.documents import instance
from testbed.operator_process import ROOT
from testbed.pages import commands
from testbed.pools import API, Pools, manifest
from testbed.tenant import NAME, POOLS, Rule, tenant
from testbed.waiting import eventually

MANIFESTS: list[Object] = list(yaml.safe_load_all((ROOT / "manifests" / "admission.yaml").read_text()))
PAGE = ROOT / "docs" / "how-to" / "several-tenants.md"
VICTIM = "projects/their-project/locations/us-central1-a/instances/victim"
BUCKET = {"uri": "gs://other-teams-secrets/"}
CLUSTER = {"project": "my-project", "location": "us-central1", "name": "none"}
COPIED: Object = {"cluster": CLUSTER, "tiers__cloudStorage": BUCKET}
EXISTING: Object = {
    **dict.fromkeys(
        [f"tiers__lustre__{name}" for name in ("capacity", "throughputPerTiB", "zone", "network")]
    ),
    "tiers__lustre__provisioner": "Existing",
    "tiers__lustre__instance": VICTIM,
}
OWN_ACCOUNT: Object = {"models__0__podTemplate": {"serviceAccountName": "administrator"}}
HOST_PATH: Object = {"models__0__podTemplate": {"volumes": [{"name": "host", "hostPath": {"path": "/"}}]}}


def _container(**context: Any) -> Object:
    return {"name": "beside", "image": "proxy:1", "securityContext": context}


PRIVILEGED: Object = {"models__0__podTemplate": {"initContainers": [_container(privileged=True)]}}
ADDED: Object = {"models__0__podTemplate": {"containers": [_container(capabilities={"add": ["SYS_ADMIN"]})]}}
HELD: Object = {
    "models__0__podTemplate": {**OWN_ACCOUNT["models__0__podTemplate"], **HOST_PATH["models__0__podTemplate"]}
}
HOST_ACCESS: Rule = {
    "apiGroups": ["kvtier.dev"],
    "resources": ["kvcachepools"],
    "verbs": ["use-host-access"],
}
ALLOWED: Rule = {
    "apiGroups": ["kvtier.dev"],
    "resources": ["kvcachepools"],
    "verbs": ["use-existing-instance", "use-cloud-storage"],
}
IMPERSONATE: Rule = {"apiGroups": [""], "resources": ["serviceaccounts"], "verbs": ["impersonate"]}
REFUSED = {
    "an existing instance": (EXISTING, "use-existing-instance"),
    "a bucket": (COPIED, "use-cloud-storage"),
    "a service account": (OWN_ACCOUNT, "impersonate"),
    "a path of the host": (HOST_PATH, "use-host-access"),
    "a privileged container": (PRIVILEGED, "use-host-access"),
    "an added capability": (ADDED, "use-host-access"),
}


@pytest.fixture(scope="module")
def guarded(own_cluster: FaultyCluster) -> Iterator[FaultyCluster]:
    """The cluster, with the admission policies in effect."""
    kube = own_cluster.kube
    for one in MANIFESTS:
        kube.apply(one)
    namespace = own_cluster.namespace("admission")
    probe = tenant(own_cluster.plane, namespace, rules=(POOLS,))
    for number, (changes, _) in enumerate(REFUSED.values()):
        eventually(lambda n=number, c=changes: _is_refused(probe, namespace, f"probe-{n}", c))  # type: ignore[misc]
    yield own_cluster
    for one in reversed(MANIFESTS):
        kube.delete(one["apiVersion"], one["kind"], one["metadata"]["name"])
    own_cluster.clear()


def _is_refused(user: Kube, namespace: str, name: str, changes: Object) -> bool:
    """Whether the API server refuses a pool; it takes a moment until a new policy is in effect."""
    try:
        user.create(manifest(name, namespace, **changes))
    except ApiError as error:
        return error.code == 403
    user.delete(*API, name, namespace)
    return False


@pytest.fixture
def namespace(guarded: FaultyCluster) -> str:
    return guarded.namespace("a")


def _pools(cluster: FaultyCluster, namespace: str, *more: Rule) -> Pools:
    """The pools of a user who may manage pools in the namespace, and has these rights."""
    return Pools(tenant(cluster.plane, namespace, *more, rules=(POOLS,)), namespace)


@pytest.mark.parametrize(("changes", "verb"), REFUSED.values(), ids=REFUSED)
def test_a_user_without_the_right_cannot_ask_for_it(
    guarded: FaultyCluster, namespace: str, changes: Object, verb: str
) -> None:
    pools = _pools(guarded, namespace)
    with pytest.raises(ApiError, match=verb) as error:
        pools.create("new", **changes)
    assert (error.value.code, error.value.reason) == (403, "Forbidden")


@pytest.mark.parametrize(("changes", "verb"), REFUSED.values(), ids=REFUSED)
def test_a_user_with_the_right_can(
    guarded: FaultyCluster, namespace: str, changes: Object, verb: str
) -> None:
    pools = _pools(guarded, namespace, ALLOWED, IMPERSONATE, HOST_ACCESS)
    assert pools.create("new", **changes)["metadata"]["name"] == "new"


def test_a_user_without_rights_creates_and_edits_pools_of_his_own(
    guarded: FaultyCluster, namespace: str
) -> None:
    pools = _pools(guarded, namespace)
    pools.create("own")
    pools.patch("own", {"tiers": {"cpu": {"capacity": "120Gi"}}})
    pools.create("bare", tiers__lustre=None)


ASKING: dict[str, Any] = {
    "a bucket": {"cluster": CLUSTER, "tiers": {"cloudStorage": BUCKET}},
    "a service account": {
        "models": [
            {
                "name": "chat",
                "model": "example/model",
                "tensorParallelSize": 8,
                "podTemplate": {"serviceAccountName": "administrator"},
            }
        ]
    },
}


@pytest.mark.parametrize("change", ASKING.values(), ids=ASKING)
def test_an_edit_cannot_add_it(guarded: FaultyCluster, namespace: str, change: Object) -> None:
    pools = _pools(guarded, namespace)
    pools.create("own")
    with pytest.raises(ApiError, match="may not use"):
        pools.patch("own", change)


def test_an_edit_of_another_model_leaves_host_access_alone(guarded: FaultyCluster, namespace: str) -> None:
    Pools(guarded.kube, namespace).create("shared", **HOST_PATH)
    pools = _pools(guarded, namespace)
    first = pools.get("shared")["spec"]["models"][0]
    second = {"name": "second", "model": "example/model", "tensorParallelSize": 8}
    pools.patch("shared", {"models": [first, second]})
    with pytest.raises(ApiError, match="podTemplate of model second"):
        pools.patch("shared", {"models": [first, {**second, "podTemplate": first["podTemplate"]}]})


def test_a_tier_that_was_removed_cannot_return_as_an_existing_instance(
    guarded: FaultyCluster, namespace: str
) -> None:
    pools = _pools(guarded, namespace)
    pools.create("own")
    pools.patch("own", {"tiers": {"lustre": None}})
    lustre = {"provisioner": "Existing", "instance": VICTIM}
    with pytest.raises(ApiError, match="use-existing-instance"):
        pools.patch("own", {"tiers": {"lustre": lustre}})


def test_who_lacks_the_right_can_edit_and_apply_a_pool_that_has_it_already(
    guarded: FaultyCluster, namespace: str
) -> None:
    """So a GitOps controller, or a colleague, changes other fields, labels and finalizers, and deletes the pool."""
    Pools(guarded.kube, namespace).create("shared", **(EXISTING | COPIED | HELD))
    user = _pools(guarded, namespace).kube
    again = manifest("shared", namespace, **(EXISTING | COPIED | HELD), mode="Opportunistic")
    assert user.apply(again, "gitops")["spec"]["mode"] == "Opportunistic"
    user.patch(*API, "shared", {"metadata": {"finalizers": ["example.com/hold"]}}, namespace)
    user.patch(
        *API, "shared", {"spec": {"tiers": {"cloudStorage": {"exportSchedule": "0 3 * * *"}}}}, namespace
    )
    with pytest.raises(ApiError, match="use-cloud-storage"):
        user.patch(*API, "shared", {"spec": {"tiers": {"cloudStorage": {"uri": "gs://another/"}}}}, namespace)
    user.patch(*API, "shared", {"metadata": {"finalizers": None}}, namespace)
    user.delete(*API, "shared", namespace)
    user.wait_gone(*API, "shared", namespace)


def test_the_operator_needs_no_such_right(guarded: FaultyCluster, namespace: str) -> None:
    project = guarded.plane.lustre_api.project("their-project")
    project.put("victim", instance(9000))
    admin = Pools(guarded.kube, namespace)
    with guarded.operator():
        admin.create("shared", **EXISTING)
        guarded.until_ready(admin, "shared")
        assert admin.get("shared")["metadata"]["finalizers"] == ["kvtier.dev/teardown"]
        admin.delete("shared")
        guarded.until(lambda: guarded.kube.find(*API, "shared", namespace) is None, "the pool is deleted")


def test_the_role_admin_has_the_rights(guarded: FaultyCluster) -> None:
    (role,) = (one for one in MANIFESTS if one["kind"] == "ClusterRole")
    assert role["metadata"]["labels"] == {"rbac.authorization.k8s.io/aggregate-to-admin": "true"}
    assert set(role["rules"][0]["verbs"]) == set(ALLOWED["verbs"])


def test_the_commands_of_the_page_give_a_user_the_rights(guarded: FaultyCluster, namespace: str) -> None:
    shown = [one for one in commands(PAGE) if "pool-data" in one]
    account = f"system:serviceaccount:{namespace}:{NAME}"
    pools = _pools(guarded, namespace)
    for command in shown:
        words = shlex.split(command.replace("team-a", namespace).replace("USER", account))
        guarded.plane.kubectl(*words[1:])
    eventually(
        lambda: not _is_refused(pools.kube, namespace, "shared", EXISTING), what="the user has the right"
    )


def test_the_policies_have_no_type_errors(guarded: FaultyCluster) -> None:
    """The API server reports expressions that can never be evaluated as warnings in the status."""
    for one in MANIFESTS:
        if one["kind"] == "ValidatingAdmissionPolicy":
            found = guarded.kube.get(one["apiVersion"], one["kind"], one["metadata"]["name"])
            assert found.get("status", {}).get("typeChecking", {}).get("expressionWarnings", []) == []
