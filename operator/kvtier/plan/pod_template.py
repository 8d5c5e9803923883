"""What a user adds to the engines' Pods, put into the Deployment that kvtier renders. Nothing in it is replaced."""

from typing import Any

from kvtier.api.v1alpha1.pod_template import PodTemplate
from kvtier.plan.children import signed
from kvtier.plan.model import Manifest

_LISTS = ("volumes", "initContainers", "containers")


def added(deployment: Manifest, template: PodTemplate | None) -> Manifest:
    """The Deployment with the additions, every one as it was written. Where Pods run is `pods.placed`'s matter."""
    if template is None:
        return deployment
    given = template.model_dump(by_alias=True, exclude_none=True)
    pod = deployment["spec"]["template"]
    made = {"metadata": _metadata(pod["metadata"], given), "spec": _spec(pod, given)}
    return signed({**deployment, "spec": {**deployment["spec"], "template": made}})


def _metadata(own: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    annotations = {"annotations": given["annotations"]} if given["annotations"] else {}
    return {**own, **annotations, "labels": {**given["labels"], **own["labels"]}}


def _spec(pod: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    spec = pod["spec"]
    engine = spec["containers"][0]
    mounting = {**engine, "volumeMounts": [*engine["volumeMounts"], *given["volumeMounts"]]}
    own = {**spec, "containers": [mounting, *spec["containers"][1:]]}
    lists = {name: [*own.get(name, []), *given[name]] for name in _LISTS if given[name]}
    return {**own, **lists, **_spread(pod["metadata"]["labels"], given), **_grace(given)}


def _spread(selector: dict[str, str], given: dict[str, Any]) -> dict[str, Any]:
    """Pods are spread among those of their model, unless a constraint says otherwise."""
    own = {"labelSelector": {"matchLabels": selector}}
    constraints = [{**own, **constraint} for constraint in given["topologySpreadConstraints"]]
    return {"topologySpreadConstraints": constraints} if constraints else {}


def _grace(given: dict[str, Any]) -> dict[str, Any]:
    name = "terminationGracePeriodSeconds"
    return {name: given[name]} if name in given else {}
