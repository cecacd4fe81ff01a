"""The compiled core of certune; `certune.kernels` has its doors."""

from . import graph as graph
from . import learning as learning
from . import linkage as linkage
from . import linkage_boxes as linkage_boxes
from . import linkage_parts as linkage_parts
from . import logistic as logistic
from . import numeric as numeric
from . import programs as programs

class TimeIsUp(BaseException):
    """The deadline has passed, or the stop is set; what was asked for is not there."""

class Stop:
    """A flag and a deadline that kernels ask while they run."""

    def __init__(self, seconds: float = ..., parent: Stop | None = None) -> None:
        """Make a stop that is set by itself after so many seconds, or when its parent is."""

    def set(self) -> None:
        """Let the time be up from now on; any thread may call it."""

    def is_set(self) -> bool:
        """Tell whether the time is up."""

    @property
    def stated(self) -> bool:
        """Whether somebody has set it, not the clock."""

    @property
    def seconds_left(self) -> float:
        """Seconds until the deadline, of this one or its parent; may be infinite."""

    @property
    def seen(self) -> bool:
        """Whether anybody was told that the time is up."""

def now() -> float:
    """Return the seconds of the clock that stands still during preparations."""

def begin_preparation() -> None:
    """Let the clock stand still; preparations may be nested."""

def end_preparation() -> None:
    """Let the clock go on."""
