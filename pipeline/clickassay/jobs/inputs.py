"""The inputs of a job: each is opened once, and handed on."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from clickassay.core.errors import InputError, SettingsError
from clickassay.core.progress import Progress, silent
from clickassay.core.settings import Settings
from clickassay.inputs.normalise import normalise_queries
from clickassay.inputs.sources.mapping import names_of
from clickassay.inputs.tables import Input, WholeInput, read_input
from clickassay.inputs.types.columns import CANONICAL
from clickassay.judgments.alike import groups_of_queries
from clickassay.judgments.prepare import check_labels
from clickassay.logs.log import LocalHalf, Log, joined_log, local_half

Place = str | Path


@dataclass(frozen=True)
class Inputs:
    """The inputs of a job, open.

    Attributes
    ----------
    searches, clicks
        The halves of a log: open, or the name of a half that only Spark reaches; empty where a stored pattern
        table is in their place.
    judgments
        None where they are not given.
    queries
        Attributes of queries, whose texts are normalised like those of the log; None likewise.
    """

    searches: LocalHalf | str = ""
    clicks: LocalHalf | str = ""
    judgments: WholeInput | None = None
    queries: WholeInput | None = None

    @property
    def halves_here(self) -> tuple[LocalHalf, ...]:
        """The halves of the log that lie on this machine."""
        return tuple(half for half in (self.searches, self.clicks) if isinstance(half, LocalHalf))

    @property
    def log(self) -> Log[LocalHalf] | None:
        """The log; None unless both halves lie on this machine."""
        return Log(*self.halves_here) if len(self.halves_here) == len(("searches", "clicks")) else None

    def log_here(self) -> Log[LocalHalf]:
        """Return the log, for engines that open no half themselves: both lie on this machine."""
        return Log(*self.halves_here)

    def graded(self) -> WholeInput:
        """Return the judgments.

        Raises
        ------
        SettingsError
            If there are none.
        """
        if self.judgments is None:
            raise SettingsError("a run needs judgments: give --judgments")
        return self.judgments

    @property
    def identities(self) -> dict[str, Any]:
        """Fingerprints of judgments and queries, by name."""
        whole = {"judgments": self.judgments, "queries": self.queries}
        return {what: one.identity for what, one in whole.items() if one is not None}


def opened(what: str, path: Place, settings: Settings) -> Input:
    """Open a canonical table by its name; only its schema is read, and of text its values.

    Raises
    ------
    InputError
        If a file is missing, cannot be read or lacks a column.
    """
    names, zone = names_of(what, settings.column), settings.time_zone
    return read_input(what, path, CANONICAL[what], keep_others=what == "queries", time_zone=zone, names=names)


def open_log(
    searches: Place,
    clicks: Place,
    settings: Settings,
    *,
    judgments: Place | None = None,
    progress: Progress = silent,
) -> Inputs:
    """Open a log, and the judgments if only judged queries are to be kept.

    Parameters
    ----------
    searches, clicks, judgments
        A file, folder or glob each; searches and clicks may lie where only Spark reaches them.

    Raises
    ------
    InputError
        If a file is missing, cannot be read or lacks a column, or clicks name neither URL nor position.
    """
    inputs = Inputs(_half("searches", searches, settings), _half("clicks", clicks, settings))
    if inputs.log is not None:
        log = joined_log(*inputs.halves_here)
        inputs = Inputs(log.searches, log.clicks)
    if judgments is None or not settings.only_judged:
        return inputs
    return replace(inputs, judgments=WholeInput.of(opened("judgments", judgments, settings), progress))


def _half(what: str, path: Place, settings: Settings) -> LocalHalf | str:
    if settings.engine == "spark":
        from clickassay.logs.spark.read import lies_here  # noqa: PLC0415 - an extra

        if not lies_here(path):
            return str(path)
    return local_half(opened(what, path, settings))


def with_judgments(
    inputs: Inputs, judgments: Place, queries: Place | None, settings: Settings, progress: Progress = silent
) -> Inputs:
    """Add judgments and attributes of queries to inputs, which are read whole.

    Raises
    ------
    InputError
        If they cannot be read, or judgments have more markets or judges than may be.
    """
    graded = WholeInput.of(opened("judgments", judgments, settings), progress)
    check_labels("judgments", graded.rows, settings)
    if queries is None:
        return replace(inputs, judgments=graded)
    attributes = WholeInput.of(opened("queries", queries, settings), progress)
    return replace(inputs, judgments=graded, queries=_normalised(attributes))


def grouped_queries(
    judgments: Place, queries: Place | None, settings: Settings, progress: Progress = silent
) -> pl.DataFrame:
    """Return the table of queries with a column `group` for near-duplicates; null for all others.

    Without a table, it has the judged queries; judged queries that the table does not have stand at its end.

    Raises
    ------
    InputError
        If an input cannot be read, or the table has a column `group` already.
    """
    inputs = with_judgments(Inputs(), judgments, queries, settings, progress)
    rows = inputs.graded().rows.select("query", "url").drop_nulls()
    judged = rows.with_columns(normalise_queries(rows["query"]))
    names = judged.select("query").unique().sort("query")
    given = names if inputs.queries is None else inputs.queries.rows
    if "group" in given.columns:
        raise InputError(f"{queries} has a column group already; rename it, or give a table without it")
    rest = names.join(given, on="query", how="anti")
    table = pl.concat([given, rest], how="diagonal")
    return table.join(groups_of_queries(judged), on="query", how="left", maintain_order="left")


def _normalised(queries: WholeInput) -> WholeInput:
    rows = queries.rows.drop_nulls("query")
    rows = rows.with_columns(normalise_queries(rows["query"]))
    return replace(queries, rows=rows if queries.by_market else rows.drop("market"))
