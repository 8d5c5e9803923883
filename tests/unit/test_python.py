"""The tests, the type checker and the locked dependencies use the Python of the image."""

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def _only(pattern: str, file: str) -> str:
    """The one version that a file names with this pattern."""
    (found,) = set(re.findall(pattern, (ROOT / file).read_text(), re.MULTILINE))
    return str(found)


IMAGE = _only(r"python:(\d+\.\d+)-slim", "Dockerfile")


def test_the_tests_run_on_the_python_of_the_image() -> None:
    running = "{}.{}".format(*sys.version_info)
    assert running == IMAGE, f"run them on that Python: make clean test PYTHON=python{IMAGE}"


def test_the_package_can_be_installed_in_the_image() -> None:
    least = PROJECT["project"]["requires-python"].removeprefix(">=")
    assert tuple(map(int, least.split("."))) <= tuple(map(int, IMAGE.split(".")))


def test_types_style_and_dependencies_are_those_of_the_python_of_the_image() -> None:
    checked = PROJECT["tool"]["mypy"]["python_version"]
    styled = PROJECT["tool"]["ruff"]["target-version"]
    locked = _only(r"--python-version (\S+)", "Makefile")
    assert (checked, styled, locked) == (IMAGE, f"py{IMAGE.replace('.', '')}", IMAGE)
