"""The numbers that checks of health look at: of a log, its lists, its judgments, and how they go together."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from clickassay.core.text.words import listed, number, plural, span, visible
from clickassay.health.checks import BY_NAME, Numbers
from clickassay.health.forms import Alike, alike_queries, alike_urls, folds_of
from clickassay.patterns.funnel import MERGED
from clickassay.patterns.health import (
    CLICKS_BY_DAY,
    LOWEST_BITS,
    MINUTES,
    SEARCHES_BY_DAY,
    SEARCHES_BY_MINUTE,
    SEARCHES_BY_USERS,
    USER_BUCKETS,
    distinct_users,
)
from clickassay.patterns.lists import LogLists

# ---- a log -----------------------------------------------------------------------------------------

_FEW_ACTIONS = 3
_TIMES_AS_BUSY = 20
"""A group of users stands out if it has so many times its part of the searches; small logs have few users."""
_ENOUGH_CLICKS = 20
"""A day without a click is one of which so many were to be expected."""


def log_numbers(funnel: pl.DataFrame, health: pl.DataFrame) -> Numbers:
    """Return the numbers of a log; `funnel` and `health` are tables of a pattern table."""
    return {**_click_numbers(funnel), **_repeat_numbers(funnel), **_day_numbers(health)}


def _click_numbers(funnel: pl.DataFrame) -> Numbers:
    """Return what became of clicks; where there is none, perhaps its clicks have another name."""
    actions, of_clicks = funnel.filter(source="actions"), funnel.filter(source="clicks")

    def rows(step: str, reason: str | None = None) -> int:
        chosen = of_clicks.filter(pl.col("depth") == 0, pl.col("step") == step)
        return int((chosen if reason is None else chosen.filter(reason=reason))["rows"].sum())

    clicks, unmatched, late = rows("read"), rows("unmatched"), rows("out of time")
    numbers: dict[str, Any] = {"clicks": clicks}
    if not clicks:
        other = int(actions.filter(step="read")["rows"].sum())
        names = actions.filter(pl.col("reason") != "", step="kept")["reason"].unique().sort()
        such = f", such as {listed(map(visible, names.head(_FEW_ACTIONS)))}" if len(names) else ""
        said = (
            f"The log has no click: in {plural(other, 'row')} of clicks, action is not a click{such}.",
            "Set the action of clicks to click, or leave it empty.",
        )
        if not other:
            said = "The log has no click.", "Check that --clicks names the click file of this log."
        return {**numbers, **dict(zip(("no_click", "no_click_remedy"), said, strict=True))}
    numbers |= {
        "unmatched": unmatched,
        "late": late,
        "lost": unmatched + late,
        "ambiguous": rows("rejected", "ambiguous search_id"),
        "below_1": rows("rejected", "position below 1"),
    }
    depth = int(of_clicks["depth"].max() or 0)  # type: ignore[arg-type]
    deepest = of_clicks.filter(pl.col("depth") == depth, pl.col("depth") > 0)
    landed = dict(deepest.group_by("step").agg(pl.col("rows").sum()).iter_rows())
    elsewhere = int(landed.get("elsewhere", 0))
    in_time = elsewhere + int(landed.get("again", 0)) + int(landed.get("in patterns", 0))
    if in_time:
        where = "not on the first result" if depth == 1 else f"outside the first {depth} results"
        numbers |= {"elsewhere": elsewhere, "in_time": in_time, "where": where, "kept_clicks": rows("kept")}
        numbers["misplaced"] = int(funnel.filter(source="positions")["rows"].sum())
    # however few clicks say it, if no click has a search, or none is on a result
    if unmatched + late == clicks:
        numbers["speaking"] = {"unmatched_clicks", "late_clicks"}
    elif elsewhere == in_time:
        numbers["speaking"] = {"clicks_elsewhere"}
    return numbers


def _repeat_numbers(funnel: pl.DataFrame) -> Numbers:
    """Return how many lists show a result again, of the lists that are known."""
    steps = funnel.filter(depth=0).group_by("source", "step").agg(pl.col("rows").sum())
    rows = {(source, step): int(number) for source, step, number in steps.iter_rows()}
    lists = rows.get(("searches", "kept"), 0) - rows.get(("lists", "left out"), 0)
    if lists <= 0:
        return {}
    again = rows.get(("lists", "shortened"), 0)
    merged = int(funnel.filter(source="lists", reason=MERGED)["rows"].sum())
    of_these = "all of these" if merged == again else f"{merged:,} of these"
    return {
        "lists": lists,
        "repeating": again,
        "merged": f" In {of_these}, differently written URLs normalise to the same URL." if merged else "",
        "repeats_remedy": "If these URLs are different results (e.g. anchors of one page), add "
        "--no-normalise-urls."
        if merged
        else "Check the join that built the column results: a row with several matches repeats a result.",
    }


def _day_numbers(health: pl.DataFrame) -> Numbers:
    """Return how searches and clicks lie in days, minutes and among users; nothing without a search."""
    days = health.filter(name=SEARCHES_BY_DAY)["key"].to_numpy()
    if not len(days):
        return {}
    first, size = int(days.min()), int(days.max() - days.min()) + 1

    def counts(name: str, first: int, size: int) -> NDArray[np.int64]:
        rows = health.filter(pl.col("name") == name, pl.col("key").is_between(first, first + size - 1))
        values = np.zeros(size, np.int64)
        values[rows["key"].to_numpy() - first] = rows["value"].to_numpy()
        return values

    def dates(places: NDArray[np.int64]) -> str:
        if not len(places):
            return "none"
        day = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(days=first + int(places[0]))
        return f"{day:%Y-%m-%d}" if len(places) == 1 else f"the first on {day:%Y-%m-%d}"

    searches, clicks = (counts(name, first, size) for name in (SEARCHES_BY_DAY, CLICKS_BY_DAY))
    minutes, by_users = counts(SEARCHES_BY_MINUTE, 0, MINUTES), counts(SEARCHES_BY_USERS, 0, USER_BUCKETS)
    users = distinct_users(counts(LOWEST_BITS, 0, USER_BUCKETS))
    median = float(np.median(searches[searches > 0]))
    expected = searches * (clicks.sum() / max(1, searches.sum()))
    missing, double = np.flatnonzero(searches == 0), np.flatnonzero(searches > 2 * median)
    silent = np.flatnonzero((clicks == 0) & (expected >= _ENOUGH_CLICKS))
    at, of_users, busy_user = int(minutes.argmax()), int(by_users.sum()), int(by_users.max())
    timed, busy = int(minutes.sum()), int(minutes[at])
    share = busy_user / max(1, of_users)
    numbers = {
        "timed": timed,
        "of_one_minute": busy,
        "minute": f"{at // 60:02d}:{at % 60:02d} UTC",
        "of_users": of_users,
        "of_busy_user": busy_user,
        "standing_out": share if share > _TIMES_AS_BUSY / min(max(users, 1.0), USER_BUCKETS) else 0.0,
        "users": users,
        "users_about": round(users),
        "missing_days": len(missing),
        "missing_dates": dates(missing),
        "dated": int(searches.sum()),
        "days": int(np.count_nonzero(searches)),
        "double_days": len(double),
        "double_dates": dates(double),
        "usual_day": round(median),
        "expected_clicks": int(expected.max()),
        "silent_days": len(silent),
        "silent_dates": dates(silent),
    }
    one_minute = BY_NAME["same_minute"]
    _, enough, _ = one_minute.least[0]
    if timed < enough or busy / timed <= one_minute.threshold:  # else that check has said it
        numbers["of_busy_minute"] = busy
    return numbers


def zone_numbers(mixed: Mapping[str, Sequence[int]]) -> Numbers:
    """Return how many times have a zone and none; by table, of those alone that have both (zoned, local)."""
    if not mixed:
        return {}
    zoned, local = (sum(counts) for counts in zip(*mixed.values(), strict=True))
    each = (
        f"{without:,} times without a zone and {with_:,} with a zone in column timestamp of {what}"
        for what, (with_, without) in mixed.items()
    )
    return {"local_times": local, "mixed_times": local + zoned, "times_by_table": listed(each)}


# ---- rows of a log, which `inspect` alone has ------------------------------------------------------

_FEW_GAPS = 1000
_HOUR_MS, _DAY_HOURS = 3_600_000, 24
_DAY_MS = _DAY_HOURS * _HOUR_MS
_FEW_DAYS = 3
"""Days of a log from which on an hour of the day has a usual number of searches."""
_ENOUGH_SEARCHES = 20
"""An hour without a search is one that usually has so many."""


def time_numbers(searches: pl.LazyFrame, idle_ms: int) -> Numbers:
    """Return how usable searches (search_id, user_id, timestamp in ms since 1970, UTC) follow each other."""
    rows = searches.select("search_id", "user_id", "timestamp").unique().sort("user_id", "timestamp")
    gap = pl.col("timestamp").diff().filter(pl.col("user_id") == pl.col("user_id").shift())
    counts = rows.select(
        gaps=gap.len(),
        idle=(gap > idle_ms).sum(),
        none=(gap == 0).sum(),
        span=pl.col("timestamp").max() - pl.col("timestamp").min(),
    ).collect(engine="streaming")
    gaps, idle, none, covered = counts.row(0)
    numbers: dict[str, Any] = {}
    if gaps >= _FEW_GAPS:
        numbers |= {"pauses": gaps, "no_pauses": none}
        if covered > 2 * _DAY_MS:
            numbers |= {"long_log_pauses": gaps, "idle_pauses": idle}
            numbers |= {"idle_minutes": idle_ms // 60_000, "covered_days": covered // _DAY_MS}
    hours = searches.group_by(hour=pl.col("timestamp") // _HOUR_MS).len().collect(engine="streaming")
    if hours.is_empty():
        return numbers
    first, last = int(hours["hour"].min()), int(hours["hour"].max())  # type: ignore[arg-type]
    begin = first // _DAY_HOURS * _DAY_HOURS
    days = (last - begin) // _DAY_HOURS + 1
    if days < _FEW_DAYS or days * _DAY_HOURS > 100 * hours.height + 1000:  # a time that is years away
        return numbers
    by_hour = np.zeros(days * _DAY_HOURS, np.int64)
    by_hour[hours["hour"].to_numpy() - begin] = hours["len"].to_numpy()
    by_day = by_hour.reshape(days, _DAY_HOURS)
    there = by_day.sum(axis=1) > 0  # empty days are not looked at
    usual = np.median(by_day[there], axis=0)
    silent = np.flatnonzero((by_day == 0) & there[:, None] & (usual >= _ENOUGH_SEARCHES))
    silent = silent[(silent >= first - begin) & (silent <= last - begin)]
    at = begin + int(silent[0]) if len(silent) else begin
    numbers |= {"silent_hours": len(silent), "usual_searches": _ENOUGH_SEARCHES}
    numbers["silent_from"] = f"{datetime.fromtimestamp(at * _HOUR_MS / 1000, UTC):%Y-%m-%d at %H:%M}"
    return numbers


# ---- what a log shows ------------------------------------------------------------------------------

_CLEAR = 3.0
"""Standard errors by which the first position is clicked less than it should be."""


def list_numbers(lists: LogLists, positions: Sequence[tuple[int, int]], depth: int) -> Numbers:
    """Return the numbers of lists: markets, queries, lengths, and clicks by position, of `depth` results.

    positions: from 1 on: sessions that show a result there, and of these the sessions that click it.
    """
    by_market = lists.sessions_by_market()
    by_query = lists.configurations.group_by("query").agg(pl.col("sessions").sum())
    of_results = lists.configurations.select(length=pl.col("results").list.len().cast(pl.Int64))
    others = lists.others.select(pl.col("length").cast(pl.Int64))
    lengths = pl.concat([of_results, others])["length"].unique()
    longest = int(lengths.max() or 0)  # type: ignore[arg-type]
    first = ", ".join(f"'{visible(market)}'" for market in sorted(by_market)[:3])
    return {
        "markets": len(by_market),
        "first_markets": first,
        "sessions": sum(by_market.values()),
        "of_busy_query": int(by_query["sessions"].max() or 0),  # type: ignore[arg-type]
        "lengths": len(lengths) if longest < depth else depth,
        "longest": longest,
        **(position_numbers(positions) if len(positions) > 1 else {}),
    }


def position_numbers(positions: Sequence[tuple[int, int]]) -> Numbers:
    """Compare the first position with the most clicked other one; only what is clear is below the limit."""
    least = BY_NAME["flat_clicks"].threshold
    first, *others = [(clicked / shown, shown) for shown, clicked in positions]
    place, (best, shown) = max(enumerate(others, 2), key=lambda item: item[1][0])
    missing = least * best - first[0]
    error = (first[0] * (1 - first[0]) / first[1] + least**2 * best * (1 - best) / shown) ** 0.5
    ratio = first[0] / best if best else least
    return {
        "times_as_often": ratio if missing > _CLEAR * error else max(ratio, least),
        "best_place": place,
        "best_rate": best,
        "first_rate": first[0],
    }


def fold_numbers(queries: pl.DataFrame) -> Numbers:
    """Return how many queries differ in what Unicode folds; `query` is in normal form, so in lower case."""
    texts = queries.select(pl.col("query").unique())
    if texts.is_empty():
        return {}
    forms = texts.with_columns(folds_of(texts["query"]).alias("form"))
    same = forms.filter(pl.len().over("form") > 1).sort("form", "query")
    example = ""
    if same.height:
        one, other = same["query"][:2]
        example = f"For example, “{visible(one)}” and “{visible(other)}” are two queries."
    return {"queries": texts.height, "folding": same.height, "folding_example": example}


# ---- judgments -------------------------------------------------------------------------------------


def judgment_numbers(grades: pl.Series, max_grade: int) -> Numbers:
    """Return which grades of the scale 0..max_grade usable judgments have."""
    seen = grades.unique().sort().to_list()
    numbers: dict[str, Any] = {
        "judgments": len(grades),
        "grades": len(seen),
        "grades_seen": listed(map(str, seen)),
        "highest_grade": seen[-1] if seen else 0,
        "lowest_grade": seen[0] if seen else 0,
        "max_grade": max_grade,
    }
    if len(seen) > 1:  # two judgments show that a scale may begin at 1
        scale = range(seen[0], max_grade + 1)
        numbers |= {
            "lowest_of_several": seen[0],
            "scale_from_lowest": ",".join(map(str, scale)),
            "grade_map": ",".join(f"{one}={one - seen[0]}" for one in scale),
        }
    return numbers


def alike_numbers(queries: int, groups: pl.DataFrame) -> Numbers:
    """Return how many of so many judged queries are near-duplicates, by `groups_of_queries`."""
    names = ("with_judgments", "near_duplicates", "groups")
    return dict(zip(names, (queries, groups.height, groups["group"].n_unique()), strict=True))


def order_words(grades: pl.Series, scale: Sequence[str]) -> str:
    """Return a clause on the grades seen in the order that is assumed, with their labels if all have one."""
    seen = grades.unique().sort().to_list()
    named = [f"{grade} ({visible(scale[grade])})" if seen[-1] < len(scale) else str(grade) for grade in seen]
    return f"the grades seen are {listed(named)}, read as worst to best"


def order_numbers(
    queries: int, value: float | None, low: float | None, high: float | None, labels: str
) -> Numbers:
    """Return whether better grades go with fewer clicks, by a correlation of top results and its 95% CI."""
    if value is None or high is None:
        return {}
    return {
        "correlated_queries": queries,
        "surely_reversed": value if high < 0 else max(value, 0.0),
        "first_grade": number(value),
        "first_grade_interval": span(low, high),
        "grades_in_order": labels,
    }


# ---- log and judgments -----------------------------------------------------------------------------


@dataclass(frozen=True)
class JudgedLog:
    """What a log and its judgments name, each once."""

    key: tuple[str, ...]  # Columns that identify a query: query, perhaps market.
    # queries, judged_queries: (key): queries of the log, and judged ones.
    queries: pl.DataFrame
    judged_queries: pl.DataFrame
    # shown, judged: (key, text): results that lists show for judged queries of the log, and results with a
    # judgment.
    shown: pl.DataFrame
    judged: pl.DataFrame
    # unjudged, unshown: Results of `shown` without a judgment, and of `judged` in no list of their query; in
    # order.
    unjudged: pl.DataFrame
    unshown: pl.DataFrame

    @cached_property
    def unseen(self) -> pl.DataFrame:
        """(key) of judged queries that the log does not have, in order."""
        return self.judged_queries.join(self.queries, on=self.key, how="anti").sort(self.key)

    @cached_property
    def alike_queries(self) -> Alike | None:
        """Judged queries that the log has in another form."""
        return alike_queries(self.unseen["query"].unique(), self.queries["query"].unique())

    @cached_property
    def alike_urls(self) -> Alike | None:
        """Results shown that have a judgment in another form."""
        return alike_urls(self.unjudged, self.judged, self.key, self.unshown)

    @property
    def in_other_form(self) -> pl.DataFrame:
        """(query, url) of the log that are judged in another form only; url is null where the query is."""
        queries = [] if self.alike_queries is None else self.alike_queries.pairs["known"].to_list()
        rows = pl.DataFrame({"query": queries, "url": None}, schema={"query": pl.String, "url": pl.String})
        if self.alike_urls is None:
            return rows
        return pl.concat([rows, self.alike_urls.pairs.select("query", url="wanted")])


def join_numbers(named: JudgedLog, lists: LogLists) -> Numbers:
    """Return whether a log and its judgments name the same queries and results, or would in another form.

    lists: lists of the log with their sessions; all lists of judged queries are there.
    """
    judged, unseen, alike = named.judged_queries, named.unseen, named.alike_queries
    if named.queries.is_empty() or judged.is_empty():
        return {}
    in_log = judged.height - unseen.height
    numbers: dict[str, Any] = {
        "judged": judged.height,
        "in_log": in_log,
        "query_example": _query_example(unseen, alike, lists),
    }
    if in_log:
        numbers |= {"judged_of_log": judged.height, "unseen": unseen.height}
        numbers["alike"] = 0 if alike is None else alike.pairs.height
        total = sum(lists.sessions_by_market().values())
        of_judged = int(lists.configurations.join(judged, on=named.key, how="semi")["sessions"].sum())
        if total:
            numbers |= {"every_session": total, "share_unjudged": 1 - of_judged / total}
    if named.shown.is_empty() or named.judged.is_empty():
        return numbers
    in_lists = named.judged.height - named.unshown.height
    numbers |= {
        "judged_results": named.judged.height,
        "in_lists": in_lists,
        "url_example": _url_example(named),
    }
    if in_lists:
        numbers |= {
            "fewest_results": min(named.shown.height, named.judged.height),
            "shown": named.shown.height,
            "urls_alike": 0 if named.alike_urls is None else named.alike_urls.pairs.height,
            "unjudged": named.unjudged.height,
            "unshown": named.unshown.height,
        }
    return numbers


def _query_example(
    unseen: pl.DataFrame, alike: Alike | None, lists: LogLists, what: str = "is judged"
) -> str:
    if alike is not None:
        pair = alike.pairs.row(0, named=True)
        return (
            f"For example, “{visible(pair['wanted'])}” {what}, but the log contains "
            f"“{visible(pair['known'])}”: they differ in {alike.form}."
        )
    by_query = lists.configurations.group_by("query").agg(pl.col("sessions").sum())
    frequent = by_query.sort("sessions", "query", descending=[True, False])["query"].head(1).to_list()
    if unseen.is_empty() or not frequent:
        return ""
    first = unseen["query"].sort()[0]
    return (
        f"For example, “{visible(first)}” {what}; the log contains queries such as “{visible(frequent[0])}”."
    )


def _url_example(pairs: JudgedLog) -> str:
    """Show a judged URL beside one that is shown for the same query, the same in another form if there is."""
    if pairs.alike_urls is not None:
        both = pairs.alike_urls.pairs.rename({"known": "judged", "wanted": "shown"})
        why = f": they differ in {pairs.alike_urls.form}"
    else:
        of_query = pairs.unshown.group_by(pairs.key).agg(judged=pl.col("text").min())
        both = pairs.unjudged.join(of_query, on=pairs.key).rename({"text": "shown"}).sort(*pairs.key, "shown")
        why = ""
    if both.is_empty():
        return ""
    row = both.row(0, named=True)
    return (
        f"For example, for the query “{visible(row['query'])}” “{visible(row['judged'])}” is judged, and "
        f"“{visible(row['shown'])}” is shown{why}."
    )


def attribute_numbers(attributes: pl.DataFrame, queries: pl.DataFrame, lists: LogLists) -> Numbers:
    """Return whether attributes (query, perhaps market, and others) are of queries of the log."""
    key = [name for name in ("market", "query") if name in attributes.columns]
    named = attributes.select(key).unique()
    unseen = named.join(queries, on=key, how="anti")
    in_log = named.height - unseen.height
    alike = None if in_log else alike_queries(unseen["query"].unique(), queries["query"].unique())
    example = _query_example(unseen, alike, lists, "has attributes")
    return {"attributed": named.height, "attributed_in_log": in_log, "attributes_example": example}
