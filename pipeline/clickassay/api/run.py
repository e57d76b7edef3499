"""From Python: a log and judgments to a run, in memory or in a folder; and runs that were saved."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
import polars as pl

from clickassay.api.given import Place, SettingsGiven, Table, Told, source_of
from clickassay.api.screen.charts import Chart, picture_of
from clickassay.api.screen.html import paragraph
from clickassay.api.screen.parts import Part, ShownTable
from clickassay.api.screen.progress import progress_of
from clickassay.api.screen.python import for_python, in_python
from clickassay.api.screen.result import Result
from clickassay.core.contracts.run import RUN_TABLES, TABLES_OF_TESTS
from clickassay.core.errors import ReportError, SettingsError
from clickassay.core.files.output import place_to_write, published_file, published_folder
from clickassay.core.files.scratch import scratch, scratch_folder
from clickassay.core.settings import load_settings
from clickassay.core.text.escape import html
from clickassay.core.text.words import capital, did_you_mean, listed, number, plural
from clickassay.findings.draw import Findings, draw_findings
from clickassay.findings.ranking import Ranking
from clickassay.findings.run import Run, run_of
from clickassay.findings.run import open_run as read_run
from clickassay.health.checks import HealthCheck, well_text
from clickassay.jobs.inputs import Sources
from clickassay.jobs.run import make_run, write_run, write_tables
from clickassay.metrics.catalogue import BASELINES
from clickassay.report.verdict import sentences
from clickassay.report.verdict.decision import Advice, advise_run
from clickassay.report.verdict.summary import summary
from clickassay.studies.experiments.of_run import RunTests
from clickassay.studies.questions import ask, sql_of

if TYPE_CHECKING:
    from clickassay.api.studies.experiments import LogTestResult
    from clickassay.report.build import Report

_TABLES = tuple(table.name for table in (*RUN_TABLES, *TABLES_OF_TESTS))

_MOST_CHECKS = 3
"""Checks of the log's health that are shown on the screen; the report has all."""

_MOST_METRICS = 12
"""Metrics of the ranking on the screen."""

RANKING = "ranking"
"""The picture of the first screen."""


@for_python
def run(  # noqa: PLR0913 - the whole job has this many inputs
    searches: Table,
    clicks: Table = None,
    judgments: Table = None,
    queries: Table = None,
    *,
    scores: Table = None,
    outcomes: Table = None,
    assignments: Table = None,
    out: Place | None = None,
    force: bool = False,
    progress: Told = True,
    **settings: Unpack[SettingsGiven],
) -> "RunResult":
    """Compute which metric predicts clicks; nothing is written unless `out` is given, or the result saved.

    Parameters
    ----------
    searches
        A file, folder, glob or address; SQL as `InputSql`; or a frame of Polars (eager or lazy), pandas,
        Arrow or DuckDB. One row per search, or per result shown.
    clicks, judgments, queries
        Likewise. Clicks are not needed if searches contain them.
    scores
        Likewise: your own scores of rankings, compared with the offline metrics; name, value, and
        configuration_id, search_id, or query and results. A ranking without a score is excluded.
    outcomes
        Likewise: numbers per search, such as revenue; search_id, name, value, optionally outcome_id.
    assignments
        Likewise: users by arm of A/B tests; user_id, variant, optionally experiment, timestamp, until.
    out
        Folder to save the run into, as `RunResult.save` does; checked before the work begins.
    force
        Replace an existing run.
    progress
        True: a bar in a terminal or notebook; False: none; or a function, called with each event.
    settings
        As on the command line, by their names: ``depth=[5, 10]``, ``current="NDCG"``.

    Raises
    ------
    ClickassayError
        If an input or a setting is invalid; the message says what to do.

    Examples
    --------
    >>> import clickassay as ca
    >>> run = ca.run("searches.parquet", "clicks.parquet", "judgments.parquet", progress=False)
    >>> run.decision.kind
    'baseline_as_good'
    """
    given = (searches, clicks, judgments, queries, scores, outcomes, assignments)
    if searches is None:
        raise SettingsError("searches are missing: give a path, SQL or a frame")
    with progress_of(progress) as told:
        sources = Sources(*map(source_of, given))
        return RunResult(*make_run(sources, load_settings(**settings), out=out, force=force, progress=told))


@for_python
def open_run(folder: Place) -> "RunResult":
    """Open a run that `RunResult.save` or the command `run` or `report` wrote.

    Raises
    ------
    ReportError
        If the folder is not a run, or has another version.

    Examples
    --------
    >>> ca.open_run("reports/june").decision.subject
    'MeanGrade@1'
    """
    return RunResult(read_run(Path(folder)))


class RunResult(Result):
    """A run: the decision, its reasons, and every table behind it.

    The tables of a run (docs/reference/tables.md) are attributes by their names, frames of Polars:
    ``run.correlations``, ``run.comparisons``, ``run.health``. Two runs are equal when their tables are.

    Parameters
    ----------
    found_run
        Its tables and settings.
    findings
        The findings; None = drawn from the tables when needed.
    """

    def __init__(self, found_run: Run, findings: Findings | None = None) -> None:
        self.found_run, self._drawn = found_run, findings

    def __reduce__(self) -> tuple[Any, ...]:
        tables = {name: self.tables[name] for name in _TABLES}
        return _unpickled, (tables, dict(self.found_run.info), self.found_run.undecided)

    def __getattr__(self, name: str) -> pl.DataFrame:
        if name not in _TABLES:
            hint, _, _ = did_you_mean(name, _TABLES).rpartition("known are")
            raise AttributeError(f"a run has no {name}; its tables are {listed(_TABLES)}. {capital(hint)}")
        return self.found_run.tables[name]

    def __getitem__(self, name: str) -> pl.DataFrame:
        if name not in _TABLES:
            raise ReportError(f"a run has no table {name!r}; {did_you_mean(str(name), _TABLES)}")
        return self.found_run.tables[name]

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *_TABLES})

    @property
    def tables(self) -> Mapping[str, pl.DataFrame]:
        """Every table by its name."""
        return self.found_run.tables

    @property
    def settings(self) -> Mapping[str, Any]:
        """The settings that it was made with."""
        return self.found_run.settings.model_dump()

    @cached_property
    def _findings(self) -> Findings:
        return self._drawn or draw_findings(self.found_run, np.random.default_rng(0))

    @cached_property
    def _advice(self) -> Advice:
        return advise_run(self.found_run, self._findings)

    @cached_property
    def _tests(self) -> RunTests:
        return RunTests.of(self.found_run, self._findings)

    @cached_property
    def _report(self) -> "Report":
        from clickassay.report.build import build_report  # noqa: PLC0415 - charts take a second
        from clickassay.studies.experiments.shown import tests_of_run  # noqa: PLC0415 - as above

        return build_report(self.found_run, self._findings, tests_of_run(self.found_run, self._findings))

    @property
    def decision(self) -> Advice:
        """What to do, in words and numbers: kind, sentence, reason, next step."""
        told = self._advice
        return replace(told, reasons=tuple(map(in_python, told.reasons)), next_step=in_python(told.next_step))

    @property
    def summary(self) -> dict[str, Any]:
        """The content of ``summary.json`` (docs/reference/summary.md)."""
        entries = [one.entry for kind in self._tests.kinds for one in kind.tests]
        return summary(self._findings, self._advice, self.found_run.days, entries)

    @property
    def is_finding(self) -> bool:
        """Whether a job should stop: a data check or declared test is a finding, or too little is judged."""
        wrong = any(one.is_finding for one in self._findings.health)
        return bool(self.found_run.undecided) or wrong or self._tests.is_finding

    @for_python
    def query(self, sql: str) -> pl.DataFrame:
        """Return the rows of one SELECT over the tables, or of a ready question by its name.

        Raises
        ------
        QueryError
            If it is not one valid statement that returns rows.
        """
        if self.found_run.folder != Path():
            return ask(self.found_run.folder, sql_of(sql))
        with scratch():
            folder = scratch_folder("the run")
            write_tables(self.found_run, folder)
            return ask(folder, sql_of(sql))

    @for_python
    def test(self, name: str) -> "LogTestResult":
        """Return one A/B test of the log in full: verdict, checks and all metrics.

        Raises
        ------
        SettingsError
            If the log has no such test.
        """
        from clickassay.api.studies.experiments import LogTestResult  # noqa: PLC0415 - beside its use

        return LogTestResult(self._tests.only(name))

    @for_python
    def chart(self, name: str = RANKING) -> Chart:
        """Return a picture of the report by its name, e.g. ``ranking``, ``within`` or ``correlations``.

        Raises
        ------
        ReportError
            If the report has no such picture; the message lists its pictures.
        """
        report = self._report
        known = dict.fromkeys([RANKING], report.overview[0]) if report.overview else {}
        known |= {one.name: one for section in report.sections for one in section.every_figure}
        name = f"{name}-0" if name not in known and f"{name}-0" in known else name  # the first of several
        if name not in known:
            told = did_you_mean(name, sorted(known)) if known else "the report has no picture"
            raise ReportError(f"no chart {name!r}; {told}")
        found = known[name]
        return Chart(name, found.title, found.alt, str(found.drawing.svg))

    @for_python
    def save(self, folder: Place, *, force: bool = False) -> Path:
        """Write the run into a new folder, as the command does; return it.

        Raises
        ------
        OutputError
            If the folder exists (without `force`, or not ours), or cannot be written.
        """
        place = place_to_write(folder)
        with published_folder(place, force=force) as work:
            unnamed = {**self.found_run.info, "command": ""}
            write_run(replace(self.found_run, info=unnamed), self._findings, work)
        return place

    @for_python
    def report(self, file: Place) -> Path:
        """Write the page alone, as a new file; return it.

        Raises
        ------
        OutputError
            If the file exists, or cannot be written.
        """
        from clickassay.report.build import html_report  # noqa: PLC0415 - charts take a second

        place = place_to_write(file)
        with published_file(place) as work:
            work.write_text(html_report(self._report), encoding="utf-8", newline="\n")
        return place

    # ---- on the screen ----

    def parts(self) -> Iterator[Part]:
        """Yield what the command prints: what to do, why, the ranking, and the health of the log."""
        if self.found_run.undecided:
            yield from self.found_run.undecided
        else:
            told = self._advice
            yield from filter(None, (f"{told.sentence}.", told.scope, *told.paragraphs))
            yield f"Next: {told.next_step}"
            rankings = sentences.named_rankings(self._findings)
            if rankings[0].competitors:
                yield _ranking_table(self.found_run, rankings)
                yield from sentences.scale_sentences(self.found_run, self._findings)
                if (more := len(rankings[0].competitors) - _MOST_METRICS) > 0:
                    yield f"The report has {plural(more, 'more metric')}."
        for kind in self._tests.kinds:
            yield from kind.lines
            yield from islice(kind.problems, _MOST_CHECKS)
        health = self._findings.health
        is_said = self._advice.kind == "log_at_fault" and not self.found_run.undecided
        if is_said and health[0].example:  # which the page does not show
            yield health[0].example
        wrong = health[1:] if is_said else health
        if wrong or not health:
            yield from _health_lines(wrong, well_text(self.tables["health"]))
        if self.found_run.undrawn:
            yield f"Note: the report has no pictures: {self.found_run.undrawn}"

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the decision, the picture, and what is wrong with the log."""
        try:
            chart = None if self.found_run.undecided else self.chart(RANKING)
        except ReportError:
            chart = None
        if chart is None or not chart.svg.startswith("<svg"):  # without a value, or where nothing is drawn
            return super()._repr_html_()
        told = self.decision
        title = f"<p><strong>{html(told.sentence)}.</strong></p>"
        above = filter(None, (told.scope, *told.paragraphs, f"{chart.title}:"))
        health = _health_lines(self._findings.health, well_text(self.tables["health"]))
        below = (f"Next: {told.next_step}", *map(in_python, health))
        texts = ("".join(map(paragraph, some)) for some in (above, below))
        return f"<section>{title}{picture_of(chart).join(texts)}</section>"


def _ranking_table(run: Run, rankings: Sequence[Ranking]) -> ShownTable:
    """Return metrics and baselines, highest first, and how often each picks the ranking users prefer."""
    first, names = rankings[0], list(rankings[0].competitors)[:_MOST_METRICS]
    is_shares = sentences.is_of_rankings(first)
    shares = rankings if is_shares else ()
    heads = (*sentences.told_apart(one.click for one in shares).values(), "correlation")
    rows = []
    for name in names:
        mark = " (your metric)" if name == run.current else " (baseline)" if name in BASELINES else ""
        values = (
            *(sentences.shown_value(one, name) for one in shares),
            number(first.competitors[name].value),
        )
        rows.append((f"{sentences.BASELINE_MEANINGS.get(name, name)}{mark}", *values))
    what = "Picks the ranking users prefer" if is_shares else f"Correlation with {first.click}"
    return ShownTable((what, *heads), rows, heads)


def _health_lines(checks: tuple[HealthCheck, ...], well: str) -> Iterator[str]:
    """Yield a line for each of the first checks that fire, and how many there are besides; or `well`."""
    for one in checks[:_MOST_CHECKS]:
        yield f"{capital(one.status)}: {one.text}"
    if not checks:
        yield f"Data checks: {well}."
    if len(checks) > _MOST_CHECKS:
        rest = plural(len(checks) - _MOST_CHECKS, "more check")
        yield f"{capital(rest)}: see “Data checks” in the report."


def _unpickled(
    tables: Mapping[str, pl.DataFrame], info: Mapping[str, Any], undecided: tuple[str, ...]
) -> RunResult:
    return RunResult(replace(run_of(tables, info), undecided=undecided))
