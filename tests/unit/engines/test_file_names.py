"""Models whose text does not fit into a file's name."""

from typing import Any

from kvtier.api.v1alpha1 import ServedModel
from kvtier.engines.conflicts import fault
from unit.builders import model
from unit.tables import table

LMCACHE = {"backend": "LMCache", "lmcache": {"version": "0.5.6"}}


def _fault(name: str, **engine: Any) -> str | None:
    return fault(ServedModel.model_validate(model(model=name, engine=engine)))


@table(
    "name, engine",
    {
        "a name of Hugging Face": ("meta-llama/Llama-3.1-8B-Instruct", {}),
        "the longest for vLLM": ("m" * 239, {}),
        "the longest for LMCache": ("m" * 168, LMCACHE),
        "an @, which vLLM takes": ("a@b", {}),
    },
)
def test_it_fits(name: str, engine: dict[str, Any]) -> None:
    assert _fault(name, **engine) is None


@table(
    "name, engine, words",
    {
        "one byte too many for vLLM": ("m" * 240, {}, "takes 240 bytes there where 239 fit"),
        "bytes count, not letters": ("ä" * 120, {}, "takes 240 bytes"),
        "one byte too many for LMCache": ("m" * 169, LMCACHE, "takes 169 bytes there where 168 fit"),
        "LMCache writes a slash as five bytes": ("/".join(["m" * 80] * 3), LMCACHE, "takes 250 bytes"),
        "an @, which ends a part of LMCache's keys": ("a@b", LMCACHE, "does not take a model with @"),
    },
)
def test_it_does_not(name: str, engine: dict[str, Any], words: str) -> None:
    assert words in str(_fault(name, **engine))
