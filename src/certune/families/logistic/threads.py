"""Linear algebra with one thread, so that results do not depend on how many there are.

BLAS shares out sums to its threads, and their number changes the last bits of the result: workers
of joblib have fewer than the main process. Problems of this size gain nothing from more.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, wraps
from typing import Any, ParamSpec, TypeVar

from threadpoolctl import ThreadpoolController

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


def one_thread(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Decorate a function that is to use one thread of BLAS."""

    @wraps(function)
    def limited(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        with _controller().limit(limits=1, user_api="blas"):
            return function(*args, **kwargs)

    return limited


@cache
def _controller() -> Any:
    # Looked up once: libraries of numpy and scipy are loaded by the time of the first fit.
    import scipy.linalg  # noqa: F401

    return ThreadpoolController()
