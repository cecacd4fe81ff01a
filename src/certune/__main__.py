"""The command line as a module: ``python -m certune``."""

from __future__ import annotations

from certune.cli import main

if __name__ == "__main__":
    main(prog_name="python -m certune")
