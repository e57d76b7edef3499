"""Write docs/reference/questions.md, ready questions with their answers on the sample run: `make pages`."""

import re
import tempfile
from pathlib import Path

import polars as pl

from clickassay.core.contracts.run import RUN_TABLES
from clickassay.core.tables import write_database
from clickassay.studies.questions import DATABASE, Question, ask, cells, questions

DOCS = Path(__file__).parents[1]
PAGE = DOCS / "reference" / "questions.md"
SAMPLE = DOCS.parent / "reports" / "sample"
MAX_ROWS = 10
MAX_CELL = 60
"""Characters of a cell; a list of ten URLs would make a row unreadable."""

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

Questions about a run, each with a link to its SQL, and its answer on the sample run `reports/sample`.
Ask them about any run by name:

    clickassay query reports/june --list
    clickassay query reports/june --name worst_disagreements

Or copy the SQL, change it, and run it with `clickassay query reports/june "SELECT …"` or in
`duckdb run.duckdb`. Columns are those of [tables.md](tables.md), words those of
[method.md](../explanation/method.md).

An answer here shows the first {MAX_ROWS} rows, in the order of the SQL. Numbers have four digits.
A cell of more than {MAX_CELL} characters is cut and ends with `…`. With `--csv` or `--json`, answers
have all rows in full precision.

The answers name every query, also those that fewer than `min_users` users issued: the sample log is
simulated, so there are no people behind it. The report would show digests of these queries.
An answer about your own run has the raw texts too: treat it as you treat the log.
"""


def questions_page(sample: Path = SAMPLE) -> str:
    """Return the whole page as Markdown.

    Parameters
    ----------
    sample
        A run folder; its Parquet tables are read, its database need not be there.
    """
    known = questions()
    with tempfile.TemporaryDirectory() as folder:
        write_database([table.name for table in RUN_TABLES], sample, Path(folder) / DATABASE)
        parts = [_section(question, ask(Path(folder), question.sql)) for question in known]
    return "\n".join([TOP, _overview(known), *parts])


def _overview(known: tuple[Question, ...]) -> str:
    rows = [[f"[{one.name}](#{one.name})", one.answers] for one in known]
    return _table(["name", "question"], ["---", "---"], rows)


def _section(question: Question, frame: pl.DataFrame) -> str:
    sql = f"[Its SQL](../../sql/{question.file}.sql)."
    return f"## {question.name}\n\n{question.answers} {sql}\n\n{_answer(question, frame)}"


def _answer(question: Question, frame: pl.DataFrame) -> str:
    if frame.is_empty():
        return f"No rows. {NO_ROWS.get(question.name, '')}".rstrip() + "\n"
    rules = ["---:" if dtype.is_numeric() else "---" for dtype in frame.dtypes]
    rows = [[markdown_cell(cell) for cell in row] for row in cells(frame.head(MAX_ROWS))]
    return f"{_height(frame.height)}\n\n{_table(frame.columns, rules, rows)}"


def _height(rows: int) -> str:
    if rows > MAX_ROWS:
        return f"The first {MAX_ROWS} of {rows:,} rows:"
    return "The only row:" if rows == 1 else f"All {rows} rows:"


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
    return "".join(f"| {' | '.join(row)} |\n" for row in (head, rules, *rows))


def main() -> None:
    """Write the page."""
    PAGE.write_text(questions_page(), encoding="utf-8")


if __name__ == "__main__":
    main()
