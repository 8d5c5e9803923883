"""The Managed Lustre service: its API, what it accepts, does and shows, and the CSI driver's steering port."""
