"""What kvtier assumes about a version of vLLM that it does not know."""

from itertools import combinations

import pytest

from kvtier.api.v1alpha1 import ServedModel
from kvtier.data.engines import ENGINES
from kvtier.engines.versions import facts, nearest
from unit.builders import model, model_cache
from unit.tables import table

OLDEST, NEWEST = sorted(ENGINES.versions)[0], sorted(ENGINES.versions)[-1]
UNKNOWN = ("0.20", "0.34", "0.34.0rc1", "0.34.0rc2", "0.33.0rc1", "1.0")


def _served(version: str) -> ServedModel:
    return ServedModel.model_validate(model(engine={"version": version}))


def _cache(version: str) -> str:
    return model_cache(_served(version), 16).fingerprint


@table(
    "version, row",
    {
        "a newer version gets the newest row": ("0.34", NEWEST),
        "a candidate of a newer version, too": ("0.40.0rc1", NEWEST),
        "a new major version, too": ("1.0", NEWEST),
        "versions are compared as numbers": ("0.100", NEWEST),
        "an older version gets the oldest row": ("0.9", OLDEST),
        "a candidate of a known version gets its row": ("0.33.0rc1", "0.33"),
        "a candidate of an older known version gets its row": ("0.32.0rc1", "0.32"),
    },
)
def test_the_nearest_row(version: str, row: str) -> None:
    assert nearest(version).version == row
    known = facts(_served(version))
    assert (known.version, known.tested) == (version, False)
    assert known.flags == ENGINES.versions[row].flags


@pytest.mark.parametrize("version", ENGINES.versions)
@pytest.mark.parametrize("form", ["{}", "v{}", "{}.1", "v{}.0.post2"])
def test_a_known_version_is_tested_in_every_form(version: str, form: str) -> None:
    assert facts(_served(form.format(version))) == ENGINES.versions[version]


def test_an_unknown_version_shares_its_cache_with_no_other_version() -> None:
    caches = {version: _cache(version) for version in (*ENGINES.versions, *UNKNOWN)}
    pairs = combinations(caches, 2)
    alike = [pair for pair in pairs if len({caches[one] for one in pair}) == 1]
    assert [pair for pair in alike if not set(pair) <= set(ENGINES.versions)] == []


def test_patches_of_an_unknown_version_share_a_cache() -> None:
    assert _cache("0.34.0") == _cache("v0.34.2")
