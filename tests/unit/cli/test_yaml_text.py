"""YAML in files and in what `kvtier render` prints. tests/integration/test_yaml_text.py asks the API server."""

from typing import Any

from kvtier.cli.yaml_text import documents, dumped
from unit.tables import table


@table(
    "text, value",
    {
        "a date is a text": ("2026-11-01", "2026-11-01"),
        "a time of day is a text": ("1:30", "1:30"),
        "an exponent is a number": ("1e3", 1000.0),
        "y is true": ("y", True),
        "off is false": ("off", False),
        "leading zeros are octal": ("0777", 0o777),
        "with other digits, they are decimal": ("08", 8.0),
        "hexadecimal": ("0x1F", 31),
        "a number of more than 64 bits": ("123456789012345678901234567890", 1.2345678901234568e29),
        "infinity": ("-.inf", float("-inf")),
        "nothing is null": ("", None),
        "an equals sign is a text": ("=", "="),
        "two smaller-than signs are a text": ("<<", "<<"),
    },
)
def test_a_plain_value_is(text: str, value: Any) -> None:
    assert [*documents(f"a: {text}")] == [{"a": value}]


def test_a_merge_key_merges() -> None:
    assert [*documents("a: &x {b: 1}\nc: {<<: *x, d: 2}")] == [{"a": {"b": 1}, "c": {"b": 1, "d": 2}}]


def test_what_is_written_is_read_again() -> None:
    texts = ["y", "1e3", "08", "2026-11-01", "1:30", "<<", "=", "null", "", "plain", "0.33", "🙂"]
    assert [*documents(dumped([texts]))] == [texts]
