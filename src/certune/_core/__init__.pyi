"""The compiled core of certune; `certune.kernels` has its doors."""

from . import learning as learning
from . import logistic as logistic

class TimeIsUp(Exception):
    """The deadline has passed; what was asked for is not there."""

class Stop:
    """A flag and a deadline that kernels ask while they run."""

    def __init__(self, seconds: float = ...) -> None:
        """Make a stop that is set by itself after so many seconds."""

    def set(self) -> None:
        """Let the time be up from now on; any thread may call it."""

    def is_set(self) -> bool:
        """Tell whether the time is up."""
