"""The Cloud Storage tier: copies from and to the shared tier."""
