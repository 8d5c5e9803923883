"""Messages consist of sentences, in characters that can be stored and shown."""

from kvtier.api.conditions import READY, false
from kvtier.api.reasons import Reason
from kvtier.api.sentences import printable, sentences
from unit.tables import table


def test_parts_become_sentences_and_empty_ones_are_left_out() -> None:
    assert sentences("The PVC is not bound", "", "kvtier retries.") == "The PVC is not bound. kvtier retries."


def test_a_command_at_the_end_can_be_copied() -> None:
    text = sentences("The PVC is not bound", "See its Events: kubectl -n a describe pvc b")
    assert text == "The PVC is not bound. See its Events: kubectl -n a describe pvc b"


@table(
    "text, shown",
    {
        "text in any script stays": ("straße 日本 🙂 👩\u200d🔬", "straße 日本 🙂 👩\u200d🔬"),
        "lines and tabs stay": ("a\n\tb", "a\n\tb"),
        "control characters are replaced": ("a\x00b\x1b[2Jc\x9b", "a\ufffdb\ufffd[2Jc\ufffd"),
        "half a character is replaced": ("a\ud83d", "a\ufffd"),
        "a long text is cut": ("x" * 5000, "x" * 4096),
    },
)
def test_a_message_can_be_stored_and_shown(text: str, shown: str) -> None:
    assert printable(text) == shown
    assert false(READY, Reason.FAILED, text).message == shown
