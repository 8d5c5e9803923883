"""Table tests: the name of every case is a sentence that says what should happen."""

from collections.abc import Mapping
from typing import Any

import pytest


def table(arguments: str, cases: Mapping[str, Any]) -> pytest.MarkDecorator:
    """One test per case. `arguments` names the parts of each case."""
    return pytest.mark.parametrize(arguments, list(cases.values()), ids=list(cases))
