"""A model of the pool: its source, its engine, and the settings of its Pods."""

import json
from typing import Annotated, ClassVar, Literal

from pydantic import Field, StringConstraints

from kvtier.api.fields import Count, DnsLabel, ObjectName, Quantity, list_map
from kvtier.api.rules import ApiModel, Rule
from kvtier.api.v1alpha1.adapters import Adapter
from kvtier.api.v1alpha1.engine import Engine
from kvtier.api.v1alpha1.pod_template import PodTemplate
from kvtier.data.engines import ENGINES, LMCACHE
from kvtier.data.vllm_flags import ADAPTER_FLAGS, MANAGED_FLAGS, managed_flag, one_of

VariableName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=253)]
Key = Annotated[str, StringConstraints(pattern=r"^[-._a-zA-Z0-9]+$", min_length=1, max_length=253)]
Argument = Annotated[str, StringConstraints(min_length=1, max_length=2048)]

OWNED_VARIABLES = ENGINES.owned
RUNTIME_VARIABLES = ENGINES.runtime_updates
_DTYPES = tuple(dict.fromkeys(dtype for row in ENGINES.versions.values() for dtype in row.kv_cache_dtypes))
KVCacheDtype = Literal[_DTYPES]  # type: ignore[valid-type]


class TokenSecret(ApiModel):
    """A key of a Secret in the pool's namespace."""

    name: Annotated[ObjectName, Field(description="Name of the Secret.")]
    key: Annotated[Key, Field(description="Key of the Secret that contains the token.")] = "token"


class KeyReference(ApiModel):
    """A key of a Secret or ConfigMap in the pool's namespace."""

    name: Annotated[ObjectName, Field(description="Name of the object.")]
    key: Annotated[Key, Field(description="Key in the data of the object.")]


class VariableSource(ApiModel):
    """Source of the value of a variable."""

    secret_key_ref: Annotated[KeyReference | None, Field(description="Key of a Secret.")] = None
    config_map_key_ref: Annotated[KeyReference | None, Field(description="Key of a ConfigMap.")] = None

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            message="valueFrom requires exactly one of secretKeyRef and configMapKeyRef",
            cel="has(self.secretKeyRef) != has(self.configMapKeyRef)",
            holds=lambda source: (source.secret_key_ref is None) != (source.config_map_key_ref is None),
        ),
    )


class Variable(ApiModel):
    """An environment variable of the engine."""

    name: Annotated[VariableName, Field(description="Name of the variable.")]
    value: Annotated[
        str | None, StringConstraints(max_length=32768), Field(description="Value, passed on unchanged.")
    ] = None
    value_from: VariableSource | None = None

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            message="a variable must not have both value and valueFrom",
            cel="!has(self.value) || !has(self.valueFrom)",
            holds=lambda variable: variable.value is None or variable.value_from is None,
        ),
    )


class ConfigMapKey(ApiModel):
    """A key of a ConfigMap in the pool's namespace."""

    name: Annotated[ObjectName, Field(description="Name of the ConfigMap.")]
    key: Annotated[Key, Field(description="Key of the ConfigMap that contains the document.")] = "config.json"


class ModelConfig(ApiModel):
    """The config.json of a model, as in its Hugging Face repository."""

    inline: Annotated[
        str | None,
        StringConstraints(max_length=65_536, min_length=2),
        Field(description="The content of config.json."),
    ] = None
    config_map_key_ref: Annotated[ConfigMapKey | None, Field(description="ConfigMap with config.json.")] = (
        None
    )

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            message="modelConfigFrom requires exactly one of inline or configMapKeyRef",
            cel="has(self.inline) != has(self.configMapKeyRef)",
            holds=lambda config: (config.inline is None) != (config.config_map_key_ref is None),
        ),
    )


class Resources(ApiModel):
    """CPU and memory of the engine, without the CPU tier."""

    cpu: Annotated[int, Field(ge=1, le=1024, description="CPU cores requested per Pod.")] = 8
    memory: Annotated[
        Quantity,
        Field(
            description="Host memory of the engine. The CPU tier is added to the memory request and limit."
        ),
    ] = Quantity("32Gi")


class Autoscaling(ApiModel):
    """Leaves the number of replicas to an autoscaler. It must not be set together with replicas."""

    provider: Annotated[
        Literal["External"],
        Field(
            description="External: your own autoscaler sets the number of replicas, such as an HPA on the Deployment. "
            "kvtier never writes it."
        ),
    ] = "External"


def _unmanaged(model: "ServedModel") -> bool:
    return not any(managed_flag(argument) for argument in model.extra_args)


def _explain_managed(model: "ServedModel") -> str:
    argument = next(a for a in model.extra_args if managed_flag(a))
    managed = managed_flag(argument)
    field = "adapters of the model" if managed in ADAPTER_FLAGS else "the field of the model"
    return f"extraArgs: {argument[:80]!r} sets {managed}, which kvtier manages: use {field}"


def _sets_none(flags: tuple[str, ...]) -> str:
    """CEL: no item of extraArgs sets one of `flags`, in the spellings of `data/vllm_flags.py`."""
    return (
        "self.extraArgs.map(a, a.split('=', 2)[0].split('.', 2)[0].replace('_', '-'))"
        f".all(f, !f.startsWith('-') || f == '-' || !{json.dumps(flags)}.exists(m, m.startsWith(f)))"
    )


def _all_in_keys(model: "ServedModel") -> bool:
    """Whether the keys of the backend contain everything that changes the bytes of a block."""
    unkeyed = any(one_of(argument, LMCACHE.unkeyed_flags) for argument in model.extra_args)
    return model.engine.backend != "LMCache" or not (model.adapters or unkeyed)


def _explain_owned(model: "ServedModel") -> str:
    name = next(variable.name for variable in model.env if variable.name in OWNED_VARIABLES)
    return f"env must not set {name}: reserved for kvtier are " + ", ".join(OWNED_VARIABLES)


class ServedModel(ApiModel):
    """One model of the pool: a Deployment of vLLM Pods and a Service."""

    name: Annotated[
        DnsLabel, Field(description="Name of the model in the pool and in requests to the engine.")
    ]
    model: Annotated[
        str,
        StringConstraints(min_length=1, max_length=512, pattern=r"^[^-]"),
        Field(description="Hugging Face repository, such as Qwen/Qwen3-8B, or a path in the image."),
    ]
    revision: Annotated[
        str | None,
        Field(max_length=128, min_length=1, description="Branch, tag or commit of the repository."),
    ] = None
    token_secret_ref: Annotated[
        TokenSecret | None, Field(description="Secret with a Hugging Face token. Required for gated models.")
    ] = None
    model_config_from: Annotated[
        ModelConfig | None,
        Field(
            description="The config.json of the model. kvtier uses it to count tokens and to choose blocksPerChunk. "
            "Not needed for models that kvtier knows, such as Llama 3 and Qwen3."
        ),
    ] = None
    adapters: Annotated[
        list[Adapter],
        Field(
            max_length=64,
            json_schema_extra=list_map("name"),
            description="LoRA adapters that the engines serve beside the model.",
        ),
    ] = []
    engine: Engine = Engine()
    replicas: Annotated[int | None, Field(ge=0, le=10_000, description="Number of Pods. If omitted, 1.")] = (
        None
    )
    autoscaling: Autoscaling | None = None
    tensor_parallel_size: Annotated[int, Field(ge=1, le=64, description="GPUs per Pod.")] = 1
    max_model_len: Annotated[
        Count | None,
        Field(le=100_000_000, description="Maximum context length, in tokens. If omitted, as in vLLM."),
    ] = None
    kv_cache_dtype: Annotated[
        KVCacheDtype,
        Field(
            description="Data type of cached keys and values. fp8 halves the bytes per token of a 16-bit model, with "
            "some loss of accuracy."
        ),
    ] = "auto"
    block_size: Annotated[
        Literal[16, 32, 64, 128] | None,
        Field(
            description="Tokens per block in GPU memory. If omitted, chosen by the attention kernel, usually 16."
        ),
    ] = None
    blocks_per_chunk: Annotated[
        int | None,
        Field(
            ge=1,
            le=1024,
            description="Blocks per cache file. If omitted, kvtier chooses a number that makes files of at least 16Mi "
            "on Lustre where possible, and does not change it later (status.models[].blocksPerChunk).",
        ),
    ] = None
    max_num_seqs: Annotated[
        Count | None, Field(description="Maximum number of sequences per engine step.")
    ] = None
    max_num_batched_tokens: Annotated[
        Count | None, Field(description="Maximum number of tokens per engine step.")
    ] = None
    gpu_memory_utilization: Annotated[
        float, Field(gt=0, le=1, description="Share of GPU memory that vLLM may use: above 0, at most 1.")
    ] = 0.9
    extra_args: Annotated[
        list[Argument],
        Field(
            max_length=64,
            description="Additional vLLM arguments, passed on unchanged. Flags that kvtier manages are refused.",
            json_schema_extra={"x-kubernetes-list-type": "atomic"},
        ),
    ] = []
    env: Annotated[
        list[Variable],
        Field(
            max_length=64,
            json_schema_extra=list_map("name"),
            description="Additional environment variables of the engine.",
        ),
    ] = []
    resources: Resources = Resources()
    pod_template: PodTemplate | None = None

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            message="replicas must not be set together with autoscaling: the autoscaler sets the number of replicas",
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
            message="extraArgs must not set a flag that kvtier manages: use the field of the model instead (adapters, "
            "for LoRA)",
            cel=f"!has(self.extraArgs) || {_sets_none(MANAGED_FLAGS)}",
            holds=_unmanaged,
            explain=_explain_managed,
        ),
        Rule(
            message="engine.backend LMCache must not be used with adapters, or with extraArgs "
            + ", ".join(LMCACHE.unkeyed_flags)
            + ": LMCache's keys do not contain them, so engines would read blocks of other inputs. Use engine.backend "
            "Native",
            cel="self.engine.backend != 'LMCache' || ((!has(self.adapters) || self.adapters.size() == 0) && "
            f"(!has(self.extraArgs) || {_sets_none(LMCACHE.unkeyed_flags)}))",
            holds=_all_in_keys,
        ),
        Rule(
            message="name of an adapter must not be the name of its model: requests choose between them by name",
            cel="!has(self.adapters) || self.adapters.all(a, a.name != self.name)",
            holds=lambda model: all(adapter.name != model.name for adapter in model.adapters),
        ),
        Rule(
            message="env must not set a variable that lets requests change the weights of a running engine, because "
            "its cached blocks would stay: use adapters instead of " + ", ".join(RUNTIME_VARIABLES),
            cel=f"!has(self.env) || self.env.all(v, !(v.name in {json.dumps(RUNTIME_VARIABLES)}))",
            holds=lambda model: not any(v.name in RUNTIME_VARIABLES for v in model.env),
        ),
        Rule(
            message="env must not set a variable that is reserved for kvtier: " + ", ".join(OWNED_VARIABLES),
            cel=f"!has(self.env) || self.env.all(v, !(v.name in {json.dumps(OWNED_VARIABLES)}))",
            holds=lambda model: not any(v.name in OWNED_VARIABLES for v in model.env),
            explain=_explain_owned,
        ),
    )

    def wanted_replicas(self) -> int | None:
        """Replicas that kvtier sets; None if an autoscaler sets them."""
        return None if self.autoscaling else (1 if self.replicas is None else self.replicas)
