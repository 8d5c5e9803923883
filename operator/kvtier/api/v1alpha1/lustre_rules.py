"""Rules of the Lustre tier: which fields go together, which values they take, and which are immutable.

In every rule, `lustre` is a `LustreTier`.
"""

from typing import Any

from kvtier.api.rules import Rule
from kvtier.data.lustre_limits import DYNAMIC, limits, tiers

_API_ONLY = ("dynamicTier", "kmsKey", "placementPolicy", "accessRules", "maintenanceWindow")
_OF_THE_INSTANCE = ("throughputPerTiB", "zone", "network")
_BY_HAND = ("address", "filesystem", "capacity")
_IMMUTABLE = (
    "provisioner",
    *_OF_THE_INSTANCE,
    "dynamicTier",
    "filesystem",
    "instance",
    "address",
    "kmsKey",
    "placementPolicy",
)


def _required(name: str, *provisioners: str) -> Rule:
    known = f"self.provisioner in {list(provisioners)}"
    return Rule(
        message=f"{name} is required with provisioner {' or '.join(provisioners)}",
        cel=f"!({known}) || has(self.{name})",
        holds=lambda lustre: lustre.provisioner not in provisioners or lustre.has(name),
    )


def _only(provisioner: str, names: tuple[str, ...], why: str) -> Rule:
    """Allow fields with one provisioner only."""
    return Rule(
        message=f"{', '.join(names)} can be set only with provisioner {provisioner}: {why}",
        cel=f"self.provisioner == '{provisioner}' || {_none(names)}",
        holds=lambda lustre: lustre.provisioner == provisioner or not any(map(lustre.has, names)),
        explain=lambda lustre: (
            f"{', '.join(filter(lustre.has, names))} can be set only with provisioner {provisioner}: {why}"
        ),
    )


def _none(names: tuple[str, ...]) -> str:
    return f"({' && '.join(f'!has(self.{name})' for name in names)})"


def _all(names: tuple[str, ...]) -> str:
    return f"({' && '.join(f'has(self.{name})' for name in names)})"


def _capacity(tier: int | str) -> Rule:
    # Not quantity().asInteger(): it fails for sizes such as 10008000Gi.
    limit, dynamic = limits(tier), tier == DYNAMIC
    gib = "int(self.capacity.replace('Gi', ''))"
    step = f"({gib} <= {limit.threshold} ? {limit.step} : {limit.step_above})"
    above = (
        f"; above {limit.threshold}Gi, a multiple of {limit.step_above}Gi"
        if limit.threshold < limit.max
        else ""
    )
    mine = (
        "has(self.dynamicTier)"
        if dynamic
        else f"has(self.throughputPerTiB) && self.throughputPerTiB == {tier}"
    )
    what = "in the Dynamic tier" if dynamic else f"at {tier} MBps per TiB"
    return Rule(
        message=f"capacity {what} must be a multiple of {limit.step}Gi, from {limit.min}Gi to {limit.max}Gi{above}",
        cel=f"!({mine} && has(self.capacity) && self.capacity.endsWith('Gi')) || "
        f"({gib} >= {limit.min} && {gib} <= {limit.max} && {gib} % {step} == 0)",
        holds=lambda lustre: lustre.tier != tier or not _in_gib(lustre) or limit.allows(lustre.size),
        explain=lambda lustre: (
            f"capacity {lustre.capacity} is not valid {what}: {limit.explain(lustre.size)}"
        ),
    )


def _in_gib(lustre: Any) -> bool:
    return bool(lustre.capacity and lustre.capacity.endswith("Gi"))


def _explain_unit(lustre: Any) -> str:
    near = f": {limits(lustre.tier).explain(lustre.size)}" if lustre.tier else ""
    return f"capacity {lustre.capacity} must be in Gi{near}"


def _immutable(name: str) -> Rule:
    return Rule(
        message=f"{name} is immutable: create a new pool instead",
        cel=f"has(self.{name}) == has(oldSelf.{name}) && (!has(self.{name}) || self.{name} == oldSelf.{name})",
    )


RULES = (
    Rule(
        message="capacity must be in Gi, such as 9000Gi: 9Ti is 9216Gi, which is not a valid size",
        cel="!has(self.capacity) || self.capacity.endsWith('Gi')",
        holds=lambda lustre: not lustre.capacity or _in_gib(lustre),
        explain=_explain_unit,
    ),
    *(_required(name, "CSI", "API") for name in ("capacity", "zone", "network")),
    _required("throughputPerTiB", "CSI"),
    Rule(
        message="provisioner API requires either throughputPerTiB or dynamicTier",
        cel="self.provisioner != 'API' || has(self.throughputPerTiB) != has(self.dynamicTier)",
        holds=lambda lustre: (
            lustre.provisioner != "API" or lustre.has("throughputPerTiB") != lustre.has("dynamicTier")
        ),
    ),
    _required("instance", "Existing"),
    _only("Existing", ("instance", "address"), "the other provisioners create an instance"),
    _only("API", _API_ONLY, "not supported by the Lustre CSI driver"),
    Rule(
        message=f"{', '.join(_OF_THE_INSTANCE)} must not be set with provisioner Existing: the instance defines them",
        cel=f"self.provisioner != 'Existing' || {_none(_OF_THE_INSTANCE)}",
        holds=lambda lustre: lustre.provisioner != "Existing" or not any(map(lustre.has, _OF_THE_INSTANCE)),
    ),
    Rule(
        message=f"{', '.join(_BY_HAND)} must be set all together or not at all with provisioner Existing: kvtier uses "
        "them instead of the Lustre API",
        cel=f"self.provisioner != 'Existing' || {_none(_BY_HAND)} || {_all(_BY_HAND)}",
        holds=lambda lustre: (
            lustre.provisioner != "Existing" or sum(map(lustre.has, _BY_HAND)) in (0, len(_BY_HAND))
        ),
    ),
    Rule(
        message="kmsKey must be in the region of the instance",
        cel="!has(self.kmsKey) || !has(self.zone) || self.zone.startsWith(self.kmsKey.split('/')[3] + '-')",
        holds=lambda lustre: (
            not (lustre.kms_key and lustre.zone) or lustre.zone.startswith(f"{lustre.kms_key.split('/')[3]}-")
        ),
    ),
    *(_capacity(tier) for tier in tiers()),
    *(_immutable(name) for name in _IMMUTABLE),
)
