"""From Python: a log and judgments to a run in memory, and runs that were saved."""

from base64 import b64encode
from collections.abc import Mapping
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any, Unpack

import numpy as np
import polars as pl

from clickassay.api.keywords import SettingsGiven
from clickassay.core.contracts.run import RUN_TABLES
from clickassay.core.errors import ReportError, SettingsError
from clickassay.core.files.output import published_file, published_folder
from clickassay.core.files.scratch import scratch, scratch_folder
from clickassay.core.progress import Progress, silent
from clickassay.core.settings import load_settings
from clickassay.core.text.words import number
from clickassay.findings.draw import Findings, draw_findings
from clickassay.findings.run import Run
from clickassay.findings.run import open_run as read_run
from clickassay.inputs.staging.frames import Frame
from clickassay.inputs.staging.made import Made
from clickassay.inputs.staging.sources import Source
from clickassay.inputs.staging.sql import InputSql
from clickassay.jobs.run import FoundRun, open_inputs, save, write_tables
from clickassay.jobs.run import run as computed
from clickassay.report.build import build_report, html_report
from clickassay.report.verdict.decision import Advice, advise_run
from clickassay.report.verdict.summary import summary
from clickassay.studies.questions import ask, sql_of

_TABLES = tuple(table.name for table in RUN_TABLES)
_MOST_METRICS = 12


def run(
    searches: Any,  # noqa: ANN401 - a path, SQL, or a frame of any library
    clicks: Any = None,  # noqa: ANN401 - as above
    judgments: Any = None,  # noqa: ANN401 - as above
    queries: Any = None,  # noqa: ANN401 - as above
    *,
    progress: Progress = silent,
    **settings: Unpack[SettingsGiven],
) -> "RunResult":
    """Compute which metric predicts clicks; nothing is written unless the result is saved.

    Parameters
    ----------
    searches
        A file, folder, glob or address; SQL as `InputSql`; or a frame of Polars (eager or lazy), pandas,
        Arrow or DuckDB. A row for each search, or for each result shown.
    clicks, judgments, queries
        Likewise. No clicks where searches say what was clicked.
    progress
        Called with what is being done.
    settings
        As on the command line, by their names: ``depth=[5, 10]``, ``current="NDCG"``.

    Returns
    -------
    The run in memory.

    Raises
    ------
    ClickassayError
        As the command would say it.

    Examples
    --------
    >>> import clickassay as ca
    >>> run = ca.run("searches.parquet", "clicks.parquet", "judgments.csv")  # doctest: +SKIP
    >>> run.decision.sentence  # doctest: +SKIP
    """
    given = load_settings(**settings)
    with scratch():
        shown, clicked, judged, asked = map(_source, (searches, clicks, judgments, queries))
        if shown is None:
            raise SettingsError("a run needs searches: a path, SQL or a frame")
        inputs = open_inputs(shown, clicked, judged, asked, given, progress)
        found = computed(inputs, given, progress=progress)
    return RunResult(found.run, found.findings, found.undecided)


def open_run(folder: str | Path) -> "RunResult":
    """Open a run that `RunResult.save`, `clickassay run` or `clickassay report` wrote.

    Raises
    ------
    ReportError
        If the folder is no run, or of another version.
    """
    return RunResult(read_run(Path(folder)))


def _source(given: Any) -> Source | None:  # noqa: ANN401 - of any library
    if given is None or isinstance(given, str | Path | InputSql | Made | Frame):
        return given
    return Frame(given)


class RunResult:
    """A run: what to do, why, and every table behind it.

    The tables of a run (docs/reference/tables.md) are attributes by their names, frames of Polars:
    ``run.correlations``, ``run.comparisons``, ``run.health``. Two runs are equal when their tables are.

    Parameters
    ----------
    found
        Its tables and settings.
    findings
        What was found; None = it is drawn from the tables when it is asked for.
    undecided
        Where judgments are too few: what to judge.
    """

    def __init__(self, found: Run, findings: Findings | None = None, undecided: tuple[str, ...] = ()) -> None:
        self._run, self._drawn, self._undecided = found, findings, undecided

    def __reduce__(self) -> tuple[Any, ...]:
        tables = {name: self._run.tables[name] for name in _TABLES}
        return _unpickled, (tables, dict(self._run.info), self._undecided)

    def __getattr__(self, name: str) -> pl.DataFrame:
        if name not in _TABLES:
            raise AttributeError(f"a run has no {name}; its tables are {', '.join(_TABLES)}")
        return self._run.tables[name]

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *_TABLES})

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RunResult):
            return NotImplemented
        mine, its = self.tables, other.tables
        return all(mine[name].equals(its[name]) for name in _TABLES)

    __hash__ = None  # type: ignore[assignment] # equality is of tables

    @property
    def tables(self) -> Mapping[str, pl.DataFrame]:
        """Every table by its name."""
        return self._run.tables

    @property
    def settings(self) -> Mapping[str, Any]:
        """The settings that it was made with."""
        return self._run.settings.model_dump()

    @cached_property
    def _findings(self) -> Findings:
        return self._drawn or draw_findings(self._run, np.random.default_rng(0))

    @cached_property
    def decision(self) -> Advice:
        """What to do, in words and numbers: kind, sentence, reason, next step."""
        return advise_run(self._run, self._findings)

    @property
    def summary(self) -> dict[str, Any]:
        """The content of ``summary.json`` (docs/reference/summary.md)."""
        return summary(self._findings, self.decision, self._run.days)

    def query(self, sql: str) -> pl.DataFrame:
        """Return the rows of one SELECT over the tables, or of a ready question by its name.

        Raises
        ------
        QueryError
            If it is not one valid statement that returns rows.
        """
        if self._run.folder != Path():
            return ask(self._run.folder, sql_of(sql))
        with scratch():
            folder = scratch_folder("the run")
            write_tables(self._run, folder)
            return ask(folder, sql_of(sql))

    def save(self, folder: str | Path, *, force: bool = False) -> Path:
        """Write the run into a new folder, as `clickassay run` does; return it.

        Raises
        ------
        OutputError
            If the folder exists (and `force` is not given, or it is not ours), or cannot be written.
        """
        place = Path(folder)
        with published_folder(place, force=force) as work:
            save(FoundRun(self._run, self._findings, self._undecided), work)
        return place

    def report(self, file: str | Path) -> Path:
        """Write the page alone, as a new file; return it.

        Raises
        ------
        OutputError
            If the file exists, or cannot be written.
        """
        place = Path(file)
        with published_file(place) as work:
            work.write_text(html_report(build_report(self._run, self._findings)), encoding="utf-8")
        return place

    def __repr__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> list[str]:
        """Return what the command prints: what to do, why, and the ranking."""
        if self._undecided:
            return list(self._undecided)
        told = self.decision
        reason = " ".join(filter(None, (told.reason, told.caution)))
        lines = [f"{told.sentence}.", told.scope, reason, f"Next: {told.next_step}"]
        content = self.summary
        decides = content["verdict"]["quantity"]
        ranking = next(one for one in content["findings"] if one.get("quantity") == decides)
        for one in ranking["numbers"][:_MOST_METRICS]:
            best = "  among the best" if one["metric"] in ranking["among_best"] else ""
            lines.append(f"  {one['metric']:20} {number(one['value']):>8}{best}")
        checks = [f"{str(one.status).capitalize()}: {one.text}" for one in self._findings.health]
        return [line for line in (*lines, *checks) if line]

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the decision, the picture, and what is wrong with the log."""
        told, picture = self.decision, self._picture()
        reason = [told.scope, " ".join(filter(None, (told.reason, told.caution)))]
        texts = [*([] if picture else reason), f"Next: {told.next_step}"]  # the picture has both
        checks = [f"{str(one.status).capitalize()}: {one.text}" for one in self._findings.health]
        paragraphs = "".join(f"<p>{escape(text)}</p>" for text in (*self._undecided, *texts, *checks) if text)
        title = f"<p><strong>{escape(told.sentence)}.</strong></p>"
        return f"<section>{title}{picture}{paragraphs}</section>"

    def _picture(self) -> str:
        report = build_report(self._run, self._findings)
        if report.picture is None:
            return ""
        try:
            image = report.picture.image(report.title, f"{report.scope} {report.reason}")
        except ReportError:
            return ""
        data = b64encode(image).decode("ascii")
        style = "max-width:min(100%,46rem)"
        return f'<img alt="{escape(report.title)}" style="{style}" src="data:image/png;base64,{data}">'


def _unpickled(
    tables: Mapping[str, pl.DataFrame], info: Mapping[str, Any], undecided: tuple[str, ...]
) -> RunResult:
    from clickassay.findings.run import run_of  # noqa: PLC0415 - beside its use

    return RunResult(run_of(tables, info), None, undecided)
