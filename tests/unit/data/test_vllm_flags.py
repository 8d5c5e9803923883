"""How extraArgs are parsed."""

from kvtier.data.vllm_flags import Given, given
from unit.tables import table

FLAGS = ("--quantization", "-q", "--layers", "--switch")


@table(
    "arguments, found",
    {
        "none": ([], []),
        "others": (["--other", "--quantization-of", "1", "-", "plain"], []),
        "a separate value": (["--quantization", "fp8"], [Given("--quantization", "fp8")]),
        "a value after an equals sign": (["--quantization=fp8=x"], [Given("--quantization", "fp8=x")]),
        "underscores, but not in the value": (["--lay_ers", "--layers=a_b"], [Given("--layers", "a_b")]),
        "an abbreviated flag": (["--quant", "fp8"], [Given("--quant", "fp8")]),
        "a flag of one letter with its value attached": (["-qfp8"], [Given("-q", "fp8")]),
        "a key of a flag": (["--layers.a_b", "1"], [Given("--layers.a-b", "1")]),
        "several values": (["--layers", "0", "1", "--other", "2"], [Given("--layers", "0 1")]),
        "no value before another flag": (
            ["--switch", "--layers", "1"],
            [Given("--switch", ""), Given("--layers", "1")],
        ),
        "a repeated flag, in its order": (["-q=a", "-q", "b"], [Given("-q", "a"), Given("-q", "b")]),
        "a separate value with an equals sign": (["--layers", "a=1"], [Given("--layers", "a=1")]),
    },
)
def test_given(arguments: list[str], found: list[Given]) -> None:
    assert given(arguments, FLAGS) == found


def test_no_flags_give_nothing() -> None:
    assert given(["--quantization", "fp8"], ()) == []
