"""docs/reference/messages.md has every message of the source, and none that the source no longer has."""

import re

import pytest

from unit.messages import PAGE, Sentence, refusals, sentences

LINES = PAGE.read_text().splitlines()
MESSAGES = [line.split("`: ", 1)[1] for line in LINES if re.match(r"- \w+, `", line)]
REFUSALS = [line for line in LINES if line.startswith("- `")]


def test_there_are_messages() -> None:
    assert len(MESSAGES) > 150
    assert len(sentences()) > 150


@pytest.mark.parametrize("sentence", sentences(), ids=lambda one: one.place)
def test_a_sentence_of_the_source_is_on_the_page(sentence: Sentence) -> None:
    assert any(sentence.pattern.search(message) for message in MESSAGES), (
        f"{sentence.text}: run make messages"
    )


@pytest.mark.parametrize("message", MESSAGES)
def test_a_message_of_the_page_has_a_sentence_of_the_source(message: str) -> None:
    assert any(one.pattern.search(message) for one in sentences()), "run make messages"


def test_the_page_has_the_rules_of_the_crd() -> None:
    assert refusals() == REFUSALS
