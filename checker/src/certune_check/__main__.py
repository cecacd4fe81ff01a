"""The command ``certune-check``."""

from __future__ import annotations

import argparse
import sys

from certune_check import BadFile, Refuted, Unsupported, check, read_instance, read_proofs
from certune_check.instances import files_of

ACCEPTED, REJECTED, NOT_CHECKED = 0, 1, 2


def main(arguments: list[str] | None = None) -> int:
    """Check a certificate; 0 if it is accepted, 1 if it is rejected, 2 if it cannot be checked."""
    parser = argparse.ArgumentParser(
        prog="certune-check",
        description="Re-prove a certificate of certune from the instances alone.",
        epilog="exit code 0: accepted, 1: rejected, 2: cannot be checked (or wrong usage)",
    )
    parser.add_argument("certificate", help="certificate.json, or the folder of a run")
    parser.add_argument("data", nargs="+", help="files (.npz, .json) or folders of instances")
    parser.add_argument(
        "--function", metavar="FILE.py:NAME", help="your program, or utility; the file is run"
    )
    options = parser.parse_args(arguments)
    try:
        proofs = read_proofs(options.certificate)
        instances = [read_instance(path) for path in files_of(options.data)]
        print(*[check(proof, instances, options.function) for proof in proofs], sep="\n")
        if proofs[0].name:
            print(f"accepted: the first one is the best of {len(proofs)} alternatives")
    except Refuted as error:
        print(f"rejected: {error}")
        return REJECTED
    except (BadFile, Unsupported, OSError) as error:
        print(f"cannot be checked: {error}", file=sys.stderr)
        return NOT_CHECKED
    return ACCEPTED


if __name__ == "__main__":
    sys.exit(main())
