"""Doors for data: from arrays, data frames and CSV files to instances of every family.

A table is read (`csv_file`), columns become numbers or categories by one stated rule (`columns`),
and rows become instances of a task (`tasks`): one for each file, group or fold.
"""

from __future__ import annotations

from certune.data.doors import from_csv, from_frame
from certune.data.few_labels import labeling_folds
from certune.data.folds import folds
from certune.data.instance_files import save_instances
from certune.data.streaming import read_stream

__all__ = ["folds", "from_csv", "from_frame", "labeling_folds", "read_stream", "save_instances"]
