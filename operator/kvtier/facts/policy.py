"""The policy of the installer as kvtier knows it, and what it grants to the pools of one namespace."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Literal, get_args

from kvtier.api.access import project_of
from kvtier.api.kinds import Object
from kvtier.api.names import OPERATOR_NAMESPACE, POLICY, POLICY_KEY
from kvtier.api.policy import InvalidPolicyError, Kind, Policy, parse

KINDS: tuple[Kind, ...] = get_args(Kind)
Problem = Literal["", "Invalid", "Unread"]


@dataclass(frozen=True)
class Grants:
    """What the pools of one namespace may use.

    `projects`: the cluster's own. `network`: the cluster's own as the installer stated it, empty if he did not.
    `learned`: the network that the GKE API returned for a cluster in an own project. `granted`: patterns by kind.
    `where`: namespace and name of the ConfigMap. `problem`: why only the defaults apply, empty if the policy is known.
    """

    projects: frozenset[str] = frozenset()
    network: str = ""
    learned: str = ""
    granted: Mapping[Kind, tuple[str, ...]] = field(default_factory=dict)
    where: str = f"{OPERATOR_NAMESPACE}/{POLICY}"
    problem: Problem = ""

    def allows(self, kind: Kind, value: str) -> bool:
        """Whether pools may use a value: it belongs to the cluster, or is granted."""
        # A copy with such a path might leave the prefix that is granted.
        if ".." in value.split("/"):
            return False
        return self._own(kind, value) or any(matches(one, value) for one in self.granted.get(kind, ()))

    def _own(self, kind: Kind, value: str) -> bool:
        match kind:
            case "projects":
                return value in self.projects
            case "networks" if self.network:
                return value == self.network
            case "networks":
                return value == self.learned or project_of(value) in self.projects
            case "kmsKeys":
                return project_of(value) in self.projects
        return False


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(".*".join(re.escape(part) for part in pattern.split("*")))


def matches(pattern: str, value: str) -> bool:
    """Whether a value matches a pattern, in which * stands for any characters."""
    return _compiled(pattern).fullmatch(value) is not None


@dataclass(frozen=True)
class PolicyFacts:
    """The last valid policy, the default if there is none. `where` and `problem` as in `Grants`."""

    policy: Policy = field(default_factory=Policy)
    where: str = f"{OPERATOR_NAMESPACE}/{POLICY}"
    problem: Problem = ""

    def grants(self, namespace: str, projects: frozenset[str]) -> Grants:
        """What the pools of a namespace may use. `projects`: those of the nodes."""
        cluster = self.policy.cluster
        mine = [one for one in self.policy.grants if any(matches(name, namespace) for name in one.namespaces)]
        return Grants(
            projects=frozenset({cluster.project}) if cluster.project else projects,
            network=cluster.network or "",
            granted={kind: tuple(value for one in mine for value in one.patterns(kind)) for kind in KINDS},
            where=self.where,
            problem=self.problem,
        )


def installed(config_map: Object | None) -> Policy:
    """The policy in the ConfigMap; the default if it does not exist. Raises InvalidPolicyError."""
    if config_map is None:
        return Policy()
    text = (config_map.get("data") or {}).get(POLICY_KEY)
    if text is None:
        raise InvalidPolicyError(f"the ConfigMap has no key {POLICY_KEY}")
    return parse(text)
