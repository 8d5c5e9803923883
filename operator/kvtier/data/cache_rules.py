"""What changes the bytes of a cached block: `data/cache_rules.yaml`, typed."""

from functools import cached_property
from itertools import chain

from kvtier.data import Row, Table, table


class Names(Row):
    """Flags and environment variables of vLLM."""

    flags: tuple[str, ...]
    variables: tuple[str, ...]


class Groups(Row):
    """The same, in groups by subject."""

    flags: tuple[tuple[str, ...], ...]
    variables: tuple[tuple[str, ...], ...]


class LengthFree(Row):
    """Models for which the longest context changes no bytes: all their types of rope are listed, their type is not."""

    rope_types: frozenset[str]
    except_model_types: frozenset[str]


class CacheRules(Table):
    """All of `data/cache_rules.yaml`.

    `first`: what changes the bytes by version 1. `harmless`: what does not, by the version that added it. `prefixes`:
    beginnings of variables that change the bytes unless they are harmless.
    """

    first: Names
    prefixes: tuple[str, ...]
    harmless: dict[int, Groups]
    length_free: LengthFree

    @cached_property
    def newest(self) -> int:
        """The version of the rules for new caches."""
        return max(self.harmless)

    def harmless_flags(self, version: int) -> frozenset[str]:
        """Flags that change no bytes, in all full spellings."""
        found = chain.from_iterable(chain.from_iterable(one.flags for one in self._until(version)))
        return frozenset(chain.from_iterable(map(spellings, found)))

    def harmless_variables(self, version: int) -> frozenset[str]:
        """Environment variables that change no bytes."""
        return frozenset(
            chain.from_iterable(chain.from_iterable(one.variables for one in self._until(version)))
        )

    def _until(self, version: int) -> list[Groups]:
        return [groups for since, groups in self.harmless.items() if since <= version]


def spellings(flag: str) -> tuple[str, ...]:
    """A flag and the forms that vLLM's parser adds to a switch."""
    if not flag.startswith("--"):
        return (flag,)
    name = flag.removeprefix("--")
    opposite = {"enable": "disable", "disable": "enable"}
    verb, _, rest = name.partition("-")
    return (flag, f"--no-{name}", *([f"--{opposite[verb]}-{rest}"] if verb in opposite else []))


CACHE_RULES = CacheRules.model_validate(table("cache_rules"))
