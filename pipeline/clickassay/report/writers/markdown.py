"""A report and its tables as Markdown."""

from functools import cache

from jinja2 import Environment
from markupsafe import Markup

from clickassay.core.text.escape import markdown
from clickassay.report.model import ReportTable, Section
from clickassay.report.writers.numbers import MARKDOWN, cell_text
from clickassay.report.writers.page import REPORT, template_options
from clickassay.report.writers.tables import full_heads, is_number, row_groups


def markdown_page(template: str, *, home: str = REPORT, **content: object) -> str:
    """Fill a template of Markdown, every value escaped; `home` is the package that has the template."""
    return _environment(home).get_template(template).render(**content).strip() + "\n"


@cache
def _environment(home: str) -> Environment:
    # autoescape speaks HTML; for Markdown `finalize` does its work: every expression passes there
    environment = Environment(autoescape=False, finalize=_marked_down, **template_options(home))  # noqa: S701
    environment.globals.update(pipe_table=_pipe_table, section_part=_section_part)
    return environment


def _marked_down(value: object) -> object:
    return value if isinstance(value, Markup) else markdown(value)


def _pipe_table(table: ReportTable) -> Markup:
    return Markup(markdown_table(table))  # noqa: S704 - its cells are escaped


def _section_part(section: Section) -> Markup:
    """Return a section: heading, sentences, tables."""
    parts = [f"## {markdown(section.title)}", *(markdown(text) for text in section.every_reading)]
    for table in section.every_table:
        if table.rows:
            parts += [f"### {markdown(table.title)}", markdown_table(table)]
            parts += [markdown(remark) for remark in table.remarks]
    return Markup("\n\n".join(parts) + "\n")  # noqa: S704 - every text is escaped


def markdown_rows(table: ReportTable) -> list[list[str]]:
    """Return head, rule and rows of a pipe table, every cell escaped; group headings are bold rows."""
    body: list[list[str]] = []
    for group, rows in row_groups(table):
        if group:
            body.append([f"**{markdown(group)}**", *[""] * len(table.heads)])
        for row in rows:
            texts = (row.name, *(cell_text(cell, MARKDOWN) for cell in row.cells))
            body.append([markdown(text) for text in texts])
    rule = [":--", *["--:" if is_number(table, place) else ":--" for place in range(len(table.heads))]]
    return [[markdown(head) for head in (table.name_head, *full_heads(table))], rule, *body]


def markdown_table(table: ReportTable) -> str:
    """Return the pipe table, every cell escaped."""
    return "\n".join("| " + " | ".join(cells) + " |" for cells in markdown_rows(table))
