"""Kubernetes byte quantities: the whole grammar is read, and sizes are written the way the API server writes them."""

import re
from decimal import MAX_EMAX, MIN_EMIN, ROUND_UP, Context, Decimal

GIB = 1 << 30

_UNITS: dict[str, int] = {
    "": 1,
    **{unit: 1024**power for power, unit in enumerate(("Ki", "Mi", "Gi", "Ti", "Pi", "Ei"), start=1)},
    **{unit: 1000**power for power, unit in enumerate(("k", "M", "G", "T", "P", "E"), start=1)},
}
_LARGEST_FIRST = sorted(_UNITS.items(), key=lambda item: (item[0].endswith("i"), item[1]), reverse=True)
_FRACTIONS = {"n": -9, "u": -6, "m": -3}
"""Powers of ten of the suffixes below one."""

_LARGEST = Decimal((1 << 63) - 1)
"""The largest size in Kubernetes, and the cap of binary quantities there."""

_SHAPE = re.compile(
    r"(?P<number>[+-]?(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++))"
    r"(?:[eE](?P<sign>[+-]?)0*(?P<exponent>[0-9]{1,19})|(?P<unit>[A-Za-z]*))"
)
_UP = Context(prec=100, rounding=ROUND_UP, Emin=MIN_EMIN, Emax=MAX_EMAX, traps=[])
"""Rounds away from zero, as Kubernetes does. 100 digits hold every whole number of bytes over 2^60, so that only parts
of a byte are ever rounded."""


def parse(text: str) -> int:
    """Bytes of a quantity such as `9000Gi`, `1.5Ti`, `9e12` or `1500m`; ValueError for anything else.

    The same as ParseQuantity and Value of apimachinery 0.36 (pkg/api/resource): parts of a byte are rounded away from
    zero. Sizes beyond an int64 become the nearest int64; there Value is undefined. Text of any length takes no more
    time and memory than its length.
    """
    match = _SHAPE.fullmatch(text)
    if match is None or (unit := match["unit"] or "") not in _UNITS | _FRACTIONS:
        raise ValueError(f"{text!r} is not a quantity such as 512Mi, 9000Gi or 1.5Ti")
    exponent = _int32(match["sign"] + match["exponent"]) if match["exponent"] else _FRACTIONS.get(unit, 0)
    number = _UP.scaleb(_UP.create_decimal(match["number"]), exponent)
    size = _UP.multiply(number, _UP.create_decimal(_UNITS.get(unit, 1)))
    return int(max(min(size.to_integral_value(ROUND_UP), _LARGEST), -_LARGEST))


def read(text: object) -> int:
    """Bytes of a quantity in a live object; 0 if it is missing or not a quantity."""
    try:
        return parse(str(text))
    except ValueError:
        return 0


def _int32(text: str) -> int:
    """A number as an int32. apimachinery drops the higher bits of an exponent: `1e4294967299` is 1e3."""
    return (int(text) + (1 << 31)) % (1 << 32) - (1 << 31)


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
