"""The only package with effects: it watches the cluster, runs the planner, writes, and elects a leader."""
