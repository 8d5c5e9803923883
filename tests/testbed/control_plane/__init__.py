"""A Kubernetes control plane on loopback ports: its programs, processes, credentials, audit log, and a proxy."""
