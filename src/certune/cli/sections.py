"""Help of commands with many options: what belongs together stands together."""

from __future__ import annotations

import click

SECTIONS = {
    "Data": (
        "group", "task", "target", "features", "categorical", "distances", "cv", "k", "encoding",
        "delimiter", "standardize",
    ),
    "Linkage": (
        "kind", "alpha", "objective", "other_alpha", "weights", "cut_height",
        "relative", "method",
    ),
    "Labeling": ("sigma", "n_neighbors"),
    "Logistic and linear regression": (
        "penalty", "lam", "C", "metric", "l1_ratio", "positive", "max_error",
    ),
    "The run": (
        "family_name", "holdout", "seed", "timeout", "aggregate", "gap", "jobs", "state", "learner",
        "horizon", "schedule", "shifts", "rounds",
    ),
}  # fmt: skip
OTHERS = "Output"


class SectionedCommand(click.Command):
    """A command whose options are listed by what they are about."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, section by section."""
        section_of = {name: title for title, names in SECTIONS.items() for name in names}
        rows: dict[str, list[tuple[str, str]]] = {title: [] for title in (*SECTIONS, OTHERS)}
        for parameter in self.get_params(ctx):
            # Arguments stand in the text; some releases of click would list them again.
            record = parameter.get_help_record(ctx) if isinstance(parameter, click.Option) else None
            if record is not None:
                rows[section_of.get(parameter.name or "", OTHERS)].append(record)
        for title, records in rows.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)
