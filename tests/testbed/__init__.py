"""The test bed: a real Kubernetes control plane on loopback ports, that looks like a GKE cluster.

The API server, controllers, scheduler and CSI sidecars are the real programs; nodes, Pods, the
Managed Lustre backend and the node auto-provisioner are simulated.
"""
