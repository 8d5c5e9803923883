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


def arguments(extra: Sequence[str]) -> list[Given]:
    """All flags in extraArgs with their values, in their order. Values before the first flag have an empty flag."""
    found: list[tuple[str, list[str]]] = [("", [])]
    for argument in extra:
        spelled, has_value, value = argument.partition("=")
        if plain_flag(spelled) is None:
            found[-1][1].append(argument)
        else:
            found.append((spelled.replace("_", "-"), [value] if has_value else []))
    return [Given(flag, " ".join(values)) for flag, values in found if flag or values]


def given(extra: Sequence[str], flags: Collection[str]) -> list[Given]:
    """The flags in extraArgs that set one of `flags`, in any spelling that vLLM's parser accepts, in their order.

    If a flag is repeated, vLLM uses the last one.
    """
    return [one for one in arguments([_apart(one, flags) for one in extra]) if _is_one(one.flag, flags)]


def _is_one(flag: str, flags: Collection[str]) -> bool:
    return any(known.startswith(plain_flag(flag) or "?") for known in flags)


def _apart(argument: str, flags: Collection[str]) -> str:
    """`-qfp8` becomes `-q=fp8`: the value may directly follow a flag of one letter."""
    flag, value = argument[:2], argument[2:].removeprefix("=")
    return f"{flag}={value}" if value and flag in flags else argument
