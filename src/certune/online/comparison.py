"""A measured dispersion curve beside a proved one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from certune.cards import Carded

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

N_SHOWN = 6


@dataclass(frozen=True, repr=False)
class Comparison(Carded):
    """D(T, width) and a dispersion function f(T, width) at the same places.

    Attributes
    ----------
    label : str
        Where f comes from: the label of its theorem.
    assumptions : tuple of str
        What f needs.
    sizes : int array
        Numbers T of functions.
    widths : float array
        Widths of windows.
    counts : int array (sizes, widths)
        D, measured exactly (its upper bound).
    bounds : float array (sizes, widths)
        f.
    note : str
        Other constants of the theorem, in words.
    """

    label: str
    assumptions: tuple[str, ...]
    sizes: IntArray
    widths: FloatArray
    counts: IntArray
    bounds: FloatArray
    note: str = ""

    @property
    def quotients(self) -> FloatArray:
        """D divided by f: at most 1 where D stays under f."""
        return np.asarray(self.counts / self.bounds)

    @property
    def holds(self) -> bool:
        """Whether D stays under f for all sizes and widths."""
        return bool((self.counts <= self.bounds).all())

    @property
    def informative(self) -> npt.NDArray[np.bool_]:
        """Where f says more than that D is at most T."""
        return np.asarray(self.bounds < self.sizes[:, None])

    def __str__(self) -> str:
        columns = np.unique(np.linspace(0, self.widths.size - 1, N_SHOWN).round().astype(int))
        rows = np.unique(np.linspace(0, self.sizes.size - 1, N_SHOWN).round().astype(int))
        verdict = "D stays under it" if self.holds else "D exceeds it"
        lines = [f"D(T, width) / {self.label}: {verdict}"]
        lines += [f"  needs: {need}" for need in self.assumptions]
        lines += [f"  {self.note}"] if self.note else []
        lines.append("  T \\ width" + "".join(f"{self.widths[c]:>16.2g}" for c in columns))
        for row in rows:
            cells = (f"{self.counts[row, c]} / {self.bounds[row, c]:.4g}" for c in columns)
            lines.append(f"  {self.sizes[row]:>9d}" + "".join(f"{cell:>16s}" for cell in cells))
        return "\n".join(lines)
