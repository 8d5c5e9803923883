"""What should exist: pure functions from a pool and the observed world to wanted objects and status."""
