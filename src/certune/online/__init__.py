"""Learning while instances arrive one after the other, and when that is possible.

`OnlineTuner` chooses a parameter before each instance so that its regret against the best fixed
parameter vanishes (``sec:online-learning``); `dispersion` measures the property of a sequence of
utility functions that makes this possible, and `forms` are what theorems say about it.
``certune.online.streams`` has sequences of instances, from friendly to hopeless.
"""

from __future__ import annotations

from certune.online import forms
from certune.online.comparison import Comparison
from certune.online.cover_error import CoverError, cover_error
from certune.online.dispersion import Dispersion, dispersion
from certune.online.lines import cover
from certune.online.regret import Regret
from certune.online.rounds import Round
from certune.online.shifting import shifting_regret
from certune.online.tuner import OnlineTuner

__all__ = [
    "Comparison",
    "CoverError",
    "Dispersion",
    "OnlineTuner",
    "Regret",
    "Round",
    "cover",
    "cover_error",
    "dispersion",
    "forms",
    "shifting_regret",
]
