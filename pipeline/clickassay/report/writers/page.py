"""The pages of a report: HTML, with script, style and files inlined, and Markdown."""

import base64
import hashlib
import re
from collections.abc import Callable, Iterable
from functools import cache
from importlib.resources import files
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Any

import polars as pl
from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from clickassay.core.contracts.columns import EVERY
from clickassay.core.provenance import how_to_cite
from clickassay.core.records import SampleKey
from clickassay.core.text.escape import html, markdown, script_json
from clickassay.report.model import Section, StudyReport
from clickassay.report.tables import ReportTable
from clickassay.report.writers.tables import html_table, latex_table, markdown_table


@cache
def script() -> str:
    """Return the page's script: DataTables of itables, of the form expected (RuntimeError), and our lines."""
    package = find_spec("itables")  # not imported: it would import pandas where that is installed
    (home,) = (package and package.submodule_search_locations) or ("",)
    bundle = Path(home, "html", "dt_bundle.js").read_text(encoding="utf-8")
    exports = re.search(r"export\{([^}]*)\}", bundle)
    pairs = (pair.split(" as ") for pair in exports[1].split(",")) if exports else ()
    names = {public: own for own, public in pairs}
    if exports is None or "default" not in names:
        raise RuntimeError("the bundle of itables has another form than expected: pin the version before it")
    # a module cannot import from its own page, so the library passes its class on in the same scope
    library = bundle.replace(exports[0], f"const SortableTable={names['default']};")
    every = f"{library}\n{_source('live.js')}"
    # what would end the script element early
    return every.replace("</script", "<\\/script").replace("<!--", "<\\!--")


MAX_PACKED, MAX_PACKED_FULL = 25_000, 100_000
"""A larger packed file is not in the page, or not in the full one: it is found in the folder ``tables``."""

_MOST_PACKING = 10
"""A text so many times as long as the limit of its packed form is not even packed: tables become 2 to 4 times
smaller."""

_PACKING_LEVEL = 6
"""Half the time of Arrow's own choice, 9, for files that are 0.3% larger."""


def downloads(tables: Iterable[ReportTable], shown: tuple[SampleKey, ...], *, full: bool = True) -> Markup:
    """Return the CSV files of all tables as one JSON object: names and texts, packed by Arrow's own gzip.

    They have only the samples that are shown: a run can have hundreds. Files above `MAX_PACKED`, or if `full`
    above `MAX_PACKED_FULL`, stay out. Its bytes do not depend on the machine.
    """
    import pyarrow as pa  # noqa: PLC0415 - only pages need it

    most = MAX_PACKED_FULL if full else MAX_PACKED
    packed: dict[str, str] = {}
    gzip = pa.Codec("gzip", compression_level=_PACKING_LEVEL)
    for table in tables:
        text = "\n".join([*_lines_of(table, shown), ""]) if table.rows else ""
        if text and len(text) <= _MOST_PACKING * most:
            small = base64.b64encode(gzip.compress(text.encode("utf-8"), asbytes=True)).decode("ascii")
            packed |= {table.name: small} if len(small) <= most else {}
    return Markup(script_json(packed))  # noqa: S704 - script_json escapes "<"


def _lines_of(table: ReportTable, shown: tuple[SampleKey, ...]) -> list[str]:
    """Return the lines of a CSV file with the rows of some samples, and of all together."""
    data, key = table.data, ("market", "depth", "judge")
    if data is None or not set(key) <= set(data.columns):
        return table.csv_lines
    wanted = {(EVERY, 0, EVERY)}
    for one in shown:
        wanted |= set(product((one.market, EVERY), (one.depth, 0), (one.judge, EVERY)))
    kept = pl.DataFrame(sorted(wanted), schema={name: data.schema[name] for name in key}, orient="row")
    numbered = data.select(key).with_row_index("line", 1)
    rows = numbered.join(kept, on=list(key), how="semi", maintain_order="left")["line"]
    return [table.csv_lines[place] for place in (0, *rows)]


REPORT = "clickassay.report"
"""The package whose folder ``templates`` has the shared parts of all pages."""


def _template_options(home: str) -> dict[str, Any]:
    """Return the options of a template environment: the templates of the package `home`, and shared parts."""
    return {
        "loader": ChoiceLoader([PackageLoader(home), PackageLoader(REPORT)]),
        "undefined": StrictUndefined,
        "trim_blocks": True,
        "lstrip_blocks": True,
    }


def html_page(template: str, *, mark: Callable[[str], Markup], home: str = REPORT, **content: object) -> str:
    """Fill a template of `home` with every page's script and style; `mark` escapes prose, and may link."""
    own_script = script()
    style = _source("report.css")
    return (
        _environment(home, mark)
        .get_template(template)
        .render(
            script=Markup(own_script),  # noqa: S704 - our own file
            style=Markup(style),  # noqa: S704 - our own file
            script_hash=_digest(own_script),
            style_hash=_digest(style),
            **content,
        )
    )


@cache  # templates are compiled once
def _environment(home: str, mark: Callable[[str], Markup]) -> Environment:
    def tied(text: str, mark: Callable[[str], Markup] = html) -> Markup:
        """Show what is between backticks, and options, as code."""
        code = re.sub(r"`([^`<>]+)`|(?<![\w-])(--[a-z][a-z-]+)", r"<code>\1\2</code>", str(mark(text)))
        return Markup(code)  # noqa: S704 - it is escaped

    environment = Environment(autoescape=True, **_template_options(home))
    environment.globals.update(html_table=html_table, how_to_cite=how_to_cite)
    environment.filters["tied"] = tied
    environment.filters["linked"] = lambda text: tied(text, mark)
    return environment


def _digest(text: str) -> str:
    """Return the hash of an inline script or style sheet for the content security policy."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")


def _source(name: str) -> str:
    return files(REPORT).joinpath("templates", name).read_text(encoding="utf-8")


def markdown_page(template: str, *, home: str = REPORT, **content: object) -> str:
    """Fill a template of Markdown, every value escaped; `home` is the package that has the template."""
    return _markdown_environment(home).get_template(template).render(**content).strip() + "\n"


@cache
def _markdown_environment(home: str) -> Environment:
    def marked_down(value: object) -> object:
        return value if isinstance(value, Markup) else markdown(value)

    # autoescape speaks HTML; for Markdown `finalize` does its work: every expression passes there
    environment = Environment(autoescape=False, finalize=marked_down, **_template_options(home))  # noqa: S701
    environment.globals.update(section_part=_section_part, how_to_cite=how_to_cite)
    return environment


def _section_part(section: Section) -> Markup:
    parts = [f"## {markdown(section.title)}", *(markdown(text) for text in section.every_reading)]
    for table in section.every_table:
        if table.rows:
            parts += [f"### {markdown(table.title)}", markdown_table(table)]
            parts += [markdown(remark) for remark in table.remarks]
    return Markup("\n\n".join(parts) + "\n")  # noqa: S704 - every text is escaped


def write_text(path: Path, text: str) -> None:
    """Write a text as UTF-8 with the line ends that it has."""
    path.write_bytes(text.encode("utf-8"))


def write_table_files(folder: Path, tables: Iterable[ReportTable]) -> None:
    """Write every table as CSV, and as LaTeX where a page can hold it."""
    folder.mkdir(exist_ok=True)
    for table in tables:
        write_text(folder / f"{table.name}.csv", "\n".join([*table.csv_lines, ""]))
        if table.for_papers:
            write_text(folder / f"{table.name}.tex", latex_table(table))


def write_study(report: StudyReport, folder: Path) -> None:
    """Write ``report.html``, ``report.md``, ``tables/*.csv`` and ``tables/*.tex`` into an existing folder."""
    tables = [table for section in report.sections for table in section.every_table]
    page = html_page("study.html.j2", mark=html, report=report, files=downloads(tables, ()))
    write_text(folder / "report.html", page)
    write_text(folder / "report.md", markdown_page("study.md.j2", report=report))
    write_table_files(folder / "tables", tables)
