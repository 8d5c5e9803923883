"""How vLLM parses the arguments in extraArgs, and which flags kvtier manages."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from kvtier.data.engines import ENGINES

_FLAGS = (
    flag
    for version in ENGINES.versions.values()
    for spellings in version.flags.values()
    for flag in spellings
)
MANAGED_FLAGS = tuple(dict.fromkeys(_FLAGS))
"""Flags that, in any version, set what kvtier also sets."""
ADAPTER_FLAGS = tuple(
    flag
    for version in ENGINES.versions.values()
    for name in ("enableAdapters", "adapters")
    for flag in version.flags[name]
)
"""Those of them that add LoRA adapters."""


def managed_flag(argument: str) -> str | None:
    """The managed flag that `argument` sets, in any spelling that vLLM's parser accepts, else None."""
    return one_of(argument, MANAGED_FLAGS)


def one_of(argument: str, flags: Collection[str]) -> str | None:
    """The first of `flags` that `argument` sets, maybe abbreviated, else None."""
    flag = plain_flag(argument)
    return next((known for known in flags if flag and known.startswith(flag)), None)


def plain_flag(argument: str) -> str | None:
    """The flag in `argument` as vLLM's parser reads it, maybe abbreviated, or None if it is not a flag.

    vLLM accepts `_` for `-`, `--flag=value`, `--flag.key value` for JSON flags, and any unique prefix of a
    flag (vllm/utils/argparse_utils.py, 0.33.0).
    """
    flag = argument.split("=", 1)[0].split(".", 1)[0].replace("_", "-")
    return flag if flag.startswith("-") and flag != "-" else None


@dataclass(frozen=True)
class Given:
    """A flag in extraArgs, with `-` for `_`, and its value; several values are joined by spaces."""

    flag: str
    value: str


def given(arguments: Sequence[str], flags: Collection[str]) -> list[Given]:
    """The `arguments` that set one of `flags`, in any spelling that vLLM's parser accepts, in their order.

    If a flag is repeated, vLLM uses the last one.
    """
    found: list[tuple[str, list[str]]] = []
    values: list[str] = []
    for argument in arguments:
        spelled, has_value, value = _apart(argument, flags).partition("=")
        if plain_flag(spelled) is None:
            values.append(argument)
            continue
        values = [value] if has_value else []
        found.append((spelled.replace("_", "-"), values))
    return [Given(flag, " ".join(of)) for flag, of in found if _is_one(flag, flags)]


def _is_one(flag: str, flags: Collection[str]) -> bool:
    return any(known.startswith(plain_flag(flag) or "?") for known in flags)


def _apart(argument: str, flags: Collection[str]) -> str:
    """`-qfp8` becomes `-q=fp8`: the value may directly follow a flag of one letter."""
    flag, value = argument[:2], argument[2:].removeprefix("=")
    return f"{flag}={value}" if value and flag in flags else argument
