"""Settings of the site of documents: `make site`.

The source of the site is the root of the repository, so that a link from one document to another is the
same on the site and in the checkout. Only the documents named here become pages; a link to a file of
another kind becomes a download, and a link to a folder is an error.
"""

from pathlib import Path

from sphinx.application import Sphinx

project = "clickassay"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
copybutton_prompt_text = "$ "
copybutton_only_copy_prompt_lines = True  # a console block shows output too
copybutton_line_continuation_character = "\\"
autodoc_typehints = "none"  # the text says what each parameter takes
autodoc_member_order = "bysource"
default_role = "code"
root_doc = "docs/index"
include_patterns = [
    "docs/**.md",
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "benchmarks/*.md",
    "data_samples/README.md",
    "data_samples/inconclusive/README.md",
    "pipeline/README.md",
    "reports/*.md",
    "reports/active/*.md",
    "reports/calibration/*.md",
    "reports/gallery/*.md",
    "requirements/README.md",
    "sql/README.md",
]
exclude_patterns = ["**/.*", "build", "dist", "pipeline/clickassay", "tests", "benchmarks/work"]

myst_heading_anchors = 4  # links to headings, with the anchors that forges make
smartquotes = False  # they make -- of an option a dash
highlight_language = "none"  # indented blocks are commands, formulas and trees; fenced ones say what they are

html_theme = "furo"
html_title = "clickassay"
html_copy_source = False
html_show_sourcelink = False

ENTRY = '<!doctype html><meta charset="utf-8"><title>clickassay</title>\
<meta http-equiv="refresh" content="0; url=docs/index.html"><a href="docs/index.html">clickassay</a>\n'
"""The page at the root of the site, which leads to the first document."""


def _write_entry(app: Sphinx, error: Exception | None) -> None:
    if error is None and app.builder.format == "html":
        (Path(app.outdir) / "index.html").write_text(ENTRY, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Tell Sphinx what to do when the pages are written."""
    app.connect("build-finished", _write_entry)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


suppress_warnings = ["misc.highlighting_failure"]
"""A block may be in a language that has no lexer, as crontab: it is shown plain."""
