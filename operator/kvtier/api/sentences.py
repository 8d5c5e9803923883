"""Joins sentences into a message for people: what was seen, then what to do."""

import re

_ENDED = re.compile(r"[.!?:]$|: (gcloud|kubectl|kvtier (check|lustre|render)) .*$")


def sentences(*parts: str) -> str:
    """Join parts to one text, each as a sentence of its own; empty parts are left out.

    A command at the end of a part (`...: kubectl describe pvc X`) gets no period, so that it can be copied. Such a
    part comes last.
    """
    return " ".join(part if _ENDED.search(part) else f"{part}." for part in parts if part)
