"""Which results to judge next; and the message of a run with too few judgments."""

from collections.abc import Mapping

import numpy as np
import polars as pl

from clickassay.core.contracts.columns import EVERY
from clickassay.core.contracts.judgments import NEXT_JUDGMENTS
from clickassay.core.settings import Settings
from clickassay.core.text.words import count, listed, percent, plural, visible
from clickassay.judgments.join import clicks_by_position, results_shown, rows_of_judge
from clickassay.judgments.prepare import Judgments
from clickassay.metrics.clicks import CLICKS
from clickassay.patterns.lists import LogLists, numbered
from clickassay.patterns.sums import order_of

MAX_QUERIES = 200
"""Queries that are kept for each market, depth and judge."""


def next_judgments(
    table: LogLists,
    judgments: Judgments,
    formed: Mapping[str, int],
    *,
    judge: str,
    depth: int,
    in_other_form: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """Rank queries by what judging them would do, per label: to coverage, and to the width of intervals.

    Of each query the most frequent lists are taken, as many as complete most sessions per label; their
    results without a judgment are to be judged. Its effect on intervals assumes that queries differ in their
    sessions alone: then the squared width is proportional to sum w^2 / (sum w)^2 over judged queries, w being
    sessions. So a query with very many sessions widens them.
    table, judgments: lists of the log, with its most frequent queries; filled rows are ignored.
    formed: all sessions by market, for coverage.
    in_other_form: (query, url) of the log that are judged, but spelled otherwise (url null = all): lists that
      show one are to be mended, not judged.
    Returns NEXT_JUDGMENTS, at most `MAX_QUERIES` for each market and goal.
    """
    # One row per long enough list, cut to the depth: q is the number of its query, row the first
    # configuration that it was cut from. Those of a query are in the order of sessions, most first, then ids.
    (rows,) = (table.configurations["results"].list.len() >= depth).to_numpy().nonzero()
    top = pl.DataFrame(table.results.top(depth)[rows])
    # hashed: of one query, no two share 64 bits by chance
    number, first = numbered(top.hash_rows().to_numpy())
    sessions = np.zeros(len(first), np.int64)
    np.add.at(sessions, number, table.configurations["sessions"].to_numpy()[rows])
    row = rows[first]  # of one list the smallest row: configurations are in the order of ids
    order = order_of(table.query[row], -sessions, row)
    columns = {"q": table.query[row], "row": row, "sessions": sessions}
    lists = pl.DataFrame({name: values[order] for name, values in columns.items()}).with_row_index("list")
    each = lists.unique("q")
    named = table.configurations.select(pl.col("market", "query").gather(each["row"]))
    names = named.with_columns(each["q"])
    missing = _missing(table, lists, judgments, judge, depth)
    whole = lists.select("list", "q", "sessions").join(missing.select("list").unique(), on="list", how="anti")
    weights = whole.group_by("q").agg(pl.col("sessions").sum().alias("judged"))
    if in_other_form is not None:
        judged = in_other_form.join(names, on="query").select("q", "url")
        mended = missing.join(judged, on=["q", "url"]).select("list")
        queries = judged.filter(pl.col("url").is_null())
        missing = missing.join(mended, on="list", how="anti").join(queries, on="q", how="anti")
    wanted = _best_lists(lists, missing).join(names, on="q").sort("q")
    weights = weights.join(names, on="q").sort("q")
    ranked = [
        _rank_queries(part, weights.filter(market=part["market"][0]), formed[part["market"][0]])
        for part in wanted.partition_by("market", maintain_order=True)
    ]
    if not ranked:
        return NEXT_JUDGMENTS.empty()
    return NEXT_JUDGMENTS.canonical(
        pl.concat(ranked).with_columns(
            pl.col("width").fill_nan(None), judge=pl.lit(judge), depth=pl.lit(depth)
        )
    )


def _missing(
    table: LogLists, lists: pl.DataFrame, judgments: Judgments, judge: str, depth: int
) -> pl.DataFrame:
    """Return (list, q, url) of the results that the judge has not judged, each once a list."""
    rows = rows_of_judge(table, judgments, judge)
    judged = np.where(rows < judgments.of_judge(judge)[1], rows, -1)  # filled ones are no judgments
    numbers = table.results.top(depth)[lists["row"].to_numpy()]
    row, column = np.nonzero(judged[numbers] < 0)
    missing = pl.DataFrame({"list": lists["list"].gather(row), "number": numbers[row, column]}).unique()
    return missing.select(
        "list", lists["q"].gather(missing["list"]), table.results.urls.gather(missing["number"]).alias("url")
    )


def _best_lists(lists: pl.DataFrame, missing: pl.DataFrame) -> pl.DataFrame:
    """Return (q, urls, labels, sessions) of each query with something missing.

    The lists of a query are taken in turn, the most frequent first; each adds its results that no list before
    it had and that are not judged. A list is complete once all of its results are judged or added.
    """
    brought = missing.group_by("q", "url").agg(pl.col("list").min().alias("step"))
    steps = (
        brought.sort("step", "url")
        .group_by("q", "step", maintain_order=True)
        .agg(pl.col("url").alias("urls"))
    )
    complete = missing.join(brought, on=["q", "url"]).group_by("list").agg(pl.col("step").max())
    sessions = complete.join(lists.select("list", "sessions"), on="list")
    sessions = sessions.group_by("step").agg(pl.col("sessions").sum())
    counted = steps.join(sessions, on="step", how="left", maintain_order="left").with_columns(
        pl.col("urls").list.len().cast(pl.Int64).cum_sum().over("q").alias("labels"),
        pl.col("sessions").fill_null(0).cum_sum().over("q"),
    )
    ratio = pl.col("sessions") / pl.col("labels")
    best = pl.col("step") <= pl.col("step").get(ratio.arg_max()).over("q")
    return (
        counted.filter(best)
        .group_by("q", maintain_order=True)
        .agg(
            pl.col("urls").list.explode(keep_nulls=False, empty_as_null=False),
            pl.col("labels").last(),
            pl.col("sessions").last(),
        )
    )


def _rank_queries(wanted: pl.DataFrame, own: pl.DataFrame, every: int) -> pl.DataFrame:
    """Rank the queries of one market for each goal, with what judging all down to each does to both.

    For intervals a query is worth by how much the log of the squared width falls with it alone; 0 if none is
    judged. `width` is relative to now; NaN if nothing is judged now.
    """
    joined = wanted.join(own.select("query", "judged"), on="query", how="left").with_columns(
        pl.col("judged").fill_null(0)
    )
    start = own["judged"].to_numpy().astype(np.float64)
    total, squares = start.sum(), (start**2).sum()
    judged, added = (joined[name].to_numpy().astype(np.float64) for name in ("judged", "sessions"))
    narrowing = np.zeros(len(added))
    if total:
        after = np.log(squares + (judged + added) ** 2 - judged**2) - 2 * np.log(total + added)
        narrowing = np.asarray(np.log(squares) - 2 * np.log(total) - after)
    ranked = []
    for goal, worth in (("coverage", added), ("interval", narrowing)):
        valued = joined.with_columns(pl.Series("worth", worth) / pl.col("labels")).filter(pl.col("worth") > 0)
        top = valued.sort("worth", "sessions", "query", descending=[True, True, False]).head(MAX_QUERIES)
        judged, added = (top[name].to_numpy().astype(np.float64) for name in ("judged", "sessions"))
        width = np.full(len(added), np.nan)
        if total:
            after = squares + np.cumsum((judged + added) ** 2 - judged**2)
            width = np.sqrt(after / (total + np.cumsum(added)) ** 2 / (squares / total**2))
        ranked.append(
            top.with_columns(
                pl.int_range(1, pl.len() + 1, dtype=pl.Int32).alias("rank"),
                pl.col("labels").cum_sum().alias("labels_so_far"),
                ((pl.col("sessions").cum_sum() + int(total)) / every).alias("coverage"),
                pl.Series("width", width),
                pl.lit(goal).alias("goal"),
            ).drop("judged", "worth", "q")
        )
    return pl.concat(ranked)


MOST_NAMED = 5
"""Queries that the message names; the table has `MAX_QUERIES`."""

MAX_URLS = 3
"""URLs of each that are named."""

MAX_POSITIONS = 10
"""Positions of the curve: as many as fit on a line."""

_FINDING = "FINDING Metrics cannot be compared with these clicks"
_BLOCKS = "▁▂▃▄▅▆▇█"
_MAX_TEXT = 32
_MEND = (
    "What helps:",
    "  first fix the problems of the log or its judgments listed below; then judge more, or choose a rule "
    "for results without a grade",
)
_STEPS = {
    "too short": ("has fewer results", "have fewer results"),
    "not judged": ("shows a result without a grade", "show a result without a grade"),
    "set apart": ("comes from a user set apart", "come from users set apart"),
    "kept": ("is fully judged", "are fully judged"),
}


def no_correlation(frames: Mapping[str, pl.DataFrame]) -> bool:
    """Return whether no correlation has a value: at no depth, in no market, of no judge, under no rule."""
    return all(frames[name]["correlation"].is_null().all() for name in ("correlations", "unjudged"))


def without_judgments(
    lists: LogLists,
    graded: Judgments,
    settings: Settings,
    frames: Mapping[str, pl.DataFrame],
    *,
    judge: str,
    is_misread: bool,
) -> tuple[str, ...]:
    """Return at most 24 lines for a run with `no_correlation`; none if judgments are not what is missing.

    frames: tables of the run; `statistics`, `funnel` and `next_judgments` are read.
    judge, is_misread: of the largest sample; whether log or judgments are wrong: what to judge would mislead.
    """
    deepest, on = max(settings.depth), (*graded.query_key, "url")
    results = results_shown(lists.configurations.select("market", "query", "results", "sessions"), deepest)
    judges = graded.grades.group_by(on).agg(pl.col("judge").alias("judges"))
    # (list, query, place, url, sessions, judges) of every result down to the deepest, once a list
    shown = results.join(judges, on=on, how="left", maintain_order="left")
    if shown["judges"].null_count() == 0 and frames["configurations"].height:
        return ()
    if shown.is_empty():
        return (
            f"{_FINDING}: no session is usable; the funnel in report.md shows why sessions were excluded.",
        )
    words = f", judge {visible(judge)}" if len(graded.judges) > 1 else ""
    why = _why(shown, settings, frames, judge, words)
    alone = _clicks_alone(lists, deepest)
    if is_misread:
        return (*why, *alone, *_MEND)
    proposed = _first_to_judge(frames["next_judgments"].filter(judge=judge), words)
    return (*why, *proposed, *alone, *_remedies(shown, graded, settings, has_proposed=bool(proposed)))


def _why(
    shown: pl.DataFrame, settings: Settings, frames: Mapping[str, pl.DataFrame], judge: str, words: str
) -> list[str]:
    every, judged = _weight(shown), _weight(shown.filter(pl.col("judges").is_not_null()))
    deepest, reason = max(settings.depth), "no ranking is fully judged"
    if not frames["configurations"].is_empty():
        overall = frames["correlations"].filter(pl.col("split") == EVERY)["reason"].drop_nulls()
        ordered = overall.value_counts().sort("count", "reason", descending=[True, False])["reason"]
        first = ordered.head(1).to_list() or ["too few in every market"]
        reason = f"few rankings are fully judged ({first[0]})"
    lines = [
        f"{_FINDING}: {reason}.",
        f"{percent(judged / every)} of the results shown have a grade: {count(judged)} of {count(every)}, "
        f"in the top {deepest} results of each session.",
    ]
    of_sessions = frames["funnel"].filter(source="sessions", judge=judge)
    for depth in settings.depth[:3]:
        own = of_sessions.filter(pl.col("depth") == depth)
        rows = dict(own.group_by("step").agg(pl.col("rows").sum()).iter_rows())
        parts = [plural(rows[step], *words) for step, words in _STEPS.items() if rows.get(step)]
        lines.append(f"  top {depth}{words}: of {plural(sum(rows.values()), 'session')}, {listed(parts)}")
    return lines


def _weight(results: pl.DataFrame) -> int:
    return int(results["sessions"].sum())


def _first_to_judge(proposed: pl.DataFrame, words: str) -> list[str]:
    depth = int(proposed["depth"].min() or 0)  # type: ignore[arg-type]
    own = proposed.filter(pl.col("goal") == "coverage", pl.col("depth") == depth)
    own = own.sort("rank", "market").head(MOST_NAMED)
    if own.is_empty():
        return []
    lines = [f"Judge these first (most sessions gained per label), top {depth} results{words}:"]
    for row in own.iter_rows(named=True):
        query, *urls = (visible(text, limit=_MAX_TEXT) for text in (row["query"], *row["urls"][:MAX_URLS]))
        more = len(row["urls"]) - MAX_URLS
        named = ", ".join(urls) + (f" and {count(more)} more" if more > 0 else "")
        lines.append(f"  {query}: {named} (completes {plural(row['sessions'], 'session')})")
    return lines


def _clicks_alone(lists: LogLists, deepest: int) -> list[str]:
    """Return clicks per session by position, and the click metrics that need no grades."""
    masks, sessions = (lists.patterns[name].to_numpy() for name in ("click_mask", "sessions"))
    masks, total = masks & ((1 << deepest) - 1), int(sessions.sum())
    positions = clicks_by_position(lists, min(deepest, MAX_POSITIONS))
    rates = [clicked / shown for shown, clicked in positions]
    scale = len(_BLOCKS) - 1
    blocks = [_BLOCKS[round(rate / max(rates) * scale)] if rate else " " for rate in rates]
    metrics = (
        f"{metric.name} {np.average(metric.function(masks), weights=sessions):.3f}"
        for metric in CLICKS
        if metric.needs == ("masks",)
    )
    return [
        f"What clicks alone show, in {plural(total, 'session')} (at each position: of sessions with a "
        "result there):",
        "  position " + "".join(f"{place:>7}" for place in range(1, len(rates) + 1)),
        "  clicked  " + "".join(f"{percent(rate):>7}" for rate in rates),
        "           " + "".join(f"{block:>7}" for block in blocks),
        f"  {', '.join(metrics)}",
    ]


def _remedies(shown: pl.DataFrame, graded: Judgments, settings: Settings, *, has_proposed: bool) -> list[str]:
    lines = ["What helps:"]
    untried = sorted(set(range(1, max(settings.depth))) - set(settings.depth))
    depths = []
    for depth in untried:
        top, completed = shown.filter(pl.col("place") < depth), [0]
        for judge in graded.judges:  # the most sessions whose first results one judge has judged
            own = top.filter(pl.col("judges").list.contains(judge)).group_by("list")
            full = own.agg(pl.len(), pl.col("sessions").first()).filter(pl.col("len") == depth)
            completed.append(_weight(full))
        if max(completed):
            depths.append(f"{depth} ({plural(max(completed), 'session')})")
    if depths:
        lines.append(f"  another --depth; fully judged sessions at depth {', '.join(depths[-3:])}")
    first = shown.filter(pl.col("place") == min(settings.depth) - 1)
    asked = _weight(first.join(graded.grades, on=graded.query_key, how="semi"))
    if settings.unjudged == "drop" and asked:
        lines.append(
            f"  --unjudged zero (or extremes, model): grades by rule, in {plural(asked, 'session')} whose "
            "query has some judgment"
        )
    if has_proposed:
        lines.append(
            "  judging these results; to get a sheet: clickassay plan --run RUN --budget N --out SHEET"
        )
    return lines
