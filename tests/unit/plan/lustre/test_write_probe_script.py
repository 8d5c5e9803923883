"""The script of the Job, run by a real shell on real directories."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from kvtier.plan.lustre.write_probe import EXIT_CODES, script
from unit.tables import table

ENGINE = 1000
AS_ENGINE = ["setpriv", "--reuid=1000", "--regid=1000", "--clear-groups"]
AS_ROOT = [
    "setpriv",
    "--regid=1000",
    "--clear-groups",
    "--inh-caps=-all",
    "--bounding-set=-all,+chown,+fowner,+dac_override",
]
POOL = "team-a/chat"
SHELLS = [shell for shell in ("sh", "dash", "bash") if shutil.which(shell)]

needs_root = pytest.mark.skipif(
    os.geteuid() != 0 or not shutil.which("setpriv"), reason="needs root and setpriv, to act as other users"
)


@pytest.fixture
def tier() -> Iterator[Path]:
    """A directory that all users can reach; the directories of pytest are private."""
    with tempfile.TemporaryDirectory(prefix="kvtier-test-") as directory:
        Path(directory).chmod(0o755)
        top = Path(directory) / "tier"
        top.mkdir(mode=0o755)
        yield top


def _run(
    *arguments: str | Path, user: list[str] | None = None, shell: str = "sh", path: str | None = None
) -> tuple[int, str]:
    """Exit code and stderr."""
    environment = {"PATH": path or os.environ["PATH"], "KVTIER_SECONDS": "20"}
    command = [*(user or []), shell, "-c", script(), "probe", *map(str, arguments)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=environment, timeout=60)
    return done.returncode, done.stderr


@pytest.mark.parametrize("shell", SHELLS)
def test_a_writable_directory(tier: Path, shell: str) -> None:
    assert _run("write", tier, POOL, shell=shell) == (0, "")
    assert list(tier.rglob("*")) == [tier / "team-a", tier / POOL], "it leaves an empty directory"
    assert (tier / POOL).stat().st_mode & 0o7777 == 0o2775
    assert _run("write", tier, POOL, shell=shell) == (0, ""), "it can be repeated"


def test_shell_syntax_in_a_name_has_no_effect(tier: Path) -> None:
    name = "$(touch escaped)/`id`;'\" &"
    assert _run("write", tier, name) == (0, "")
    assert (tier / name).is_dir()
    assert not (tier / "escaped").exists()


ODD = 'a/$(touch escaped) `id` "it\'s" $HOME \\n %s {}\n\nsecond line 😀 \n'


@pytest.mark.parametrize("shell", SHELLS)
def test_documents_are_written_unchanged(tier: Path, shell: str) -> None:
    documents = {f"{POOL}/one": ODD, f"{POOL}/two": "-n", f"{POOL}/t$(id) '\"": "{}\n"}
    pairs = [text for pair in documents.items() for text in pair]
    assert _run("write", tier, POOL, *pairs, shell=shell) == (0, "")
    written = {path.parent.relative_to(tier): path for path in tier.rglob("*") if path.is_file()}
    assert {str(name): path.read_bytes().decode() for name, path in written.items()} == documents
    assert {path.name for path in written.values()} == {"kvtier.json"}
    assert {path.stat().st_mode & 0o777 for path in written.values()} == {0o664}
    assert not list(tier.rglob("escaped"))


def test_a_document_is_replaced_atomically_and_blocks_next_to_it_stay(tier: Path) -> None:
    (tier / POOL / "one" / "blocks").mkdir(parents=True)
    (tier / POOL / "one" / "kvtier.json").write_text("an older and longer document")
    before = (tier / POOL / "one" / "kvtier.json").stat().st_ino
    assert _run("write", tier, POOL, f"{POOL}/one", "{}")[0] == 0
    assert (tier / POOL / "one" / "kvtier.json").read_text() == "{}"
    assert (tier / POOL / "one" / "kvtier.json").stat().st_ino != before
    assert sorted(path.name for path in (tier / POOL / "one").iterdir()) == ["blocks", "kvtier.json"]


@needs_root
def test_engines_own_the_directories_that_they_will_write_to(tier: Path) -> None:
    assert _run("prepare", tier, user=AS_ROOT) == (0, "")
    assert _run("write", tier, POOL, f"{POOL}/one", "{}", user=AS_ENGINE) == (0, "")
    made = (tier / POOL / "one").stat()
    assert (made.st_uid, made.st_gid, made.st_mode & 0o7777) == (ENGINE, ENGINE, 0o2775)


@needs_root
def test_a_directory_of_another_user_is_denied(tier: Path) -> None:
    (tier / POOL / "one").mkdir(parents=True)
    (tier / POOL).chmod(0o777)
    code, said = _run("write", tier, POOL, f"{POOL}/one", "{}", user=AS_ENGINE)
    assert code == 13
    assert f"{POOL}/one" in said


@needs_root
def test_a_directory_of_root_is_denied_until_root_prepared_it(tier: Path) -> None:
    code, said = _run("write", tier, POOL, user=AS_ENGINE)
    assert code == 13
    assert "mkdir" in said
    assert "Permission denied" in said
    assert _run("prepare", tier, user=AS_ROOT) == (0, "")
    assert (tier.stat().st_gid, tier.stat().st_mode & 0o7777) == (ENGINE, 0o2775)
    assert _run("write", tier, POOL, user=AS_ENGINE) == (0, "")
    assert (tier / POOL).stat().st_mode & 0o7777 == 0o2775


@needs_root
def test_root_prepares_only_the_top_directory(tier: Path) -> None:
    (tier / "foreign").mkdir()
    assert _run("prepare", tier, user=AS_ROOT)[0] == 0
    assert (tier / "foreign").stat().st_gid == 0


@needs_root
@table(
    "mode, owner, code",
    {
        "of another user, for the group": (0o2775, (0, ENGINE), 0),
        "of another user only": (0o755, (0, 0), 13),
        "of the engines": (0o755, (ENGINE, ENGINE), 0),
    },
)
def test_an_existing_directory_of_a_pool(tier: Path, mode: int, owner: tuple[int, int], code: int) -> None:
    (tier / POOL).mkdir(parents=True)
    os.chown(tier / POOL, *owner)
    (tier / POOL).chmod(mode)
    assert _run("write", tier, POOL, user=AS_ENGINE)[0] == code


@needs_root
def test_root_that_is_squashed_is_denied(tier: Path) -> None:
    assert _run("prepare", tier, user=AS_ENGINE)[0] == 13, "squashed root is another user"


@table(
    "then, code, says",
    {
        "a full file system": ("true", 28, "No space left on device"),
        "a read-only file system": ("mount -o remount,ro", 30, "Read-only file system"),
    },
)
def test_a_file_system_of_64_kib(tier: Path, then: str, code: int, says: str) -> None:
    """Runs in its own mount namespace, so that no mount is left behind."""
    mount = 'mount -t tmpfs -o size=64k tmpfs "$0"'
    namespace = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c"]
    possible = subprocess.run([*namespace, mount, tier], check=False, capture_output=True, text=True)
    if possible.returncode:
        pytest.skip(f"needs to mount in a user namespace: {possible.stderr.strip()}")
    scene = f'{mount} && {then} "$0" && {{ "$@"; code=$?; find "$0" -type f >&2; exit $code; }}'
    found, said = _run("write", tier, POOL, user=[*namespace, scene, str(tier)])
    assert found == code
    assert said.endswith(f"{says}\n"), "no file is left"


ANSWERS = {
    "Operation not permitted": 13,
    "Disk quota exceeded": 28,
    "Quota exceeded": 28,
    "Input/output error": 5,
    "I/O error": 5,
    "Cannot send after transport endpoint shutdown": 5,
    "Connection timed out": 5,
    "Stale file handle": 5,
    "File name too long": 1,
    "": 1,
}


@pytest.mark.parametrize("program", ["mkdir", "mktemp", "dd", "mv", "cksum", "rm"])
@pytest.mark.parametrize(("answer", "code"), ANSWERS.items(), ids=ANSWERS)
def test_the_exit_code_follows_the_error_of_the_file_system(
    tier: Path, tmp_path: Path, program: str, answer: str, code: int
) -> None:
    path = _with(tmp_path, program, f'echo "{program}: error: {answer}" >&2; exit 1')
    found, said = _run("write", tier, POOL, path=path)
    assert found == code
    assert answer in said
    assert code == 1 or code in EXIT_CODES


@table(
    "program, body, words",
    {
        "a file system that hangs": ("timeout", "exit 124", "no answer in time"),
        "other bytes than those written": ("cksum", 'echo "1 2 $1"', "not what was written"),
    },
)
def test_an_io_error(tier: Path, tmp_path: Path, program: str, body: str, words: str) -> None:
    code, said = _run("write", tier, POOL, path=_with(tmp_path, program, body))
    assert code == 5
    assert words in said


def _with(directory: Path, program: str, body: str) -> str:
    """A PATH with a replaced program."""
    (directory / "bin").mkdir()
    replaced = directory / "bin" / program
    replaced.write_text(f"#!/bin/sh\n{body}\n")
    replaced.chmod(0o755)
    return f"{directory / 'bin'}:{os.environ['PATH']}"
