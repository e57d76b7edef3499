"""Whether a correlation hangs on a handful of queries."""

import polars as pl

from pipeline.report.cells import Estimate, Row, Share
from pipeline.report.findings import HANDFUL, MOST_SHARE, handful_share, influence_rows, rank
from pipeline.report.model import HEADLINE_CLICK, Run, Section, Table, by_pair
from pipeline.report.words import number, percent, plural, sentence

HEADS = (
    "All queries",
    f"Without the {HANDFUL} that raise it most",
    f"Without the {HANDFUL} that lower it most",
    f"Part of its squared error due to the {HANDFUL} that move it most",
    "Hangs on them",
)


def influence_section(run: Run) -> Section:
    """Correlations without the queries that move them most; no query is named."""
    table = Table(
        "influence",
        f"Correlation with {HEADLINE_CLICK} without a handful of queries{run.at(*run.own)}",
        "Editorial metric",
        HEADS,
        _rows(run),
        notes=("Which queries these are is in the run's table influence.",),
        data=run.frames["influence"].drop("query"),
    )
    return Section("influence", "Does it hang on a few queries?", _reading(run), folded=(table,))


def _rows(run: Run) -> tuple[Row, ...]:
    if run.headline is None:
        return ()
    overall = by_pair(run.correlations(run.headline))
    return tuple(
        Row("", name, (overall[HEADLINE_CLICK, name], *cells, _hangs(cells[-1])))
        for name in run.editorial
        if (HEADLINE_CLICK, name) in overall and (cells := _cells(influence_rows(run, name)))
    )


def _cells(rows: pl.DataFrame) -> tuple[Estimate, Estimate, Share]:
    return _without(rows, "raises"), _without(rows, "lowers"), Share(handful_share(rows))


def _without(rows: pl.DataFrame, side: str) -> Estimate:
    last = rows.filter(side=side).sort("rank").tail(1)["without_these"].to_list()
    value = last[0] if last else None
    return Estimate(value, reason=None if value is not None else "no such query, or no correlation is left")


def _hangs(share: Share) -> str:
    if share.value is None:
        return "cannot be told"
    return "yes" if share.value > MOST_SHARE else "no"


def _reading(run: Run) -> tuple[str, ...]:
    ranking = None if run.headline is None else rank(run, run.headline)
    if run.headline is None or ranking is None or not ranking.values:
        return ("There is no correlation to look at.",)
    raised, _, share = _cells(influence_rows(run, ranking.best))
    if share.value is None or raised.value is None:
        return (f"Which queries the correlation of {ranking.best} hangs on cannot be told.",)
    queries = run.correlations(run.headline).select(pl.col("n_queries").max()).item()
    text = (
        f"Without the {HANDFUL} of {plural(queries, 'query', 'queries')} that raise it most, {ranking.best} "
        f"would have a correlation of {number(raised.value)} with {HEADLINE_CLICK} instead of "
        f"{number(ranking.top.value)}. The {HANDFUL} that move it most make up {percent(share.value)} of its "
        "squared error"
    )
    verdict = ": it hangs on a handful of queries" if share.value > MOST_SHARE else ""
    return (sentence(text + verdict),)
