"""Provisioner CSI: the claim from which the driver makes the instance, from its first look to its growth."""
