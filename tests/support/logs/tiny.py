"""A good log of a few rows, and the command line to hand it to: in this process, or in one of its own."""

import contextlib
import io
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import polars as pl

from clickassay.cli.app import app
from clickassay.cli.exit import run_command
from clickassay.core.settings import Settings
from clickassay.jobs.analyse import analyse
from clickassay.jobs.inputs import Sources
from clickassay.jobs.patterns import log_to_patterns

QUERIES = ("maps", "weather today", "news")
ORDERS = ((0, 1, 2), (1, 0, 2))
NOON_MS = 1_714_564_800_000
STEP_MS = 10_000
WIDE = "200"
"""Columns of a terminal wide enough for any line."""
ROWS = 24
QUICK = ("--iterations", "10", "--depth", "3", "--click-models", "none", "--threads", "1")
PYTHON = {"click_models": "none", "progress": False, "health_limit": "busy_user=off"}
"""Keywords of a quick run of a log in which a user is busy."""

# 24 searches, each of a user of its own: 3 queries, 2 orders of 3 results, 4 searches of each.
# The places clicked by these 4, for the first order and the second: the first order is the better one.
CLICKED_PLACES = (((1,), (2,), (1, 2), ()), ((2,), (3,), (), ()))
CLICKS = 18


def searches() -> pl.DataFrame:
    """Return the searches, oldest first."""
    return pl.DataFrame(
        {
            "search_id": list(range(1, ROWS + 1)),
            "user_id": [1000 + row for row in range(ROWS)],
            "query": [QUERIES[row % 3] for row in range(ROWS)],
            "timestamp": [NOON_MS + STEP_MS * row for row in range(ROWS)],
            "results": [results_of(row) for row in range(ROWS)],
        }
    ).with_columns(pl.from_epoch("timestamp", "ms").dt.replace_time_zone("UTC"))


def results_of(row: int) -> list[str]:
    """Return the results of the search of that row, best first."""
    return [url_of(QUERIES[row % 3], page) for page in ORDERS[row // 3 % 2]]


def url_of(query: str, page: int) -> str:
    """Return the address of one of the three pages of a query."""
    return f"http://{query.replace(' ', '-')}.example/{page}"


def clicks() -> pl.DataFrame:
    """Return the clicks, each some seconds after its search."""
    rows = [
        (row + 1, NOON_MS + STEP_MS * row + 1000 * place, results_of(row)[place - 1])
        for row in range(ROWS)
        for place in CLICKED_PLACES[row // 3 % 2][row // 6]
    ]
    frame = pl.DataFrame(rows, schema=["search_id", "timestamp", "url"], orient="row")
    return frame.with_columns(pl.from_epoch("timestamp", "ms").dt.replace_time_zone("UTC"))


def judgments() -> pl.DataFrame:
    """Return a grade for each of the nine results: the first page of a query is best."""
    rows = [(query, url_of(query, page), (4, 2, 0)[page]) for query in QUERIES for page in range(3)]
    return pl.DataFrame(rows, schema=["query", "url", "grade"], orient="row")


@dataclass(frozen=True)
class Log:
    """Where the three inputs lie, and where the run is to appear."""

    folder: Path
    searches: str
    clicks: str
    judgments: str

    @property
    def out(self) -> Path:
        return self.folder / "made" / "run"

    def options(self, command: str = "run", *, out: Path | None = None) -> list[str]:
        """Return the command with its inputs and output."""
        inputs = ["--searches", self.searches, "--clicks", self.clicks]
        judged = ["--judgments", self.judgments, *QUICK]
        more = judged if command == "run" else ["--depth", "3", "--threads", "1"]
        return [command, *inputs, *more, "--out", str(self.out if out is None else out)]


def write_log(folder: Path, **changed: pl.DataFrame | str | Path) -> Log:
    """Write the good log as Parquet; a table given by name takes the place of the good one, a path stays."""
    folder.mkdir(parents=True, exist_ok=True)
    places = {}
    for name, good in (("searches", searches), ("clicks", clicks), ("judgments", judgments)):
        table = changed.get(name)
        if isinstance(table, (str, Path)):
            places[name] = str(table)
            continue
        places[name] = str(folder / f"{name}.parquet")
        (good() if table is None else table).write_parquet(places[name])
    return Log(folder, **places)


@dataclass(frozen=True)
class Outcome:
    """What a command gave back."""

    code: int
    out: str
    err: str


def inside(*arguments: object) -> Outcome:
    """Run the command line in this process."""
    out, err = io.StringIO(), io.StringIO()
    wide = mock.patch.dict(os.environ, COLUMNS=WIDE)
    with wide, contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = run_command(lambda: app(list(map(str, arguments))))
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 0
    return Outcome(code, out.getvalue(), err.getvalue())


def said_by(*arguments: object) -> str:
    """Run a command that must succeed; return what it prints."""
    outcome = inside(*arguments)
    assert outcome.code == 0, outcome
    return outcome.out


def refusal(*arguments: object) -> str:
    """Run a command that must be refused and print nothing else; return its one line."""
    outcome = inside(*arguments)
    assert outcome.out == ""
    return one_line(outcome)


def outside(*arguments: object, before: tuple[str, ...] = (), **more: object) -> Outcome:
    """Run the command line in a process of its own, which a command `before` may start."""
    ended = subprocess.run(
        [*before, *started_with(*arguments)],
        check=False,
        capture_output=True,
        timeout=60,
        env=environment(),
        **more,
    )
    return Outcome(ended.returncode, ended.stdout.decode(), ended.stderr.decode())


def started_with(*arguments: object) -> list[str]:
    """Return the command line of a process that runs clickassay."""
    return [sys.executable, "-m", "clickassay", *map(str, arguments)]


def environment() -> dict[str, str]:
    """Return an environment with a terminal wide enough for any line."""
    return {**os.environ, "COLUMNS": WIDE}


def tree(folder: Path) -> list[str]:
    """List everything below a folder, hidden things too."""
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


def refused(log: Log, *words: str, command: str = "run", more: tuple[str, ...] = ()) -> str:
    """Run the log; hold that it ends with code 2 and one line with all `words`, and leaves nothing behind.

    Returns the line.
    """
    before = tree(log.folder)
    line = refusal(*log.options(command), *more)
    missing = [word for word in words if word not in line]
    assert not missing, f"{missing} not in: {line}"
    assert tree(log.folder) == before
    return line


def one_line(outcome: Outcome) -> str:
    """Hold that an outcome is a refusal: code 2 and one line on stderr; return the line."""
    assert (outcome.code, outcome.err.count("\n")) == (2, 1), outcome
    assert outcome.err.startswith("clickassay: ")
    assert "Traceback" not in outcome.err
    assert len(outcome.err) < 2000
    return outcome.err.removesuffix("\n")


def funnel(folder: Path) -> dict[tuple[str, str, str], int]:
    """Return the rows of a run's or pattern table's funnel at depth 0, by source, step and reason."""
    return counts_of(pl.read_parquet(folder / "funnel.parquet", glob=False))


def counts_of(frame: pl.DataFrame) -> dict[tuple[str, str, str], int]:
    """Return the rows of a funnel at depth 0, by source, step and reason."""
    rows = frame.filter(depth=0).select("source", "step", "reason", "rows").iter_rows()
    return {tuple(step): number for *step, number in rows}


def cut_short(file: Path) -> None:
    """Take away the end of a file."""
    file.write_bytes(file.read_bytes()[:-20])


def overwritten(file: Path) -> None:
    """Overwrite the first third of a Parquet file but for its mark: its footer stays whole."""
    content = file.read_bytes()
    third = len(content) // 3
    file.write_bytes(content[:4] + b"\xff" * third + content[4 + third :])


def files_of(folder: Path, *endings: str) -> dict[str, bytes]:
    """Return the bytes of all files below a folder, or of those with these endings, by their paths."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    wanted = (path for path in files if not endings or path.suffix in endings)
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in wanted}


def counted(log: Log, *more: str, code: int = 0) -> dict[tuple[str, str, str], int]:
    """Make the pattern table of a log; hold that it ends with a code, 1 for a finding; return its funnel."""
    outcome = inside(*log.options("patterns"), *more)
    assert outcome.code == code, outcome
    return funnel(log.out)


def analysed(log: Log, **settings: object) -> dict[str, pl.DataFrame]:
    """Compute the tables of a run without its report."""
    chosen = Settings(depth=(3,), iterations=10, threads=1, click_models=("NONE",), **settings)
    table = log_to_patterns(Sources(log.searches, log.clicks), chosen)
    return analyse(table, Sources(judgments=log.judgments), chosen)


def patterns(folder: Path) -> bytes:
    """Return the bytes of a stored pattern table: its configurations, patterns and queries."""
    return b"".join(
        (folder / f"{name}.parquet").read_bytes() for name in ("configurations", "patterns", "queries")
    )


@contextlib.contextmanager
def as_nobody(folder: Path) -> Iterator[None]:
    """Work as a user who may enter `folder` and read there, and write nothing."""
    modes = {place: place.stat().st_mode for place in (folder, *folder.parents)}
    for place, mode in modes.items():
        place.chmod(mode | 0o555)
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)
        for place, mode in modes.items():
            place.chmod(mode)
