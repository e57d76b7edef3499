"""Reads the data of the page from the Parquet tables of a run folder, only as much as a choice needs."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from clickassay.core.errors import ReportError
from clickassay.core.records import Integers, SampleKey
from clickassay.core.text.privacy import MIN_USERS, QueryLabels
from clickassay.findings.arrays import editorial_names
from clickassay.findings.run import Run, open_run
from clickassay.metrics.clicks import CLICK_METRICS, null_success
from clickassay.studies.questions import PageQuestions

NEEDED = ("statistics", "configurations", "patterns", "correlations")
"""Tables without which there is no page."""


@dataclass(frozen=True)
class ExploredRun:
    """A run folder that has been checked, and can be shown."""

    finished: Run  # The run.
    # Every market, depth and judge with judged configurations, the headline first; empty if there is none.
    keys: tuple[SampleKey, ...]
    editorial_names: tuple[str, ...]  # Its editorial metrics, in the order of the run.
    labels: QueryLabels  # The labels of its queries, which hide queries of few users.


@dataclass(frozen=True)
class Configuration:
    """One configuration with its clicks."""

    # identity, query, results, grades, sessions: The id; the query and its k results as they may be shown; k
    # grades; the sessions.
    identity: str
    query: str
    results: tuple[str, ...]
    grades: Integers
    sessions: int
    # masks, mask_sessions: (M,) distinct click masks, ascending, and their sessions.
    masks: Integers
    mask_sessions: Integers
    values: dict[str, float]  # Every metric's value in the run.
    # (g_max + 1,) distinct results of the query by grade, in any judged configuration of the run.
    seen: Integers

    def clicks(self) -> Integers:
        """Return the (k,) sessions in which each position was clicked."""
        clicked = self.masks[:, None] >> np.arange(len(self.grades)) & 1
        total: Integers = self.mask_sessions @ clicked
        return total


def explored_run(folder: Path, min_users: int = MIN_USERS) -> ExploredRun:
    """Open a run folder and check it.

    Raises ReportError if it is no run folder, or a file of it is broken.
    """
    run = open_run(folder)
    keys = run.samples
    for name in NEEDED:
        run.columns(name)
    labels = QueryLabels(_users(run), min_users)
    return ExploredRun(run, keys, editorial_names(run.columns("configurations"), run.outcomes), labels)


def run_of_request(request: Any) -> ExploredRun:  # noqa: ANN401 - marimo's, which is an extra
    """Open the run folder that the server has set for a request (`server.guard_requests`)."""
    return explored_run(Path(request.meta["run"]), int(request.meta["min_users"]))


def questions_of_request(request: Any) -> PageQuestions:  # noqa: ANN401 - marimo's, which is an extra
    """Return the questions of the page that the server has set for a request."""
    questions: PageQuestions = request.meta["questions"]
    return questions


def _users(run: Run) -> pl.DataFrame | None:
    if not (run.folder / "queries.parquet").is_file() or "digest" not in run.columns("queries"):
        return None  # a run of an earlier version
    return run.collect(run.scan("queries").select("market", "query", "users_at_least", "digest"))


def query_labels(run: ExploredRun, key: SampleKey) -> pl.DataFrame:
    """Return how each query of `key` is shown: columns query, label and hidden, by query."""
    queries = _rows(run, key).select("market", "query").unique().sort("query")
    return run.labels.label(run.finished.collect(queries)).drop("market")


def points(
    run: ExploredRun, key: SampleKey, *, click_metric: str, editorial_metric: str, members: pl.Series | None
) -> pl.DataFrame:
    """Read the configurations of a scatter.

    click_metric, editorial_metric: the two metrics.
    members: only configurations of these queries; None = all.

    Returns columns configuration_id, query (raw), n_sessions, click and editorial; most sessions first.
    """
    rows = _rows(run, key)
    if members is not None:
        rows = rows.join(members.alias("query").to_frame().lazy(), on="query", how="semi")
    chosen = rows.select(
        "configuration_id",
        "query",
        "n_sessions",
        click=pl.col(click_metric),
        editorial=pl.col(editorial_metric),
    )
    order = ("n_sessions", "configuration_id")
    return run.finished.collect(chosen).sort(order, descending=[True, False])


def with_labels(rows: pl.DataFrame, shown: pl.DataFrame) -> pl.DataFrame:
    """Replace the raw query of `rows` by its label, see `query_labels`."""
    joined = rows.join(shown, on="query", how="left", maintain_order="left")
    return joined.with_columns(query=pl.col("label")).drop("label", "hidden")


def search(rows: pl.DataFrame, shown: pl.DataFrame, text: str, most: int) -> pl.DataFrame:
    """Find configurations by the label of their query, or by the first digits of their id.

    Parameters
    ----------
    rows
        From `points`.
    shown
        From `query_labels`: the text of a hidden query finds nothing.
    text
        Part of the query or digest, or the first digits of the id; case does not matter.
    most
        Most rows returned, with most sessions first.
    """
    wanted = " ".join(text.split()).lower()
    matches = shown.filter(pl.col("label").str.to_lowercase().str.contains(wanted, literal=True))
    of_query = pl.col("query").is_in(matches["query"].implode())
    of_id = pl.col("configuration_id").str.starts_with(wanted)
    return with_labels(rows.filter(of_query | of_id).head(most), shown)


def correlation(
    run: ExploredRun, key: SampleKey, *, split: str, class_: str, click_metric: str, editorial_metric: str
) -> dict[str, Any] | None:
    """Read the row of `correlations` for a class of queries and two metrics; None if the run has none."""
    wanted = {
        "split": split,
        "class": class_,
        "click_metric": click_metric,
        "editorial_metric": editorial_metric,
    }
    rows = run.finished.collect(_of(run.finished.scan("correlations"), key).filter(**wanted))
    return rows.row(0, named=True) if rows.height else None


def stored_classes(run: ExploredRun, key: SampleKey) -> pl.DataFrame:
    """Read the classes of the run: split, class, n_queries, n_configurations, n_sessions."""
    counts = ("split", "class", "n_queries", "n_configurations", "n_sessions")
    return run.finished.collect(_of(run.finished.scan("correlations"), key).select(counts).unique())


def query_sessions(run: ExploredRun, key: SampleKey) -> pl.DataFrame:
    """Read the queries of `key` by code point: query, n_configurations, n_sessions."""
    counted = _rows(run, key).group_by("query").agg(pl.len().alias("n_configurations"), pl.sum("n_sessions"))
    return run.finished.collect(counted.sort("query"))


def clicked_results(run: ExploredRun, key: SampleKey) -> pl.DataFrame:
    """Read the clicks of `key` by query and result: query, url, clicks; results without a click too."""
    patterns = run.finished.scan("patterns").join(
        _rows(run, key).select("configuration_id"), on="configuration_id", how="semi"
    )
    clicked = [
        (pl.col("sessions") * (pl.col("click_mask") // 2**place % 2)).sum().alias(str(place))
        for place in range(key.depth)
    ]
    places = patterns.group_by("configuration_id").agg(clicked)
    places = places.select("configuration_id", clicks=pl.concat_list(map(str, range(key.depth))))
    rows = _rows(run, key).select("configuration_id", "query", "results").join(places, on="configuration_id")
    long = rows.select("query", url="results", clicks="clicks").explode("url", "clicks")
    return run.finished.collect(long.group_by("query", "url").agg(pl.sum("clicks")))


def configuration(run: ExploredRun, key: SampleKey, identity: str, shown: pl.DataFrame) -> Configuration:
    """Read one configuration.

    Raises ReportError if `key` has no configuration of this id.
    """
    rows = run.finished.collect(_rows(run, key).filter(configuration_id=identity))
    if rows.height != 1:
        raise ReportError(f"no configuration {identity} at this market, depth and judge")
    row = rows.row(0, named=True)
    label = shown.filter(query=row["query"]).row(0, named=True)
    patterns = _patterns(run, run.finished.scan("patterns").filter(configuration_id=identity))
    metrics = (*CLICK_METRICS, *run.editorial_names)
    return Configuration(
        identity=identity,
        query=label["label"],
        results=run.labels.result_labels(key.market, row["query"], row["results"]),
        grades=np.array(row["grades"], dtype=np.int64),
        sessions=row["n_sessions"],
        masks=patterns["click_mask"].to_numpy(),
        mask_sessions=patterns["sessions"].to_numpy(),
        values={name: row[name] for name in metrics},
        seen=_seen(run, key, row["query"]),
    )


def _seen(run: ExploredRun, key: SampleKey, query: str) -> Integers:
    """Count the distinct results of a query by grade, in judged configurations of all depths."""
    rows = run.finished.scan("configurations").filter(market=key.market, judge=key.judge, query=query)
    results = rows.select("results", "grades").explode("results", "grades").unique("results")
    grades = run.finished.collect(results)["grades"].to_numpy()
    return np.bincount(grades, minlength=run.finished.settings.max_grade + 1).astype(np.int64)


def random_success(run: ExploredRun, key: SampleKey, good: int) -> float:
    """Compute the SS of a configuration with good results at `good` if clicks did not depend on them."""
    ids = _rows(run, key).select("configuration_id")
    masks = _patterns(run, run.finished.scan("patterns").join(ids, on="configuration_id", how="semi"))
    drawn = null_success(
        np.array([good], dtype=np.int64), masks["click_mask"].to_numpy(), masks["sessions"].to_numpy()
    )
    return float(drawn[0])


def _patterns(run: ExploredRun, rows: pl.LazyFrame) -> pl.DataFrame:
    """Return the sessions by mask, over all folds and configurations."""
    return run.finished.collect(rows.group_by("click_mask").agg(pl.sum("sessions")).sort("click_mask"))


def _rows(run: ExploredRun, key: SampleKey) -> pl.LazyFrame:
    return _of(run.finished.scan("configurations"), key)


def _of(rows: pl.LazyFrame, key: SampleKey) -> pl.LazyFrame:
    return rows.filter(**key.columns)
