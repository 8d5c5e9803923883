"""Full names of Google Cloud resources, and addresses in its networks, as field types."""

from typing import Annotated

from pydantic import StringConstraints

_PROJECT = r"projects/[a-z][-a-z0-9:.]{0,60}[a-z0-9]"
_ID = r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?"
_KEY_ID = r"[-_A-Za-z0-9]{1,63}"
_OCTET = r"(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_IPV4 = rf"({_OCTET}\.){{3}}{_OCTET}"


def _name(path: str) -> StringConstraints:
    return StringConstraints(pattern=f"^{_PROJECT}/{path}$", max_length=250)


Network = Annotated[str, _name(f"global/networks/{_ID}")]
InstanceName = Annotated[str, _name(f"locations/[a-z]+-[a-z]+[0-9]+-[a-z]/instances/{_ID}")]
KeyName = Annotated[str, _name(f"locations/[-a-z0-9]+/keyRings/{_KEY_ID}/cryptoKeys/{_KEY_ID}")]
PolicyName = Annotated[str, _name(f"locations/[-a-z0-9]+/resourcePolicies/{_ID}")]
Address = Annotated[str, StringConstraints(pattern=f"^{_IPV4}$", max_length=15)]
AddressRange = Annotated[str, StringConstraints(pattern=rf"^{_IPV4}(/(3[0-2]|[12]?[0-9]))?$", max_length=18)]
