"""A model of the pool: what is served, with which engine, and how."""

import json
from typing import Annotated, ClassVar, Literal

from pydantic import Field, StringConstraints

from kvtier.api.fields import Count, DnsLabel, ObjectName, Quantity, list_map
from kvtier.api.rules import ApiModel, Rule
from kvtier.api.v1alpha1.engine import Engine
from kvtier.api.v1alpha1.pod_template import PodTemplate
from kvtier.data.engines import ENGINES
from kvtier.data.vllm_flags import MANAGED_FLAGS, managed_flag

VariableName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=253)]
Key = Annotated[str, StringConstraints(pattern=r"^[-._a-zA-Z0-9]+$", min_length=1, max_length=253)]
Argument = Annotated[str, StringConstraints(min_length=1, max_length=2048)]

OWNED_VARIABLES = ENGINES.owned
_DTYPES = tuple(dict.fromkeys(dtype for row in ENGINES.versions.values() for dtype in row.kv_cache_dtypes))
KVCacheDtype = Literal[_DTYPES]  # type: ignore[valid-type]


class TokenSecret(ApiModel):
    """A key of a Secret in the pool's namespace."""

    name: Annotated[ObjectName, Field(description="Name of the Secret.")]
    key: Annotated[Key, Field(description="Key of the Secret's data that holds the token.")] = "token"


class KeyReference(ApiModel):
    """A key of a Secret or ConfigMap in the pool's namespace."""

    name: Annotated[ObjectName, Field(description="Name of the object.")]
    key: Annotated[Key, Field(description="Key of its data.")]


class VariableSource(ApiModel):
    """Where a variable's value comes from."""

    secret_key_ref: KeyReference | None = None
    config_map_key_ref: KeyReference | None = None

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            message="valueFrom needs one of secretKeyRef and configMapKeyRef",
            cel="has(self.secretKeyRef) != has(self.configMapKeyRef)",
            holds=lambda source: (source.secret_key_ref is None) != (source.config_map_key_ref is None),
        ),
    )


class Variable(ApiModel):
    """An environment variable of the engine."""

    name: Annotated[VariableName, Field(description="Name of the variable.")]
    value: Annotated[
        str | None, StringConstraints(max_length=32768), Field(description="Its value, as it is.")
    ] = None
    value_from: VariableSource | None = None

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            message="a variable has a value or a valueFrom, not both",
            cel="!has(self.value) || !has(self.valueFrom)",
            holds=lambda variable: variable.value is None or variable.value_from is None,
        ),
    )


class ConfigMapKey(ApiModel):
    """A key of a ConfigMap in the pool's namespace."""

    name: Annotated[ObjectName, Field(description="Name of the ConfigMap.")]
    key: Annotated[Key, Field(description="Key of its data that holds the document.")] = "config.json"


class ModelConfig(ApiModel):
    """A model's config.json, as in its Hugging Face repository."""

    inline: Annotated[
        str | None,
        StringConstraints(max_length=65_536, min_length=2),
        Field(description="The document itself."),
    ] = None
    config_map_key_ref: Annotated[ConfigMapKey | None, Field(description="ConfigMap that holds it.")] = None

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            message="modelConfigFrom needs one of inline and configMapKeyRef",
            cel="has(self.inline) != has(self.configMapKeyRef)",
            holds=lambda config: (config.inline is None) != (config.config_map_key_ref is None),
        ),
    )


class Resources(ApiModel):
    """What the engine itself needs; the CPU tier is added to its memory."""

    cpu: Annotated[int, Field(ge=1, le=1024, description="CPU cores requested per Pod.")] = 8
    memory: Annotated[
        Quantity,
        Field(
            description="Host memory of the engine without the CPU tier. Request and limit are this plus the tier."
        ),
    ] = Quantity("32Gi")


class Autoscaling(ApiModel):
    """Who owns the number of replicas when the pool does not."""

    provider: Annotated[
        Literal["External"],
        Field(
            description="External: an autoscaler of yours, such as an HPA on the Deployment. kvtier then never writes "
            "the number of replicas."
        ),
    ] = "External"


def _unmanaged(model: "ServedModel") -> bool:
    return not any(managed_flag(argument) for argument in model.extra_args)


def _explain_managed(model: "ServedModel") -> str:
    argument = next(a for a in model.extra_args if managed_flag(a))
    managed = managed_flag(argument)
    return f"extraArgs: {argument[:80]!r} sets {managed}, which kvtier manages: use the field of the model"


def _explain_owned(model: "ServedModel") -> str:
    name = next(variable.name for variable in model.env if variable.name in OWNED_VARIABLES)
    return f"env may not set {name}: kvtier owns " + ", ".join(OWNED_VARIABLES)


class ServedModel(ApiModel):
    """One model of the pool: a Deployment of vLLM Pods and a Service."""

    name: Annotated[
        DnsLabel, Field(description="Name of the model in the pool, and in requests to the engine.")
    ]
    model: Annotated[
        str,
        StringConstraints(min_length=1, max_length=512, pattern=r"^[^-]"),
        Field(
            description="Hugging Face repository such as meta-llama/Llama-3.3-70B-Instruct, or a path in the image."
        ),
    ]
    revision: Annotated[
        str | None, Field(max_length=128, min_length=1, description="Branch, tag or commit.")
    ] = None
    token_secret_ref: Annotated[
        TokenSecret | None, Field(description="Secret that holds a Hugging Face token, for gated models.")
    ] = None
    model_config_from: Annotated[
        ModelConfig | None,
        Field(
            description="The model's config.json, by which kvtier counts tokens and sizes chunks. Not needed for the "
            "models that kvtier knows, such as Llama 3 and Qwen3."
        ),
    ] = None
    engine: Engine = Engine()
    replicas: Annotated[
        int | None, Field(ge=0, le=10_000, description="Number of Pods. 1 when left out.")
    ] = None
    autoscaling: Autoscaling | None = None
    tensor_parallel_size: Annotated[int, Field(ge=1, le=64, description="GPUs of one Pod.")] = 1
    max_model_len: Annotated[
        Count | None, Field(le=100_000_000, description="Longest context, in tokens.")
    ] = None
    kv_cache_dtype: Annotated[
        KVCacheDtype,
        Field(
            description="Element type of cached keys and values. fp8 halves the bytes per token of a 16-bit model, at "
            "some cost in accuracy."
        ),
    ] = "auto"
    block_size: Annotated[
        Literal[16, 32, 64, 128] | None,
        Field(
            description="Tokens of a block in GPU memory. Left out: what the attention kernel likes, 16 as a rule."
        ),
    ] = None
    blocks_per_chunk: Annotated[
        int | None,
        Field(
            ge=1,
            le=1024,
            description="Blocks that are kept as one file. Left out, kvtier takes as many as make files of 16Mi on "
            "Lustre, and keeps to that number (status.models).",
        ),
    ] = None
    max_num_seqs: Annotated[Count | None, Field(description="Most sequences in one engine step.")] = None
    max_num_batched_tokens: Annotated[Count | None, Field(description="Most tokens in one engine step.")] = (
        None
    )
    gpu_memory_utilization: Annotated[
        float, Field(gt=0, le=1, description="Share of GPU memory that vLLM may use, above 0 and at most 1.")
    ] = 0.9
    extra_args: Annotated[
        list[Argument],
        Field(
            max_length=64,
            description="More vLLM arguments, passed as they are. Flags that kvtier manages are refused.",
            json_schema_extra={"x-kubernetes-list-type": "atomic"},
        ),
    ] = []
    env: Annotated[
        list[Variable],
        Field(
            max_length=64,
            json_schema_extra=list_map("name"),
            description="More environment variables of the engine.",
        ),
    ] = []
    resources: Resources = Resources()
    pod_template: Annotated[PodTemplate | None, Field(description="Additions to the engine's Pods.")] = None

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            message="replicas cannot be set together with autoscaling: the autoscaler owns the number of replicas",
            cel="!(has(self.replicas) && has(self.autoscaling))",
            holds=lambda model: model.replicas is None or model.autoscaling is None,
        ),
        Rule(
            message="maxNumBatchedTokens must be at least maxNumSeqs",
            cel="!has(self.maxNumSeqs) || !has(self.maxNumBatchedTokens) || "
            "self.maxNumBatchedTokens >= self.maxNumSeqs",
            holds=lambda model: (model.max_num_batched_tokens or 10**9) >= (model.max_num_seqs or 0),
        ),
        Rule(
            message="extraArgs may not set a flag that kvtier manages: use the field of the model instead",
            cel="!has(self.extraArgs) || self.extraArgs.map(a, a.split('=', 2)[0].split('.', 2)[0].replace('_', '-'))"
            f".all(f, !f.startsWith('-') || f == '-' || !{json.dumps(MANAGED_FLAGS)}.exists(m, m.startsWith(f)))",
            holds=_unmanaged,
            explain=_explain_managed,
        ),
        Rule(
            message="env may not set a variable that kvtier owns: " + ", ".join(OWNED_VARIABLES),
            cel=f"!has(self.env) || self.env.all(v, !(v.name in {json.dumps(OWNED_VARIABLES)}))",
            holds=lambda model: not any(v.name in OWNED_VARIABLES for v in model.env),
            explain=_explain_owned,
        ),
    )

    def wanted_replicas(self) -> int | None:
        """Replicas that kvtier sets, or None when an autoscaler owns them."""
        return None if self.autoscaling else (1 if self.replicas is None else self.replicas)
