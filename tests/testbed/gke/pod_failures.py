"""Makes the Pods of a namespace fail as a test sets it, regardless of who creates them.

A Pod's annotation tells kwok how it fails (see kwok_stages.yaml). The namespace's annotation is copied to every
new Pod by an admission policy, so that the
Pod templates of an operator do not change. The failures `EXITS` apply only to the Pods of Jobs. Other Pods run
normally.
"""

from testbed.kube import ApiError, Kube, Object

NAMESPACE_ANNOTATION = "testbed.kvtier.dev/pod-failure"
POD_ANNOTATION = "testbed.kvtier.dev/failure"
EXITS = tuple(f"exit-{code}" for code in (1, 5, 13, 28, 30))
FAILURES = ("crash-loop", "image-missing", "mount-hangs", *EXITS)

_API_VERSION = "admissionregistration.k8s.io/v1"
_PROBE = "testbed-pod-failures"
_NAME = "pod-failure.testbed.kvtier.dev"
_ANNOTATIONS = "namespaceObject.metadata.annotations"
_OF_JOB = "object.metadata.?ownerReferences.orValue([]).exists(owner, owner.kind == 'Job')"
_FAILS = (
    f"has({_ANNOTATIONS}) && '{NAMESPACE_ANNOTATION}' in {_ANNOTATIONS} && "
    f"(!{_ANNOTATIONS}['{NAMESPACE_ANNOTATION}'].startsWith('exit-') || {_OF_JOB})"
)
_COPY = (
    "Object{metadata: Object.metadata{annotations: "
    f"{{'{POD_ANNOTATION}': {_ANNOTATIONS}['{NAMESPACE_ANNOTATION}']}}}}}}"
)
# This is not a match condition of the policy, because those cannot read the namespace.
_COPY_IF_ANY = f"{_FAILS} ? {_COPY} : Object{{}}"


def policy() -> list[Object]:
    """The admission policy and its binding."""
    pods = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
    spec = {
        "matchConstraints": {"resourceRules": [pods]},
        "failurePolicy": "Fail",
        "reinvocationPolicy": "Never",
        "mutations": [
            {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": _COPY_IF_ANY}}
        ],
    }
    return [
        _object("MutatingAdmissionPolicy", spec),
        _object("MutatingAdmissionPolicyBinding", {"policyName": _NAME}),
    ]


def install(kube: Kube) -> None:
    """Apply the policy, and create the namespace in which `in_force` tries it."""
    annotations = {NAMESPACE_ANNOTATION: FAILURES[0]}
    kube.apply(
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": _PROBE, "annotations": annotations}}
    )
    for manifest in policy():
        kube.apply(manifest)


def in_force(kube: Kube) -> bool:
    """Whether the policy is active: the API server needs a moment to load it."""
    spec = {"containers": [{"name": "main", "image": "any"}]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "probe"}, "spec": spec}
    try:
        seen = kube.request("POST", kube.path("v1", "Pod", _PROBE), json=pod, params={"dryRun": "All"})
    except ApiError:  # no service account yet
        return False
    return POD_ANNOTATION in seen["metadata"].get("annotations", {})


def set_pod_failure(kube: Kube, namespace: str, failure: str | None) -> None:
    """Set the failure of the Pods that are created from now on in a namespace; None lets them run."""
    if failure not in (None, *FAILURES):
        raise ValueError(f"{failure} is not one of {', '.join(FAILURES)}")
    kube.patch("v1", "Namespace", namespace, {"metadata": {"annotations": {NAMESPACE_ANNOTATION: failure}}})


def _object(kind: str, spec: Object) -> Object:
    return {"apiVersion": _API_VERSION, "kind": kind, "metadata": {"name": _NAME}, "spec": spec}
