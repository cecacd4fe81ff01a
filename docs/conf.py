"""Configuration of the documentation: ``make docs``."""

from importlib.metadata import version as version_of

project = "certune"
author = "The certune developers"
release = version_of("certune")
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx.ext.napoleon"]
myst_enable_extensions = ["deflist", "dollarmath"]
myst_heading_anchors = 4
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
html_theme = "furo"
html_title = "certune"
html_show_copyright = False
autosummary_generate = True
autodoc_typehints = "none"
exclude_patterns = ["_build"]
# Docstrings name results of the paper and parameters in single backquotes.
default_role = "code"
