"""KVCachePool, the one resource that users write."""

import json
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, StringConstraints

from kvtier.api.fields import list_map
from kvtier.api.rules import ApiModel, Rule
from kvtier.api.v1alpha1.nodepool import NodePool
from kvtier.api.v1alpha1.served_model import ServedModel
from kvtier.api.v1alpha1.status import PoolStatus
from kvtier.api.v1alpha1.tiers import CREDENTIALS, FIXED, Tiers

Identifier = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]([-a-z0-9:.]*[a-z0-9])?$", max_length=128)]


class Cluster(ApiModel):
    """The GKE cluster that kvtier runs in, as the GKE API names it."""

    project: Annotated[Identifier, Field(description="Project id.")]
    location: Annotated[Identifier, Field(description="Region or zone of the control plane.")]
    name: Annotated[Identifier, Field(description="Name of the cluster.")]


class PoolSpec(ApiModel):
    """What the pool should be."""

    mode: Annotated[
        Literal["Required", "Opportunistic"],
        Field(
            description="Required: engines wait until every tier is there. Opportunistic: engines start without the "
            "shared tier and take it up when it is ready, with one rollout."
        ),
    ] = "Required"
    deletion_policy: Annotated[
        Literal["Retain", "Delete"],
        Field(
            description="What happens to the shared tier and its data when the pool is deleted. Retain keeps claim, "
            "volume and instance."
        ),
    ] = "Retain"
    strict: Annotated[
        bool, Field(description="Treat prerequisites that cannot be seen (status Unknown) as not met.")
    ] = False
    cluster: Annotated[
        Cluster | None,
        Field(description="Lets kvtier ask the GKE API what Nodes do not tell, such as the VPC network."),
    ] = None
    tiers: Tiers = Tiers()
    node_pool: NodePool
    models: Annotated[
        list[ServedModel],
        Field(
            min_length=1,
            max_length=16,
            json_schema_extra=list_map("name"),
            description="Models that the pool serves. They share its tiers, but never each other's blocks.",
        ),
    ]

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            message="tensorParallelSize of a model cannot exceed nodePool.accelerator.count: a Pod runs on one node",
            cel="self.models.all(m, !has(m.tensorParallelSize) || "
            "m.tensorParallelSize <= self.nodePool.accelerator.count)",
            holds=lambda spec: all(
                model.tensor_parallel_size <= spec.node_pool.accelerator.count for model in spec.models
            ),
        ),
        Rule(
            message="engine.backend LMCache needs the cpu tier, which its server holds",
            cel="has(self.tiers.cpu) || self.models.all(m, m.engine.backend != 'LMCache')",
            holds=lambda spec: (
                spec.tiers.cpu is not None or all(m.engine.backend != "LMCache" for m in spec.models)
            ),
        ),
        Rule(
            message="objectStorage needs engine.backend Native: it is vLLM that reads and writes the bucket",
            cel="!has(self.tiers.objectStorage) || self.models.all(m, m.engine.backend == 'Native')",
            holds=lambda spec: (
                spec.tiers.object_storage is None or all(m.engine.backend == "Native" for m in spec.models)
            ),
        ),
        Rule(
            message="env may not set the keys of objectStorage.credentialsSecretRef: "
            + ", ".join(CREDENTIALS),
            cel="!has(self.tiers.objectStorage) || !has(self.tiers.objectStorage.credentialsSecretRef) || "
            f"self.models.all(m, !has(m.env) || m.env.all(v, !(v.name in {json.dumps(CREDENTIALS)})))",
            holds=lambda spec: (
                spec.tiers.object_storage is None
                or spec.tiers.object_storage.credentials_secret_ref is None
                or not _set_by_user(spec, CREDENTIALS)
            ),
            explain=lambda spec: (
                f"env may not set {_set_by_user(spec, CREDENTIALS)[0]}: it comes from "
                "tiers.objectStorage.credentialsSecretRef"
            ),
        ),
        Rule(
            message="env may not set, with objectStorage, what keeps blocks whole and engines running: "
            + ", ".join(FIXED),
            cel="!has(self.tiers.objectStorage) || "
            f"self.models.all(m, !has(m.env) || m.env.all(v, !(v.name in {json.dumps(FIXED)})))",
            holds=lambda spec: spec.tiers.object_storage is None or not _set_by_user(spec, FIXED),
        ),
        Rule(
            message="lustre.provisioner API needs cluster: it says in which project the instance is made",
            cel="!has(self.tiers.lustre) || self.tiers.lustre.provisioner != 'API' || has(self.cluster)",
            holds=lambda spec: spec.cluster is not None or _provisioner(spec) != "API",
        ),
        Rule(
            message="cluster is immutable with lustre.provisioner API: the instance is named and labelled after it",
            cel="!has(self.tiers.lustre) || self.tiers.lustre.provisioner != 'API' || !has(oldSelf.tiers.lustre) || "
            "!has(self.cluster) || !has(oldSelf.cluster) || self.cluster == oldSelf.cluster",
        ),
        Rule(
            message="cloudStorage needs cluster, or an existing instance: kvtier has to ask the Lustre API for copies",
            cel="!has(self.tiers.cloudStorage) || has(self.cluster) || !has(self.tiers.lustre) || "
            "self.tiers.lustre.provisioner == 'Existing'",
            holds=lambda spec: (
                spec.tiers.cloud_storage is None
                or spec.cluster is not None
                or _provisioner(spec) in (None, "Existing")
            ),
        ),
        Rule(
            message="lustre.maintenance Bypass needs mode Opportunistic: engines of a Required pool cannot run without "
            "the tier",
            cel="!has(self.tiers.lustre) || self.tiers.lustre.maintenance != 'Bypass' || self.mode == 'Opportunistic'",
            holds=lambda spec: (
                spec.mode == "Opportunistic"
                or spec.tiers.lustre is None
                or spec.tiers.lustre.maintenance != "Bypass"
            ),
        ),
    )


def _set_by_user(spec: PoolSpec, names: tuple[str, ...]) -> list[str]:
    """Which of these variables a model's env sets."""
    return [variable.name for model in spec.models for variable in model.env if variable.name in names]


def _provisioner(spec: PoolSpec) -> str | None:
    return spec.tiers.lustre.provisioner if spec.tiers.lustre else None


class KVCachePool(ApiModel):
    """A set of vLLM Deployments that share a KV cache reaching past GPU memory."""

    metadata: dict[str, Any] = Field(default_factory=dict, exclude=True)
    spec: PoolSpec
    status: PoolStatus = PoolStatus()

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            message="lustre.capacity cannot go below what is provisioned (status.tiers): Lustre only grows",
            cel="!has(self.spec.tiers.lustre) || !has(oldSelf.spec.tiers.lustre) || "
            "self.spec.tiers.lustre.provisioner == 'Existing' || !has(self.spec.tiers.lustre.capacity) || "
            "(has(oldSelf.spec.tiers.lustre.capacity) && "
            "self.spec.tiers.lustre.capacity == oldSelf.spec.tiers.lustre.capacity) || "
            "!has(self.status) || !has(self.status.tiers) || self.status.tiers.all(t, t.name != 'lustre' || "
            "!has(t.capacity) || quantity(self.spec.tiers.lustre.capacity).compareTo(quantity(t.capacity)) >= 0)",
        ),
    )

    @property
    def name(self) -> str:
        return str(self.metadata.get("name", ""))

    @property
    def namespace(self) -> str:
        return str(self.metadata.get("namespace") or "default")

    @property
    def uid(self) -> str:
        return str(self.metadata.get("uid", ""))

    @property
    def generation(self) -> int:
        return int(self.metadata.get("generation", 0))

    @property
    def deleting(self) -> bool:
        return "deletionTimestamp" in self.metadata
