"""The policy of the installer: what the pools of each namespace may use with the identity of kvtier.

It is the key policy.yaml of one ConfigMap in the namespace of the operator. Unknown fields make it invalid.
"""

from typing import Annotated, Literal

import yaml
from pydantic import Field, StringConstraints, ValidationError
from pydantic_core import ErrorDetails

from kvtier.api.rules import ApiModel

Kind = Literal["projects", "networks", "instances", "addresses", "buckets", "kmsKeys"]
"""What can be granted: the name of a list in a grant."""

Project = Annotated[str, StringConstraints(pattern=r"^[a-z][-a-z0-9:.]{0,60}[a-z0-9]$")]
NetworkName = Annotated[str, StringConstraints(pattern=r"^projects/[^/]+/global/networks/[^/]+$")]


_MOST = 512
Name = Annotated[str, StringConstraints(pattern=r"^([*]|projects/)", max_length=_MOST)]
ProjectPattern = Annotated[str, StringConstraints(pattern=r"^[*a-z0-9]", max_length=_MOST)]
AddressPattern = Annotated[str, StringConstraints(pattern=r"^[*0-9][*.0-9]*$", max_length=_MOST)]
BucketPattern = Annotated[str, StringConstraints(pattern=r"^([*]|gs://)", max_length=_MOST)]
Namespace = Annotated[str, StringConstraints(pattern=r"^[-a-z0-9*]+$", max_length=63)]


class StatedCluster(ApiModel):
    """The cluster that kvtier runs in. What belongs to it needs no grant."""

    project: Annotated[
        Project | None,
        Field(
            description="Project ID of the cluster. If omitted, kvtier reads it from the provider IDs of nodes."
        ),
    ] = None
    network: Annotated[
        NetworkName | None,
        Field(
            description="VPC network of the cluster, projects/PROJECT/global/networks/NETWORK. Pools may then use no "
            "other network without a grant. If omitted, pools may use the networks of the project, and the network "
            "that the GKE API returns for spec.cluster of the pool."
        ),
    ] = None


class Grant(ApiModel):
    """What the pools of some namespaces may use. In every value, * stands for any characters."""

    namespaces: Annotated[
        list[Namespace], Field(min_length=1, description="Names of namespaces, such as team-a or team-*.")
    ]
    projects: Annotated[
        list[ProjectPattern],
        Field(description="Projects in which kvtier may call the GKE and Lustre APIs, and create instances."),
    ] = []
    networks: Annotated[
        list[Name],
        Field(description="VPC networks of new instances, such as projects/PROJECT/global/networks/NETWORK."),
    ] = []
    instances: Annotated[
        list[Name],
        Field(
            description="Existing instances that pools may mount, such as "
            "projects/PROJECT/locations/ZONE/instances/INSTANCE. Whoever mounts an instance can read and change all "
            "data on it."
        ),
    ] = []
    addresses: Annotated[
        list[AddressPattern],
        Field(description="Addresses of existing instances (tiers.lustre.address), such as 10.90.1.4."),
    ] = []
    buckets: Annotated[
        list[BucketPattern],
        Field(
            description="Cloud Storage prefixes that Managed Lustre may read and write for pools, such as "
            "gs://BUCKET/PREFIX/*."
        ),
    ] = []
    kms_keys: Annotated[
        list[Name],
        Field(
            description="Cloud KMS keys of other projects, such as "
            "projects/PROJECT/locations/REGION/keyRings/RING/cryptoKeys/KEY."
        ),
    ] = []

    def patterns(self, kind: Kind) -> tuple[str, ...]:
        """The values of one list."""
        return tuple(self.kms_keys if kind == "kmsKeys" else getattr(self, kind))


class Policy(ApiModel):
    """The document policy.yaml."""

    cluster: StatedCluster = StatedCluster()
    grants: Annotated[
        list[Grant],
        Field(description="What pools may use beyond the cluster's own project and network. Grants add up."),
    ] = []


class InvalidPolicyError(Exception):
    """The text is not a valid policy. The message has one line per problem."""


def parse(text: str) -> Policy:
    """The policy in a text. Raises InvalidPolicyError."""
    try:
        return Policy.model_validate(yaml.safe_load(text) or {}, extra="forbid")
    except ValidationError as error:
        raise InvalidPolicyError("\n".join(_problem(one) for one in error.errors())) from error
    except (yaml.YAMLError, ValueError) as error:
        raise InvalidPolicyError(f"not valid YAML: {error}") from error
    except RecursionError as error:
        raise InvalidPolicyError("not valid YAML: nested too deeply") from error


def _problem(error: ErrorDetails) -> str:
    path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in error["loc"]).lstrip(".")
    unknown = error["type"] == "extra_forbidden"
    return f"{path or 'policy.yaml'}: {'unknown field' if unknown else error['msg']}"
