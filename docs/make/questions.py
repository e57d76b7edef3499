"""Write docs/reference/questions.md, ready questions with their answers on the sample run: `make pages`."""

import re
import tempfile
from pathlib import Path

import polars as pl

from clickassay.core.contracts.run import RUN_TABLES
from clickassay.core.files.tables import write_database
from clickassay.studies.questions import DATABASE, Question, ask, cells, questions

DOCS = Path(__file__).parents[1]
PAGE = DOCS / "reference" / "questions.md"
SAMPLE = DOCS.parent / "reports" / "sample"
MAX_ROWS = 1
MAX_CELL = 60
"""Characters of a cell; a list of ten URLs would make a row unreadable."""
SAMPLE_COLUMNS = ("market", "depth", "judge")
"""Columns that stand above an answer instead of in it where its rows have one value."""
MOST = "market north, depth 5, judge all"
"""The sample that most answers are about, named once for the page."""

NO_ROWS = {
    "cascade_effects": "Rows are examples. There are none where clicks on all results together are not "
    "significantly fewer below a better one, or where no single result stands out: "
    "[what an example needs](report.md#examples-of-figure-2).",
    "judges_and_clicks": "The sample judgments have one judge.",
    "judges_apart": "The sample judgments have one judge.",
    "judges_and_their_order": "The sample judgments have one judge.",
    "missing_values": "Every correlation of the sample run has a value.",
}
"""Why a question has no answer on the sample run."""

TOP = f"""<!-- Made by `make pages` from `sql/questions` and `reports/sample`: do not edit by hand. -->
# Ready questions

Questions about a run, each with its SQL, and the first row of its answer on the sample run
`reports/sample`, with four digits, of {MOST} unless stated; a cell of more than
{MAX_CELL} characters ends with `…`.
Ask them about any run by name; `--csv` and `--json` print full precision:

    clickassay query reports/june --list
    clickassay query reports/june --name worst_disagreements

Or change the SQL and run it with `clickassay query reports/june "SELECT …"` or in
`duckdb run.duckdb`. [Columns](tables.md); [terms](glossary.md).

Answers name all queries, also those of fewer than `min_users` users, which a report shows as digests:
protect answers about your own run as you protect the log. The sample log is simulated.
"""


def questions_page(sample: Path = SAMPLE) -> str:
    """Return the whole page as Markdown.

    Parameters
    ----------
    sample
        A run folder; its Parquet tables are read, its database need not be there.
    """
    with tempfile.TemporaryDirectory() as folder:
        write_database([table.name for table in RUN_TABLES], sample, Path(folder) / DATABASE)
        return "\n".join([TOP, *(_section(one, ask(Path(folder), one.sql)) for one in questions())])


def _section(question: Question, frame: pl.DataFrame) -> str:
    sql = f"[SQL](../../sql/{question.file}.sql)."
    return f"## {question.name}\n\n{question.answers} {sql}\n\n{_answer(question, frame)}"


def _answer(question: Question, frame: pl.DataFrame) -> str:
    if frame.is_empty():
        return f"No rows. {NO_ROWS.get(question.name, '')}".rstrip() + "\n"
    shown = frame.head(MAX_ROWS)
    alike = [name for name in SAMPLE_COLUMNS if name in shown.columns and shown[name].n_unique() == 1]
    values = ", ".join(f"{name} {shown[name][0]}" for name in alike)
    kept = shown.drop(alike)
    rules = ["---:" if dtype.is_numeric() else "---" for dtype in kept.dtypes]
    rows = [[markdown_cell(cell) for cell in row] for row in cells(kept)]
    stated = f"; {values}" if values and values != MOST else ""
    return f"{frame.height:,} rows{stated}:\n\n{_table(kept.columns, rules, rows)}"


def markdown_cell(text: str) -> str:
    """Return what shows `text`, cut to its longest, in a Markdown table and nothing else.

    Plain words and numbers stay as they are; anything else becomes code, which neither links nor marks up.
    """
    short = text if len(text) <= MAX_CELL else f"{text[: MAX_CELL - 1].rstrip()}…"
    if re.fullmatch(r"[A-Za-z0-9 ,.()=@%+-]*", short):
        return short
    fence = "`" * (max((len(run) for run in re.findall("`+", short)), default=0) + 1)
    pad = " " if "`" in short else ""
    return f"{fence}{pad}{short}{pad}{fence}".replace("|", "\\|")


def _table(head: list[str], rules: list[str], rows: list[list[str]]) -> str:
    lines = (f"| {' | '.join(row)} |\n" for row in (head, *rows))
    return "".join((next(lines), f"|{'|'.join(rules)}|\n", *lines))


def main() -> None:
    """Write the page."""
    PAGE.write_text(questions_page(), encoding="utf-8")


if __name__ == "__main__":
    main()
