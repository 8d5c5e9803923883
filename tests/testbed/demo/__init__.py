"""`make demo`: a pool comes up, changes and goes on a simulated GKE cluster."""
