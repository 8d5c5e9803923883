"""Text of messages for people: what was seen, then what to do, in characters that can be stored and shown."""

import re
import unicodedata

_ENDED = re.compile(r"[.!?:]$|: (gcloud|kubectl|kvtier (check|lustre|render)) .*$")


def sentences(*parts: str) -> str:
    """Join parts to one text, each as a sentence of its own; empty parts are left out.

    A command at the end of a part (`...: kubectl describe pvc X`) gets no period, so that it can be copied. Such a
    part comes last.
    """
    return " ".join(part if _ENDED.search(part) else f"{part}." for part in parts if part)


def before_command(message: str, sentence: str) -> str:
    """`message` with one more sentence, at its end, or before a last sentence that ends with a command."""
    if message.endswith("."):
        return f"{message} {sentence}"
    head, _, last = message.rpartition(". ")
    return sentences(head, sentence, last)


_LONGEST = 4096
_HARMLESS = "\n\t"


def beginning(text: str | None) -> str:
    """The first 4096 characters of a text that others wrote, empty for None.

    Kubernetes allows messages of a megabyte. In those, a search for a pattern may take minutes.
    """
    return (text or "")[:_LONGEST]


def printable(text: str) -> str:
    """At most 4096 characters of `text`, with U+FFFD for each control character and lone surrogate.

    Messages repeat what drivers, APIs and users wrote. UTF-8 has no lone surrogates, and a terminal obeys control
    characters.
    """
    shown = text[:_LONGEST]
    if shown.isprintable():
        return shown
    return "".join(_printable(one) for one in shown)


def _printable(character: str) -> str:
    unfit = unicodedata.category(character) in ("Cc", "Cs") and character not in _HARMLESS
    return "\ufffd" if unfit else character
