"""Parses a command line with LMCache's own `lmcache server` into configurations, without starting a server."""

import argparse
import contextlib
import inspect
import io
import re
from pathlib import Path
from typing import Any

import lmcache.integration.vllm
from lmcache.cli.commands.server import ServerCommand
from lmcache.integration.vllm.vllm_multi_process_adapter import ExtraConfigDefault
from lmcache.v1.distributed.config import parse_args_to_config
from lmcache.v1.distributed.l2_adapters import config
from lmcache.v1.distributed.l2_adapters.config import L2AdapterConfigBase, get_l2_adapter_config_class
from lmcache.v1.multiprocess.config import parse_args_to_http_frontend_config, parse_args_to_mp_server_config

_PARSERS = (
    L2AdapterConfigBase._parse_eviction_config,
    L2AdapterConfigBase._parse_persist_config,
    L2AdapterConfigBase._parse_serde_config,
)


def answer(command: list[str]) -> dict[str, Any]:
    """The result of `lmcache server ARGUMENT...`: the text of an error, or the configurations of the server."""
    parser = argparse.ArgumentParser(prog="lmcache server")
    ServerCommand().add_arguments(parser)
    printed = io.StringIO()
    try:
        with contextlib.redirect_stderr(printed):
            arguments = parser.parse_args(command[2:])
        return {"refused": None, **_configured(arguments)}
    except SystemExit:
        return {"refused": printed.getvalue().partition("error: ")[2]}
    except (KeyError, ValueError) as error:
        return {"refused": str(error)}


def _configured(arguments: argparse.Namespace) -> dict[str, Any]:
    server, http = parse_args_to_mp_server_config(arguments), parse_args_to_http_frontend_config(arguments)
    storage = parse_args_to_config(arguments)
    return {
        "server": _fields(server),
        "http": _fields(http),
        "memory": _fields(storage.l1_manager_config.memory_config),
        "eviction": _fields(storage.eviction_config),
        "adapters": [_adapter(one) for one in storage.l2_adapter_config.adapters],
    }


def _adapter(adapter: Any) -> dict[str, Any]:
    eviction = adapter.eviction_config
    return {**_fields(adapter), "kind": type(adapter).__name__, "eviction": eviction and _fields(eviction)}


def _fields(of: Any) -> dict[str, Any]:
    found = vars(of)
    return {name: value for name, value in found.items() if isinstance(value, str | int | float | bool)}


def flags() -> list[str]:
    """Every option string of `lmcache server`."""
    parser = argparse.ArgumentParser()
    ServerCommand().add_arguments(parser)
    return sorted(parser._option_string_actions)


def adapter_keys(kind: str) -> list[str]:
    """Keys that the code reads from an adapter's JSON. LMCache has no list of them."""
    own = get_l2_adapter_config_class(kind).from_dict
    general = (config.parse_args_to_l2_adapters_config, *_PARSERS)
    sources = [inspect.getsource(function) for function in (own, *general)]
    return sorted(
        {"type", *(key for source in sources for key in re.findall(r"""\bd\.get\(\s*"(\w+)\"""", source))}
    )


def connector_keys() -> list[str]:
    """Keys of vLLM's `kv_connector_extra_config` that LMCache's connector reads."""
    root = Path(lmcache.integration.vllm.__file__).parent
    sources = [file.read_text() for file in root.rglob("*.py")]
    spelled = {key for source in sources for key in re.findall(r"""["'](lmcache\.mp\.\w+)["']""", source)}
    return sorted(spelled | {f"lmcache.mp.{one.name}" for one in ExtraConfigDefault})
