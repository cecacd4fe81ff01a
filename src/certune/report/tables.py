"""Findings as tables for other programs."""

from __future__ import annotations

import csv
import io

from certune.report.findings import Findings


def table_of_instances(findings: Findings) -> str:
    """Return a CSV table with a row for each instance, those that were held out included."""
    names = list(findings.defaults)
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(["instance", "used_for", "tuned", *names, "attainable", "fingerprint"])
    held = () if findings.held_out is None else findings.held_out.instances
    for purpose, rows in (("tuning", findings.instances), ("held-out", held)):
        for row in rows:
            scores = [row.defaults.get(name, "") for name in names]
            attainable = "" if row.attainable is None else row.attainable
            table.writerow([row.name, purpose, row.tuned, *scores, attainable, row.fingerprint])
    return text.getvalue()
