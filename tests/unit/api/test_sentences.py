"""Messages consist of sentences."""

from kvtier.api.sentences import sentences


def test_parts_become_sentences_and_empty_ones_are_left_out() -> None:
    assert sentences("The PVC is not bound", "", "kvtier retries.") == "The PVC is not bound. kvtier retries."


def test_a_command_at_the_end_can_be_copied() -> None:
    text = sentences("The PVC is not bound", "See its Events: kubectl -n a describe pvc b")
    assert text == "The PVC is not bound. See its Events: kubectl -n a describe pvc b"
