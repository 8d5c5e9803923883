"""Versions of one cacheFormat: what one wrote, the other finds and uses, after an update and after a rollback."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from engine.environment import Environment
from engine.native.shared import STORED, Shared, look_up, pod
from engine.replica import Image
from kvtier.data.engines import ENGINES

pytestmark = pytest.mark.timeout(900)
_OLDEST_FIRST = list(reversed(ENGINES.versions.values()))
UPDATES = [
    (old.version, new.version) for old, new in pairwise(_OLDEST_FIRST) if old.cache_format == new.cache_format
]


@pytest.mark.parametrize(("old", "new"), UPDATES)
def test_an_update_and_a_rollback_find_what_the_other_version_wrote(
    old: str, new: str, engines: Environment, model: Path, tmp_path: Path
) -> None:
    """Three engines, one after the other. The tokens of found blocks are the tokens that the writer computed."""
    lustre = tmp_path / "lustre"
    lustre.mkdir()
    lustre.chmod(0o777)
    before = Shared(lustre, Image(engines, old, model))
    after = replace(before, image=Image(engines, new, model))
    with pod(before, tmp_path / "before") as running:
        before.compute(running.start().wait_ready(), "written before")
    with pod(after, tmp_path / "after") as running:
        server = running.start().wait_ready()
        updated, found = look_up(server, "written before")
        assert (updated.tokens, found) == (before.answers["written before"].tokens, STORED)
        after.compute(server, "written after")
    with pod(before, tmp_path / "rollback") as running:
        rolled_back, found = look_up(running.start().wait_ready(), "written after")
    assert (rolled_back.tokens, found) == (after.answers["written after"].tokens, STORED)


def test_there_is_such_an_update() -> None:
    assert UPDATES, "else nothing is proven here, and no two versions may share a cacheFormat"
