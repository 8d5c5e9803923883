"""gcloud commands for messages, with the real names where the pool gives them."""

from kvtier.api.v1alpha1.pool import Cluster

NODE_POOL = "cloud.google.com/gke-nodepool"
"""Node label with the name of the node pool."""


def clusters(verb: str, cluster: Cluster | None, flags: str) -> str:
    """`gcloud container clusters VERB`; without spec.cluster, the names to fill in are in capitals."""
    name, location, project = "CLUSTER", "LOCATION", "PROJECT"
    if cluster is not None:
        name, location, project = cluster.name, cluster.location, cluster.project
    return f"gcloud container clusters {verb} {name} --location={location} --project={project} {flags}"
