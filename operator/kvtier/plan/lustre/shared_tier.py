"""What engines may do with the shared tier at this moment."""

from dataclasses import dataclass


@dataclass(frozen=True)
class SharedTier:
    """The claim to mount, or why there is none (`waits`, parts of a sentence).

    `leave` means that engines that mount it should be rolled to run without it; else a mounted tier stays: engines that
    mount `bound` are updated with it, whatever new ones wait for. `importing`: data of Cloud Storage is imported first.
    """

    claim: str | None = None
    waits: tuple[str, ...] = ()
    leave: bool = False
    bound: str | None = None
    importing: bool = False
