"""Access to the Kubernetes API: a small protocol, and its adapter to the official asynchronous client."""
