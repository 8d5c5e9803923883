"""The shared tier: one file per concern, and `storage.plan_storage` that chooses by provisioner."""
