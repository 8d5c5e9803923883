"""Live objects as the API server has them, and the names by which GKE's own are known."""

from collections.abc import Mapping
from typing import Any

Object = Mapping[str, Any]

LUSTRE_DRIVER = "lustre.csi.storage.gke.io"
"""Name of the driver and of its CSIDriver object (GoogleCloudPlatform/lustre-csi-driver)."""
