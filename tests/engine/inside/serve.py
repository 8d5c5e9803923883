"""Parses a command line with vLLM's own `vllm serve`, validates and configures it, and reads its tiers.

It does everything up to the first use of a device or a socket, with the functions that `vllm serve` itself calls
(vllm/entrypoints/cli/main.py and serve.py, vllm/entrypoints/launchers/api_server/entry.py).
"""

import contextlib
import functools
import inspect
import io
from typing import Any
from unittest import mock

import vllm.entrypoints.cli.serve
from vllm.distributed.kv_transfer.kv_connector.factory import KVConnectorFactory
from vllm.engine.arg_utils import AsyncEngineArgs
from vllm.usage.usage_lib import UsageContext
from vllm.utils.argparse_utils import FlexibleArgumentParser
from vllm.v1.kv_offload.base import Locality
from vllm.v1.kv_offload.factory import OffloadingSpecFactory
from vllm.v1.kv_offload.tiering.factory import SecondaryTierFactory
from vllm.v1.kv_offload.tiering.obj.config import ObjStoreConfig

# The name of a model is not looked up: after parsing, a local directory replaces it. No weights and
# no tokenizer exist there, and the configuration of an engine does not need them.
STAND_IN = {"skip_tokenizer_init": True, "load_format": "dummy"}


class RefusedError(Exception):
    """vLLM's command line ended with an error. The text is its output."""


def answer(command: list[str], model: str) -> dict[str, Any]:
    """The result of the command `vllm ARGUMENT...`, with the model's files in the directory `model`.

    `refused` names the step that refused it, or is None: parse, validate, configure or tiers.
    """
    found: dict[str, Any] = {"refused": None, "why": ""}
    for step in (_parse, _validate, _configure, _tiers):
        try:
            step(found, command, model)
        except Exception as error:
            return _plain(found) | {"refused": step.__name__[1:], "why": f"{type(error).__name__}: {error}"}
    return _plain(found)


@functools.cache
def parser() -> tuple[Any, Any]:
    """The parser of the `vllm` command with its `serve`, and that command."""
    (command,) = vllm.entrypoints.cli.serve.cmd_init()
    whole = FlexibleArgumentParser(prog="vllm")
    command.subparser_init(whole.add_subparsers(required=False, dest="subparser"))
    return whole, command


def parsed(command: list[str]) -> Any:
    """The namespace; raises `RefusedError` where the real command would end with its usage."""
    printed = io.StringIO()
    try:
        with contextlib.redirect_stderr(printed):
            return parser()[0].parse_args(command[1:])
    except SystemExit as error:
        raise RefusedError(printed.getvalue().partition("error: ")[2]) from error


def _parse(found: dict[str, Any], command: list[str], model: str) -> None:
    namespace = found["namespace"] = parsed(command)
    found["model"] = namespace.model = namespace.model_tag
    found["parsed"] = {"port": namespace.port, "revision": namespace.revision}


def _validate(found: dict[str, Any], command: list[str], model: str) -> None:
    parser()[1].validate(found["namespace"])


def _configure(found: dict[str, Any], command: list[str], model: str) -> None:
    namespace = found["namespace"]
    vars(namespace).update(STAND_IN, model=model, tokenizer=model)
    arguments = AsyncEngineArgs.from_cli_args(namespace)
    config = arguments.create_engine_config(usage_context=UsageContext.OPENAI_API_SERVER)
    found["config"] = config
    cache, transfer, scheduler = config.cache_config, config.kv_transfer_config, config.scheduler_config
    found["configured"] = {
        "served": config.model_config.served_model_name,
        "revision": config.model_config.revision,
        "max_model_len": config.model_config.max_model_len,
        "dtype": cache.cache_dtype,
        "block_size": cache.block_size if cache.user_specified_block_size else None,
        "prefix_caching": cache.enable_prefix_caching,
        "hash": cache.prefix_caching_hash_algo,
        "gpu_memory_utilization": cache.gpu_memory_utilization,
        "tensor_parallel_size": config.parallel_config.tensor_parallel_size,
        "max_num_seqs": scheduler.max_num_seqs,
        "max_num_batched_tokens": scheduler.max_num_batched_tokens,
        "connector": transfer and transfer.kv_connector,
        "role": transfer and transfer.kv_role,
        "failure_policy": transfer and transfer.kv_load_failure_policy,
        "extra": transfer and dict(transfer.kv_connector_extra_config),
    }


def _tiers(found: dict[str, Any], command: list[str], model: str) -> None:
    """The tiers that the connector would create from its extra configuration, by vLLM's own factories."""
    transfer = found["config"].kv_transfer_config
    if transfer is None:
        return
    found["connector_class"] = KVConnectorFactory.get_connector_class(transfer).__module__
    if transfer.kv_connector != "OffloadingConnector":
        return
    extra = found["configured"]["extra"]
    spec = OffloadingSpecFactory.get_spec_cls(extra)
    found["spec"] = spec.__name__
    found["metrics"] = sorted(spec.build_metric_definitions(extra))
    found["tiers"] = [_tier(tier) for tier in extra.get("secondary_tiers", [])]


def _tier(tier: dict[str, Any]) -> dict[str, Any]:
    """The arguments of the tier's constructor. It is not called, because it would create directories or connections."""
    kind = SecondaryTierFactory.get_tier_class(tier)
    signature, view = inspect.signature(kind), memoryview(b"")
    with mock.patch.object(SecondaryTierFactory, "get_tier_class", return_value=signature.bind):
        bound = SecondaryTierFactory.create_secondary_tier(tier, view, None)
    detector, given = bound.arguments.pop("backpressure_detector"), _simple(bound.arguments)
    if "locality" in given:
        given["locality"] = Locality(given["locality"]).value
    if "store_config" in bound.arguments:
        given["store"] = ObjStoreConfig(**bound.arguments["store_config"]).to_nixl_params()
    return {"class": kind.__name__, "backpressure": type(detector).__name__, **given}


def _simple(arguments: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in arguments.items() if isinstance(value, str | int | float | bool)}


def _plain(found: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in found.items() if name not in ("namespace", "config")}
