"""Print the lowest admitted version of every package certune runs with, for pip to obey."""

import re
import tomllib
from pathlib import Path

# What the lowest matplotlib and scikit-learn do is deprecated by later releases of these.
OF_THEIR_TIME = ("pyparsing<3.3", "pytest<9")


def main() -> None:
    """Read pyproject.toml and print one line for each dependency."""
    project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
    needed = [*project["dependencies"], *project["optional-dependencies"]["frame"]]
    for requirement in needed:
        name, lowest = re.fullmatch(r"([\w.-]+)>=([\d.]+)", requirement).groups()
        print(f"{name}=={lowest}.*")
    print(*OF_THEIR_TIME, sep="\n")


if __name__ == "__main__":
    main()
