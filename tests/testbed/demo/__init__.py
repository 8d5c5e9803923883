"""`make demo`: a pool is created, resized and deleted on a simulated GKE cluster."""
