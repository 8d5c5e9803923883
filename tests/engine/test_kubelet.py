"""Kubernetes' expansion of $(NAME), as the other tests rely on it."""

from engine.kubelet import expand
from kvtier.plan.engine_pods import literal
from unit.tables import table

VARIABLES = {"A": "1", "B": "$(A)"}


@table(
    "text, expanded",
    {
        "a variable": ("x$(A)y", "x1y"),
        "what it holds is not looked at again": ("$(B)", "$(A)"),
        "an unknown one stays": ("$(C)", "$(C)"),
        "two dollars are one": ("$$(A) $$$$", "$(A) $$"),
        "an open bracket stays": ("$(A", "$(A"),
        "a shell's variable stays": ("$A ${A}", "$A ${A}"),
        "a dollar at the end stays": ("5$", "5$"),
        "an empty name stays": ("$()", "$()"),
        "what follows an odd one is looked at": ("$$$(A)", "$1"),
    },
)
def test_expansion(text: str, expanded: str) -> None:
    assert expand(text, VARIABLES) == expanded


def test_escaped_text_arrives_as_it_was() -> None:
    for text in ("$(A)", "$$(A)", "$", "$$", "$(A", "a$b $(id) ${A}"):
        assert expand(literal(text), VARIABLES) == text
