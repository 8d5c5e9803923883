"""Replicas that the pool leaves to an autoscaler."""

from typing import Any

from kvtier.api.names import ANNOTATION_APPLIED
from kvtier.facts.model import Observed
from kvtier.plan.model import Manifest


def replica_handover(wanted: Manifest, observed: Observed) -> tuple[Manifest, ...]:
    """What keeps the number of replicas when kvtier no longer applies it.

    A field that its only manager stops applying is removed, and replicas would become 1: engines that serve
    would be ended. Needed only when the Deployment is about to be applied without replicas. The version makes
    the API server refuse a number that the autoscaler has changed since.
    """
    if wanted["kind"] != "Deployment" or "replicas" in wanted["spec"]:
        return ()
    live: Any = observed.child("Deployment", wanted["metadata"]["name"]) or {}
    replicas = live.get("spec", {}).get("replicas")
    applied = live.get("metadata", {}).get("annotations", {}).get(ANNOTATION_APPLIED)
    if replicas is None or applied == wanted["metadata"]["annotations"][ANNOTATION_APPLIED]:
        return ()
    identity = {key: live["metadata"][key] for key in ("name", "namespace", "resourceVersion")}
    kind = {key: wanted[key] for key in ("apiVersion", "kind")}
    return ({**kind, "metadata": identity, "spec": {"replicas": replicas}},)
