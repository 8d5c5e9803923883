"""Which option of `vllm serve` a spelling reaches."""

import argparse
import contextlib
import functools
import io
from typing import Any

import vllm.entrypoints.cli.serve
from vllm.utils.argparse_utils import FlexibleArgumentParser


def options() -> dict[str, str]:
    """Every option string of `vllm serve`, and the destination that it sets."""
    return {name: action.dest for name, action in _serve(_lenient())._option_string_actions.items()}


def reached(lines: list[list[str]]) -> list[list[str] | None]:
    """For each list of arguments, the destinations that they set, or None if the parser refuses them."""
    default = _parsed([])
    assert default is not None
    return [_changes(default, _parsed(line)) for line in lines]


def _changes(default: dict[str, Any], found: dict[str, Any] | None) -> list[str] | None:
    if found is None:
        return None
    return sorted(name for name, value in found.items() if value != default.get(name))


def _parsed(line: list[str]) -> dict[str, Any] | None:
    try:
        with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
            return dict(vars(_lenient().parse_args(["serve", "some/model", *line])))
    except SystemExit:
        return None
    except (ValueError, IndexError):
        # vLLM changes the list before argparse parses it.
        return None


@functools.cache
def _lenient() -> Any:
    """The parser of `vllm serve`, changed to accept any value, because values do not decide the option."""
    (command,) = vllm.entrypoints.cli.serve.cmd_init()
    whole = FlexibleArgumentParser(prog="vllm")
    command.subparser_init(whole.add_subparsers(required=False, dest="subparser"))
    for action in _serve(whole)._actions:
        action.type = action.choices = None
        if type(action).__name__ == "LoRAParserAction":  # its module depends on the version
            action.__class__ = argparse._StoreAction
    return whole


def _serve(whole: Any) -> Any:
    (subparsers,) = [action for action in whole._actions if isinstance(action, argparse._SubParsersAction)]
    return subparsers.choices["serve"]
