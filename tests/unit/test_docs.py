"""What the documents say, against what the code has."""

import ast
import re
import shlex
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from kvtier.api import conditions
from kvtier.api.reasons import Reason
from kvtier.api.v1alpha1 import KVCachePool
from kvtier.cli import main
from kvtier.data import table as data
from kvtier.sizing.lustre_performance import rate, throughput
from testbed.pages import commands, outside_fences

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "operator" / "kvtier"
README = ROOT / "README.md"
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text()
PAGES = [
    *sorted(ROOT.glob("docs/**/*.md")),
    README,
    ROOT / "CONTRIBUTING.md",
    ROOT / "tests/testbed/README.md",
]


def _name(value: Any) -> str:
    return str(value.relative_to(ROOT)) if isinstance(value, Path) else str(value)


# Links.


def _links(page: Path) -> list[tuple[Path, str]]:
    """The files that a page links to, each with its anchor, which may be empty."""
    found = re.findall(r"\]\(([^)\s]+)\)", outside_fences(page.read_text()))
    parts = [link.partition("#") for link in found if "://" not in link]
    return [((page.parent / path).resolve() if path else page, anchor) for path, _, anchor in parts]


@cache
def _anchors(page: Path) -> frozenset[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    found: list[str] = []
    for heading in re.findall(r"^#+ (.+)$", outside_fences(page.read_text()), re.MULTILINE):
        slug = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        found.append(f"{slug}-{found.count(slug)}" if slug in found else slug)
    return frozenset(found)


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_links_lead_to_a_page_and_to_a_heading_of_it(page: Path) -> None:
    broken = [
        f"{target}#{anchor}"
        for target, anchor in _links(page)
        if not target.exists() or (anchor and anchor not in _anchors(target))
    ]
    assert broken == []


def test_every_page_can_be_reached_from_the_readme() -> None:
    reached, ahead = set(), [README]
    while ahead:
        page = ahead.pop()
        if page not in reached and page.suffix == ".md":
            reached.add(page)
            ahead += [target for target, _ in _links(page)]
    assert [_name(page) for page in PAGES if page not in reached] == []


# Files.


def _exists(path: str) -> bool:
    """In the repository, the package or the tests. NAME stands for a file that a task adds to an existing folder."""
    for root in (ROOT, SOURCE, ROOT / "tests", ROOT / "tests" / "engine"):
        place = root / path
        if place.exists() or ("NAME" in place.name and place.parent.is_dir()):
            return True
    return False


MENTIONED = sorted(
    {
        (_name(page), path)
        for page in PAGES
        for path in re.findall(r"`((?:[\w-]+/)+[\w-]+\.(?:py|yaml|md|j2|sh))`", page.read_text())
    }
)


@pytest.mark.parametrize(("page", "path"), MENTIONED)
def test_files_that_a_page_mentions_exist(page: str, path: str) -> None:
    assert _exists(path), f"{page} mentions {path}"


TASKS = dict(
    re.findall(
        r"^\| (.+?) \| (.+) \|$",
        CONTRIBUTING.split("## Where everyday changes go")[1].split("## ")[0],
        re.MULTILINE,
    )[2:]
)


def test_contributing_names_the_everyday_tasks() -> None:
    assert len(TASKS) == 7


@pytest.mark.parametrize("task", TASKS)
def test_an_everyday_task_takes_at_most_five_paths_that_exist(task: str) -> None:
    paths = re.findall(r"`([\w./-]+\.(?:py|yaml|md|in|j2))`", TASKS[task])
    assert 1 <= len(paths) <= 5
    assert [path for path in paths if not _exists(path)] == []


# The runbook.

TYPES = {name: value for name, value in vars(conditions).items() if name.isupper() and isinstance(value, str)}
RUNBOOK = (ROOT / "docs" / "runbook.md").read_text()
SECTIONS = dict(re.findall(r"^## ([^\n]+)\n(.*?)(?=^## |\Z)", RUNBOOK, re.MULTILINE | re.DOTALL))
ENTRIES = [
    (title, heading, body)
    for title, section in SECTIONS.items()
    for heading, body in re.findall(r"^### ([^\n]+)\n(.*?)(?=^### |\Z)", section, re.MULTILINE | re.DOTALL)
]
_NO_ACTION = re.compile(r"^No action: ((?:`\w+`(?:, )?)+)", re.MULTILINE)


def _named(title: str) -> set[str]:
    """The reasons that a section of the runbook has an entry for, or says that they need no action."""
    headings = [heading for section, heading, _ in ENTRIES if section == title]
    texts = [*headings, *_NO_ACTION.findall(SECTIONS.get(title, ""))]
    return {reason for text in texts for reason in re.findall(r"`(\w+)`", text)}


def _produced() -> set[tuple[str, str]]:
    """Types and reasons of the conditions that the source builds with both of them written out."""
    found = set()
    for path in SOURCE.rglob("*.py"):
        for call in ast.walk(ast.parse(path.read_text())):
            match call:
                case ast.Call(
                    func=ast.Name(id="true" | "false" | "unknown"),
                    args=[ast.Name(id=type_), ast.Attribute(value=ast.Name(id="Reason"), attr=reason), *_],
                ) if type_ in TYPES:
                    found.add((TYPES[type_], Reason[reason].value))
    return found


def test_the_source_is_understood() -> None:
    assert len(_produced()) > 100


@pytest.mark.parametrize("type_", TYPES.values())
def test_every_condition_has_its_section_in_the_runbook(type_: str) -> None:
    assert type_ in SECTIONS


@pytest.mark.parametrize("reason", Reason)
def test_every_reason_has_its_entry_in_the_runbook(reason: Reason) -> None:
    assert [title for title in SECTIONS if reason in _named(title)] != []


@pytest.mark.parametrize("type_", TYPES.values())
def test_a_reason_has_its_entry_under_the_condition_that_can_have_it(type_: str) -> None:
    assert {reason for of, reason in _produced() if of == type_} - _named(type_) == set()


@pytest.mark.parametrize("title", SECTIONS)
def test_the_runbook_names_no_reason_that_the_code_does_not_have(title: str) -> None:
    assert [reason for reason in _named(title) if Reason.of(reason) is None] == []


@pytest.mark.parametrize(("title", "heading", "body"), ENTRIES, ids=[heading for _, heading, _ in ENTRIES])
def test_an_entry_of_the_runbook_names_its_condition_and_ends_at_a_command(
    title: str, heading: str, body: str
) -> None:
    assert heading.startswith(f"{title}: ")
    assert body.rstrip().endswith("```")


def test_the_guide_lists_every_reason_for_which_the_user_can_vouch() -> None:
    page = (ROOT / "docs" / "how-to" / "vouch-for-a-prerequisite.md").read_text()
    lines = re.findall(r"^\| `(\w+)` \| (.+) \|$", page, re.MULTILINE)
    shown = {(type_, reason) for type_, reasons in lines for reason in re.findall(r"`(\w+)`", reasons)}
    assert {type_ for type_, _ in shown} == set(conditions.VOUCHABLE)
    assert shown == {
        (type_, reason) for type_ in conditions.VOUCHABLE for reason in _named(type_) if Reason(reason).vouch
    }


# How-to guides.

GUIDES = sorted((ROOT / "docs" / "how-to").glob("*.md"))


@pytest.mark.parametrize("page", GUIDES, ids=_name)
def test_a_guide_says_when_how_how_to_check_and_how_to_undo(page: Path) -> None:
    text = page.read_text()
    for part in ("\n**When:** ", "\n## Steps", "\n## How to check\n", "\n## How to undo\n"):
        assert part in text
    assert len(commands(page)) >= 3


# Samples.

SAMPLES = {path.stem: path for path in sorted((ROOT / "manifests" / "samples").iterdir())}
_GATED = ("meta-llama/", "google/gemma", "mistralai/")
"""Owners on Hugging Face who want their license accepted before a download."""


def _first_pool_of_the_readme() -> str:
    return str(re.findall(r"```yaml\n(.*?)```", README.read_text(), re.DOTALL)[0])


def test_the_reference_names_every_sample() -> None:
    page = (ROOT / "docs" / "reference" / "samples.md").read_text()
    assert sorted(re.findall(r"^\| `([\w-]+)` \|", page, re.MULTILINE)) == sorted(SAMPLES)


POOL_TEXTS = {name: path.read_text() for name, path in SAMPLES.items()} | {
    "README": _first_pool_of_the_readme()
}


@pytest.mark.parametrize("text", POOL_TEXTS.values(), ids=POOL_TEXTS)
def test_a_pool_for_strangers_needs_no_token_unless_it_says_which(text: str) -> None:
    document = yaml.safe_load(text)
    pool = KVCachePool.model_validate({"metadata": document["metadata"], "spec": document["spec"]})
    for model in pool.spec.models:
        if model.model.startswith(_GATED):
            assert model.token_secret_ref is not None
            assert f"kubectl create secret generic {model.token_secret_ref.name} " in text


# Figures.

LUSTRE = (ROOT / "docs" / "reference" / "lustre.md").read_text()


@pytest.mark.parametrize("tier", data("lustre_tiers")["tiers"])
def test_the_lustre_reference_has_the_sizes_of_the_table(tier: Any) -> None:
    row = data("lustre_tiers")["tiers"][tier]
    (line,) = re.findall(rf"^\| {tier}\b.*Gi \|.*$", LUSTRE, re.MULTILINE)
    expected = [f"{row['min']}Gi", f"{row['max']}Gi", f"{row['step']}Gi"]
    if row["threshold"] < row["max"]:
        expected.append(f"above {row['threshold']}Gi {row['stepAbove']}Gi")
    expected.append(rate(throughput(tier, row["min"] << 30)))
    expected.append(f"{row['readIOPS']:,} / {row['writeIOPS']:,}" if "readIOPS" in row else "not published")
    assert [part for part in expected if part not in line] == []


@pytest.mark.parametrize("gate", [one for one in data("gke_versions")["gates"] if one.startswith("lustre")])
def test_the_lustre_reference_names_every_version_of_gke_that_matters(gate: str) -> None:
    assert data("gke_versions")["gates"][gate]["from"] in LUSTRE


# Commands of the page "Get started" that need no cluster. The others run in tests/integration/test_get_started.py.

OFFLINE = [
    command
    for command in commands(ROOT / "docs" / "get-started.md")
    if re.match(r"\.venv/bin/kvtier (render|lustre|crd)\b", command)
]


def test_get_started_shows_the_commands_that_need_no_cluster() -> None:
    shown = {command.split()[1] for command in OFFLINE}
    assert shown == {"render", "lustre", "crd"}


@pytest.mark.parametrize("command", OFFLINE)
def test_a_command_of_get_started_runs_as_it_is_written(
    command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    done = CliRunner().invoke(main, shlex.split(command)[1:])
    assert done.exit_code == 0, done.output
    assert done.output
