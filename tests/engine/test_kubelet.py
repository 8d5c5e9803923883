"""Kubernetes' expansion of $(NAME), on which other tests rely."""

from engine.kubelet import expand
from kvtier.plan.engine_pods import literal
from unit.tables import table

VARIABLES = {"A": "1", "B": "$(A)"}


@table(
    "text, expanded",
    {
        "a variable": ("x$(A)y", "x1y"),
        "a value is not expanded again": ("$(B)", "$(A)"),
        "an unknown variable does not change": ("$(C)", "$(C)"),
        "two dollars become one": ("$$(A) $$$$", "$(A) $$"),
        "an open bracket does not change": ("$(A", "$(A"),
        "a variable of the shell does not change": ("$A ${A}", "$A ${A}"),
        "a dollar at the end does not change": ("5$", "5$"),
        "an empty name is kept": ("$()", "$()"),
        "text after a single dollar is expanded": ("$$$(A)", "$1"),
    },
)
def test_expansion(text: str, expanded: str) -> None:
    assert expand(text, VARIABLES) == expanded


def test_escaped_text_is_not_changed() -> None:
    for text in ("$(A)", "$$(A)", "$", "$$", "$(A", "a$b $(id) ${A}"):
        assert expand(literal(text), VARIABLES) == text
