"""Unit tests: no API server, no network, no clock. Fixtures of the control plane are not for them."""

from hypothesis import settings

settings.register_profile("unit", deadline=None, print_blob=True)
settings.load_profile("unit")
