"""Pictures and pages of plain data: functions of a parameter, tables, numbers."""

from __future__ import annotations

from certune.report.landscape import draw_landscape, landscape_figure
from certune.report.online import density_figure, dispersion_figure, regret_figure
from certune.report.page import Table, write_page

__all__ = [
    "Table",
    "density_figure",
    "dispersion_figure",
    "draw_landscape",
    "landscape_figure",
    "regret_figure",
    "write_page",
]
