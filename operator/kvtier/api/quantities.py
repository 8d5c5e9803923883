"""Kubernetes byte quantities: parsed exactly, written the way the API server writes them."""

import re

GIB = 1 << 30

_UNITS: dict[str, int] = {
    "": 1,
    **{unit: 1024**power for power, unit in enumerate(("Ki", "Mi", "Gi", "Ti", "Pi", "Ei"), start=1)},
    **{unit: 1000**power for power, unit in enumerate(("k", "M", "G", "T", "P", "E"), start=1)},
}
_BINARY = [(size, unit) for unit, size in _UNITS.items() if unit.endswith("i")][::-1]
_SHAPE = re.compile(r"([0-9]+)([A-Za-z]*)")


def parse(text: str) -> int:
    """Bytes of a whole-number quantity such as `9000Gi`; ValueError for anything else."""
    match = _SHAPE.fullmatch(text)
    if match is None or match[2] not in _UNITS:
        raise ValueError(f"{text!r} is not a whole number with a unit such as Mi, Gi or Ti")
    return int(match[1]) * _UNITS[match[2]]


def canonical(size: int) -> str:
    """The API server's spelling of a number of bytes: the largest binary unit that keeps it whole.

    A manifest that spells sizes differently would look changed after every write.
    """
    for unit_size, unit in _BINARY:
        if size and size % unit_size == 0:
            return f"{size // unit_size}{unit}"
    return str(size)


def gib(size: int) -> str:
    """A number of bytes in `Gi`, the only unit that Managed Lustre sizes are exact in."""
    return f"{size // GIB}Gi" if size % GIB == 0 else canonical(size)
