"""Documents as somebody else may have written them: fields that are missing, and values that nobody expects.

A change keeps the type of the value, because APIs refuse other types. Fields that identify an object stay: the API
server checks them, or sets them itself.
"""

from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st

TEXTS = (
    *(
        "",
        " ",
        "-",
        "\N{ZERO WIDTH SPACE}",
        "\N{GRINNING FACE}" * 3,
        "\x00",
        "\x1b[31m",
        "a\nb\r\n",
        "\u2028",
    ),
    *("../../x", "a/b/c/d", "projects//locations//instances/", ":", "@", "{{ x }}", "%s {0} $(X)", "*", "~"),
    *(
        "True",
        "null",
        "NaN",
        "9e12",
        "1e999999",
        "-1Gi",
        "9" * 30,
        "v1.99999999999999999999.0-gke.1",
        "x" * 3000,
    ),
)
TIMES = (
    *("0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "9999-12-31T23:59:59.999999Z", "10000-01-01T00:00:00Z"),
    *(
        "2026-11-29T12:00:00.000001Z",
        "2026-11-29T11:00:00Z",
        "1969-12-31T23:59:59Z",
        "0001-01-01T00:00:00+14:00",
    ),
)
QUANTITIES = (
    *("0", "5.", ".5Gi", "+1Gi", "-1Gi", "1500m", "1n", "9e12", "10e12", "1E", "1.0000001Mi", "7Ei"),
    *("9223372036854775807", "1e999999", "1e2147483647", "1e-2147483648", "1e4294967299", "9" * 5000),
)
NUMBERS = (0, 1, -1, 2**31 - 1, -(2**31), 2**63 - 1, -(2**63))

_KEPT = {("metadata",)} | {
    ("metadata", name) for name in ("name", "namespace", "uid", "resourceVersion", "generation")
}
_TYPE = {("kind",), ("apiVersion",)}
_SIZES = ("storage", "memory", "ephemeral-storage", "capacity")
Path = tuple[str | int, ...]


def changed(document: Any, most: int = 3) -> st.SearchStrategy[Any]:
    """The document with up to `most` changes."""
    paths = [path for path in _paths(document) if path not in _KEPT | _TYPE]
    one = st.sampled_from(paths).flatmap(
        lambda path: st.tuples(st.just(path), _other(path, _at(document, path)))
    )
    return st.lists(one, max_size=most, unique_by=lambda change: change[0]).map(
        lambda changes: _with(document, dict(changes))
    )


_GONE: Any = object()


def _other(path: Path, value: Any) -> st.SearchStrategy[Any]:
    """Another value of the same type, or none."""
    return st.just(_GONE) | _odd(path, value)


def _odd(path: Path, value: Any) -> st.SearchStrategy[Any]:
    name = str(path[-1])
    if isinstance(value, bool):
        return st.booleans()
    if isinstance(value, int | float):
        return st.sampled_from(NUMBERS)
    if isinstance(value, str):
        times = name.lower().endswith(("time", "timestamp", "start", "end", "at", "created"))
        return st.sampled_from(TIMES if times else QUANTITIES if name in _SIZES else TEXTS)
    if isinstance(value, list | tuple):
        return st.sampled_from([type(value)(), type(value)([*value, *value])])
    if isinstance(value, dict) and all(isinstance(one, str) for one in value.values()):
        return st.dictionaries(st.sampled_from([*TEXTS, *value]), st.sampled_from(TEXTS), max_size=3)
    return st.just({}) if isinstance(value, dict) else st.just(value)


def _paths(value: Any, path: Path = ()) -> Iterator[Path]:
    if path:
        yield path
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, inner in items:
            yield from _paths(inner, (*path, key))


def _at(value: Any, path: Path) -> Any:
    for key in path:
        value = value[key]
    return value


def _with(value: Any, changes: dict[Path, Any], path: Path = ()) -> Any:
    """A copy with these values; the outermost change wins. Missing items of lists leave no hole."""
    if path in changes:
        return changes[path]
    if isinstance(value, dict):
        made = {key: _with(inner, changes, (*path, key)) for key, inner in value.items()}
        return {key: inner for key, inner in made.items() if inner is not _GONE}
    if isinstance(value, list):
        items = [_with(inner, changes, (*path, index)) for index, inner in enumerate(value)]
        return [inner for inner in items if inner is not _GONE]
    return value
