"""The programs of the test bed: which are used, and the error when some are missing."""

from pathlib import Path

import pytest

from testbed.control_plane import binaries


def test_without_go_the_error_names_what_is_missing_and_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    with pytest.raises(
        binaries.BinariesMissingError, match=r"etcd, .*csi-resizer.*Go >= 1\.26.*KUBEBUILDER_ASSETS"
    ):
        binaries.ensure()


def test_supplied_programs_need_no_go(
    programs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(programs))
    joined = binaries.ensure()
    assert sorted(path.name for path in joined.iterdir()) == sorted(binaries.NAMES)
    assert (joined / "etcd").samefile(programs / "etcd")
