"""Kubernetes byte quantities: parsed exactly, written the way the API server writes them."""

import re

GIB = 1 << 30

_UNITS: dict[str, int] = {
    "": 1,
    **{unit: 1024**power for power, unit in enumerate(("Ki", "Mi", "Gi", "Ti", "Pi", "Ei"), start=1)},
    **{unit: 1000**power for power, unit in enumerate(("k", "M", "G", "T", "P", "E"), start=1)},
}
_LARGEST_FIRST = sorted(_UNITS.items(), key=lambda item: (item[0].endswith("i"), item[1]), reverse=True)
_SHAPE = re.compile(r"([0-9]+)([A-Za-z]*)")


def parse(text: str) -> int:
    """Bytes of a whole-number quantity such as `9000Gi`; ValueError for anything else."""
    match = _SHAPE.fullmatch(text)
    if match is None or match[2] not in _UNITS:
        raise ValueError(f"{text!r} is not a whole number with a unit such as Mi, Gi or Ti")
    return int(match[1]) * _UNITS[match[2]]


def canonical(size: int) -> str:
    """A number of bytes as the API server writes it: a whole number with the largest possible unit.

    Any other form would look changed after every write. Binary units come first. If none of them gives a whole number,
    the unit is decimal, because the API server turns `1000000` into `1M`.
    """
    if size == 0:
        return "0"
    unit, unit_size = next(item for item in _LARGEST_FIRST if size % item[1] == 0)
    return f"{size // unit_size}{unit}"


def gib(size: int) -> str:
    """A number of bytes in `Gi`. Managed Lustre sizes are whole numbers only in this unit."""
    return f"{size // GIB}Gi" if size % GIB == 0 else canonical(size)
