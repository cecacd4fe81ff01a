"""Findings of a run as plain data, and what is made of them: text, pictures, a page.

A result is asked for its `Findings` (`collecting`); `verdict` puts them in words, `text` prints
them, `page` writes the report. Pictures for matplotlib are in `landscape` and `online`.
"""

from __future__ import annotations

from certune.report.collecting import findings_of, stream_findings
from certune.report.findings import Findings
from certune.report.landscape import draw_landscape, landscape_figure
from certune.report.online import density_figure, dispersion_figure, regret_figure
from certune.report.page import write_report
from certune.report.text import print_findings
from certune.report.verdict import verdict

__all__ = [
    "Findings",
    "density_figure",
    "dispersion_figure",
    "draw_landscape",
    "findings_of",
    "landscape_figure",
    "print_findings",
    "regret_figure",
    "stream_findings",
    "verdict",
    "write_report",
]
