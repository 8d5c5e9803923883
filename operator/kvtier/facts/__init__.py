"""The state of the cluster and of Google Cloud: frozen values (`model`), and the readers that fill them."""
