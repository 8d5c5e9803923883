"""The Managed Lustre service behind ``testbed.lustre_api``: what it accepts, does and shows."""
