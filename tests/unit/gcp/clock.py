"""A clock for tests."""


class Clock:
    """Moves only when it is told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now
