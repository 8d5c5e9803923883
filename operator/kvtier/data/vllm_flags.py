"""How vLLM reads the arguments of extraArgs, and which flags among them would set what kvtier sets."""

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
"""Flags that set, in any version, what kvtier sets."""


def managed_flag(argument: str) -> str | None:
    """The managed flag that `argument` sets, in any spelling that vLLM's parser accepts, else None."""
    flag = plain_flag(argument)
    return next((managed for managed in MANAGED_FLAGS if flag and managed.startswith(flag)), None)


def plain_flag(argument: str) -> str | None:
    """The flag in `argument` as vLLM's parser reads it, possibly cut short, or None for what is no flag.

    vLLM takes `_` for `-`, `--flag=value`, `--flag.key value` for JSON flags, and any unique prefix of a
    flag (vllm/utils/argparse_utils.py, 0.33.0).
    """
    flag = argument.split("=", 1)[0].split(".", 1)[0].replace("_", "-")
    return flag if flag.startswith("-") and flag != "-" else None


@dataclass(frozen=True)
class Given:
    """A flag of extraArgs, with `-` for `_`, and what follows it; several values are joined by spaces."""

    flag: str
    value: str


def given(arguments: Sequence[str], flags: Collection[str]) -> list[Given]:
    """Those of `arguments` that set one of `flags`, in any spelling that vLLM's parser accepts, in their order.

    Of a flag that stands twice the last one counts for vLLM.
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
    """`-qfp8` as `-q=fp8`: a flag of one letter may have its value attached."""
    flag, value = argument[:2], argument[2:].removeprefix("=")
    return f"{flag}={value}" if value and flag in flags else argument
