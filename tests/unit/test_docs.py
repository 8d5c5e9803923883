"""What the documents say, against what the code has."""

import re
from pathlib import Path
from typing import Any

import pytest

from kvtier.api import conditions
from kvtier.data import table as data
from kvtier.sizing.lustre_performance import rate, throughput

ROOT = Path(__file__).parents[2]
STORAGE = (ROOT / "docs" / "storage.md").read_text()
GUIDE = (ROOT / "docs" / "user-guide.md").read_text()
TYPES = [
    value
    for name, value in vars(conditions).items()
    if name.isupper() and value not in (conditions.READY, conditions.Status)
]


@pytest.mark.parametrize("type_", TYPES)
def test_every_condition_has_its_way_out_in_the_user_guide(type_: str) -> None:
    assert f"| `{type_}` |" in GUIDE


@pytest.mark.parametrize("tier", data("lustre_tiers")["tiers"])
def test_the_storage_guide_has_the_sizes_of_the_table(tier: Any) -> None:
    row = data("lustre_tiers")["tiers"][tier]
    (line,) = re.findall(rf"^\| {tier}\b.*Gi \|.*$", STORAGE, re.MULTILINE)
    expected = [f"{row['min']}Gi", f"{row['max']}Gi", f"{row['step']}Gi"]
    if row["threshold"] < row["max"]:
        expected.append(f"above {row['threshold']}Gi {row['stepAbove']}Gi")
    expected.append(rate(throughput(tier, row["min"] << 30)))
    expected.append(f"{row['readIOPS']:,} / {row['writeIOPS']:,}" if "readIOPS" in row else "not published")
    assert [part for part in expected if part not in line] == []


@pytest.mark.parametrize("gate", [one for one in data("gke_versions")["gates"] if one.startswith("lustre")])
def test_the_storage_guide_names_every_version_of_gke_that_matters(gate: str) -> None:
    assert data("gke_versions")["gates"][gate]["from"] in STORAGE


@pytest.mark.parametrize("sample", sorted(path.stem for path in (ROOT / "manifests" / "samples").iterdir()))
def test_the_user_guide_names_every_sample(sample: str) -> None:
    assert f"`{sample}`" in GUIDE


@pytest.mark.parametrize(
    "page", [*sorted(ROOT.glob("docs/**/*.md")), ROOT / "README.md"], ids=lambda path: path.name
)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
        assert (page.parent / target).exists(), target


SOURCE = ROOT / "operator" / "kvtier"
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text()
TASKS = dict(
    re.findall(
        r"^\| (.+?) \| (.+) \|$",
        CONTRIBUTING.split("## Where everyday changes go")[1].split("## ")[0],
        re.MULTILINE,
    )[2:]
)


def _is_there(path: str) -> bool:
    """In the repository, the package or the tests; NAME stands for a file that the task adds to an existing folder."""
    for root in (ROOT, SOURCE, ROOT / "tests", ROOT / "tests" / "engine"):
        place = root / path
        if place.exists() or ("NAME" in place.name and place.parent.is_dir()):
            return True
    return False


def test_contributing_names_the_everyday_tasks() -> None:
    assert len(TASKS) == 6


@pytest.mark.parametrize("task", TASKS)
def test_an_everyday_task_takes_at_most_five_paths_that_exist(task: str) -> None:
    paths = re.findall(r"`([\w./-]+\.(?:py|yaml|md|in|j2))`", TASKS[task])
    assert 1 <= len(paths) <= 5
    assert [path for path in paths if not _is_there(path)] == []


MENTIONED = sorted(
    {
        (page.name, path)
        for page in [*ROOT.glob("docs/**/*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
        for path in re.findall(r"`((?:[\w-]+/)+[\w-]+\.(?:py|yaml|j2|sh))`", page.read_text())
    }
)


@pytest.mark.parametrize(("page", "path"), MENTIONED)
def test_files_that_a_page_mentions_are_there(page: str, path: str) -> None:
    assert _is_there(path), f"{page} mentions {path}"
