"""What GKE adds to Kubernetes: nodes, node auto-provisioning, ComputeClass, and the Container API."""

PROJECT = "my-project"
ZONE = "us-central1-a"
NETWORK = f"projects/{PROJECT}/global/networks/default"
LUSTRE_DRIVER = "lustre.csi.storage.gke.io"
