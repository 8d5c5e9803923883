"""The simulated Managed Lustre service: its API, and the steering port of the CSI driver."""
