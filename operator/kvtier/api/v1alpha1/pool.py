"""KVCachePool, the one resource that users write."""

import json
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, StringConstraints

from kvtier.api.conditions import Condition
from kvtier.api.fields import list_map
from kvtier.api.rules import ApiModel, Rule
from kvtier.api.v1alpha1.acknowledgement import AcknowledgedCondition
from kvtier.api.v1alpha1.nodepool import NodePool
from kvtier.api.v1alpha1.served_model import ServedModel
from kvtier.api.v1alpha1.status import PoolStatus
from kvtier.api.v1alpha1.tiers import CREDENTIALS, FIXED, Tiers

Identifier = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]([-a-z0-9:.]*[a-z0-9])?$", max_length=128)]


class Cluster(ApiModel):
    """The GKE cluster that kvtier runs in, with its names in the GKE API."""

    project: Annotated[Identifier, Field(description="Project ID.")]
    location: Annotated[
        Identifier, Field(description="Region or zone of the control plane, such as us-central1.")
    ]
    name: Annotated[Identifier, Field(description="Name of the cluster.")]


class PoolSpec(ApiModel):
    """Desired state of the pool."""

    mode: Annotated[
        Literal["Required", "Opportunistic"],
        Field(
            description="When engines start. Required: when the Lustre tier is ready. Opportunistic: without waiting "
            "for the Lustre tier. When it is ready, kvtier rolls the engines out once to use it."
        ),
    ] = "Required"
    deletion_policy: Annotated[
        Literal["Retain", "Delete"],
        Field(
            description="What happens to the Lustre tier when the pool is deleted or the tier is removed from the "
            "spec. Retain: the PVC, the PersistentVolume, the Lustre instance and its data stay. Delete: kvtier "
            "deletes them; it never deletes an existing instance."
        ),
    ] = "Retain"
    strict: Annotated[
        bool,
        Field(
            description="Treat prerequisites with status Unknown as not met. By default, only status False blocks "
            "the pool."
        ),
    ] = False
    acknowledged_conditions: Annotated[
        list[AcknowledgedCondition],
        Field(
            max_length=32,
            json_schema_extra=list_map("type", "reason"),
            description="Prerequisites that are not met by kvtier's tables and rules, and for which you vouch. While a "
            "condition has the type and the reason of an item, it blocks nothing, also with strict.",
        ),
    ] = []
    cluster: Annotated[
        Cluster | None,
        Field(
            description="The GKE cluster of the pool. kvtier reads from the GKE API what Nodes do not report, such as "
            "the VPC network, and knows the project of the Lustre instance. Required with lustre.provisioner API, and "
            "for cloudStorage with lustre.provisioner CSI. Immutable with lustre.provisioner API."
        ),
    ] = None
    tiers: Tiers = Tiers()
    node_pool: NodePool
    models: Annotated[
        list[ServedModel],
        Field(
            min_length=1,
            max_length=16,
            json_schema_extra=list_map("name"),
            description="Models that the pool serves. They share its tiers, but not their cached blocks.",
        ),
    ]

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            message="tensorParallelSize of a model must not exceed nodePool.accelerator.count: a Pod runs on one node",
            cel="self.models.all(m, !has(m.tensorParallelSize) || "
            "m.tensorParallelSize <= self.nodePool.accelerator.count)",
            holds=lambda spec: all(
                model.tensor_parallel_size <= spec.node_pool.accelerator.count for model in spec.models
            ),
        ),
        Rule(
            message="engine.backend LMCache requires tiers.cpu: the LMCache server holds the CPU tier",
            cel="has(self.tiers.cpu) || self.models.all(m, m.engine.backend != 'LMCache')",
            holds=lambda spec: (
                spec.tiers.cpu is not None or all(m.engine.backend != "LMCache" for m in spec.models)
            ),
        ),
        Rule(
            message="tiers.objectStorage requires engine.backend Native: vLLM itself reads and writes the bucket",
            cel="!has(self.tiers.objectStorage) || self.models.all(m, m.engine.backend == 'Native')",
            holds=lambda spec: (
                spec.tiers.object_storage is None or all(m.engine.backend == "Native" for m in spec.models)
            ),
        ),
        Rule(
            message="env must not set variables that come from tiers.objectStorage.credentialsSecretRef: "
            + ", ".join(CREDENTIALS),
            cel="!has(self.tiers.objectStorage) || !has(self.tiers.objectStorage.credentialsSecretRef) || "
            f"self.models.all(m, !has(m.env) || m.env.all(v, !(v.name in {json.dumps(CREDENTIALS)})))",
            holds=lambda spec: (
                spec.tiers.object_storage is None
                or spec.tiers.object_storage.credentials_secret_ref is None
                or not _set_by_user(spec, CREDENTIALS)
            ),
            explain=lambda spec: (
                f"env must not set {_set_by_user(spec, CREDENTIALS)[0]}: it comes from "
                "tiers.objectStorage.credentialsSecretRef"
            ),
        ),
        Rule(
            message=f"env must not set {' or '.join(FIXED)} with tiers.objectStorage: another value corrupts cached "
            "blocks or ends the engine",
            cel="!has(self.tiers.objectStorage) || "
            f"self.models.all(m, !has(m.env) || m.env.all(v, !(v.name in {json.dumps(FIXED)})))",
            holds=lambda spec: spec.tiers.object_storage is None or not _set_by_user(spec, FIXED),
        ),
        Rule(
            message="lustre.provisioner API requires cluster: kvtier creates the instance in cluster.project",
            cel="!has(self.tiers.lustre) || self.tiers.lustre.provisioner != 'API' || has(self.cluster)",
            holds=lambda spec: spec.cluster is not None or _provisioner(spec) != "API",
        ),
        Rule(
            message="cluster is immutable with lustre.provisioner API: name and labels of the instance depend on it",
            cel="!has(self.tiers.lustre) || self.tiers.lustre.provisioner != 'API' || !has(oldSelf.tiers.lustre) || "
            "!has(self.cluster) || !has(oldSelf.cluster) || self.cluster == oldSelf.cluster",
        ),
        Rule(
            message="cloudStorage requires cluster, or lustre.provisioner Existing: kvtier starts copies through the "
            "Lustre API, in the project of the instance",
            cel="!has(self.tiers.cloudStorage) || has(self.cluster) || !has(self.tiers.lustre) || "
            "self.tiers.lustre.provisioner == 'Existing'",
            holds=lambda spec: (
                spec.tiers.cloud_storage is None
                or spec.cluster is not None
                or _provisioner(spec) in (None, "Existing")
            ),
        ),
        Rule(
            message="lustre.maintenance Bypass requires mode Opportunistic: with mode Required, engines do not run "
            "without the Lustre tier",
            cel="!has(self.tiers.lustre) || self.tiers.lustre.maintenance != 'Bypass' || self.mode == 'Opportunistic'",
            holds=lambda spec: (
                spec.mode == "Opportunistic"
                or spec.tiers.lustre is None
                or spec.tiers.lustre.maintenance != "Bypass"
            ),
        ),
    )

    def acknowledges(self, condition: Condition) -> bool:
        """Whether the user vouches for this prerequisite, in its present state."""
        accepted = {(one.type, one.reason) for one in self.acknowledged_conditions}
        return condition.vouchable and (condition.type, condition.reason) in accepted

    def decisive(self, *found: Condition | None) -> Condition:
        """The condition to report, of all that a check found about one type. The last one is never None.

        It is the first that is not met, but one that the user accepts must not hide another one.
        """
        unmet = [one for one in found if one and one.status != "True"]
        standing = [one for one in unmet if not self.acknowledges(one)]
        return next(iter((*standing, *unmet)), None) or next(one for one in found if one)


def _set_by_user(spec: PoolSpec, names: tuple[str, ...]) -> list[str]:
    """The variables among `names` that the env of any model sets."""
    return [variable.name for model in spec.models for variable in model.env if variable.name in names]


def _provisioner(spec: PoolSpec) -> str | None:
    return spec.tiers.lustre.provisioner if spec.tiers.lustre else None


class KVCachePool(ApiModel):
    """A set of vLLM Deployments that share a KV cache beyond GPU memory."""

    metadata: dict[str, Any] = Field(default_factory=dict, exclude=True)
    spec: PoolSpec
    status: PoolStatus = PoolStatus()

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            message="lustre.capacity must not be less than the provisioned capacity in status.tiers: a Lustre instance "
            "cannot shrink",
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
