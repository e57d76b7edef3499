"""Scores of lists that users bring: any offline number, which stands where an offline metric does."""

import re
from collections import Counter
from dataclasses import dataclass

import numpy as np
import polars as pl

from clickassay.core.contracts.columns import EVERY
from clickassay.core.contracts.patterns import FUNNEL
from clickassay.core.contracts.run import CONFIGURATIONS
from clickassay.core.errors import InputError, NothingInCommonError
from clickassay.core.records import Floats
from clickassay.core.settings import Settings
from clickassay.core.text.words import listed, plural, visible
from clickassay.inputs.normalise import normalise_queries, normalise_url
from clickassay.metrics.catalogue import METRICS
from clickassay.metrics.clicks import CLICK_METRICS, IPS
from clickassay.patterns.digests import configuration_ids
from clickassay.patterns.funnel import check_rejected

MOST_SCORES = 8
"""More names than this are probably ids."""

_NAME = re.compile(r"[^\W_][\w .@/-]*")
_NO_SEARCH = "its search is not in the log"
_KEYS = 'configuration_id, search_id, or query and results (a list, as ["d1", "d2"])'


@dataclass(frozen=True)
class Scores:
    """Scores of lists, prepared."""

    names: tuple[str, ...]  # The S scores, in order.
    rows: pl.DataFrame  # Columns key, name, value: a value for each list and name.
    # by_id, by_market: Whether `key` is the id of a configuration, or made of its market, query and results;
    # else of its query and results.
    by_id: bool
    by_market: bool
    counts: Counter[tuple[str, str]]  # Rows by step and reason.

    def of_lists(self, lists: pl.DataFrame) -> Floats:
        """Return the (n, S) scores of lists, NaN without one; NothingInCommonError if no list has any."""
        keys = self._keys(lists)
        wide = self.rows.pivot("name", index="key", values="value")
        joined = pl.DataFrame({"key": keys}).join(wide, on="key", how="left", maintain_order="left")
        values: Floats = joined.select(self.names).fill_null(np.nan).to_numpy().astype(np.float64)
        if len(values) and np.isnan(values).all():
            raise NothingInCommonError(
                "no ranking of the log has a score: give scores of the rankings that were shown, by "
                f"{_KEYS}, with the texts and the order of the log"
            )
        return values

    def _keys(self, lists: pl.DataFrame) -> pl.Series:
        if self.by_id or self.by_market:
            return lists["configuration_id"]
        return configuration_ids(lists.select(pl.lit("").alias("market"), "query", "results"))

    def funnel(self, lists: pl.DataFrame) -> pl.DataFrame:
        """Return what was read, rejected, averaged and kept, in the form of FUNNEL."""
        known = self.rows.join(pl.DataFrame({"key": self._keys(lists)}), on="key", how="semi").height
        counts = self.counts + Counter(
            {("no list", "its ranking is not in the log"): self.rows.height - known, ("kept", ""): known}
        )
        rows = [("scores", EVERY, 0, EVERY, step, reason, n) for (step, reason), n in counts.items() if n]
        return FUNNEL.canonical(pl.DataFrame(rows, [column.name for column in FUNNEL.columns], orient="row"))


def prepare_scores(
    rows: pl.DataFrame, settings: Settings, *, by_market: bool, deepest: int, unknown: int = 0
) -> Scores:
    """Check scores (see `of_searches`) and bring them to a value for each list, cut to `deepest`, and name.

    unknown: further rows, of searches that the log does not have.
    Raises InputError, SettingsError if a name or too many values are no score, or nothing names the lists.
    """
    counts = Counter({("read", ""): rows.height + unknown, ("no list", _NO_SEARCH): unknown})
    by_id = rows["configuration_id"].null_count() < rows.height
    if not by_id and "results" not in _filled(rows):
        raise InputError(f"scores: the table does not say which ranking each score belongs to; add {_KEYS}")
    usable = _usable(rows, "configuration_id" if by_id else "results", counts, settings, by_market=by_market)
    names = tuple(usable["name"].unique().sort())
    taken = {*(metric.name.lower() for metric in METRICS), *(name.lower() for name in (*CLICK_METRICS, IPS))}
    taken |= {column.name for column in CONFIGURATIONS.columns}
    for name in names:
        if not _NAME.fullmatch(name) or name.lower() in taken:
            raise InputError(
                f"scores: {visible(name)!r} is not a valid name of a score: already used by a metric or "
                "column, or contains characters other than letters, digits, blanks and . @ / _ -; rename "
                "this score"
            )
    if len(names) > MOST_SCORES:
        raise InputError(
            f"scores: {plural(len(names), 'name')}, such as {listed(names[:3])}; at most {MOST_SCORES} can "
            "be compared: remove some, or check whether the column name is an ID"
        )
    key = usable["configuration_id"] if by_id else _keys(usable, settings, by_market, deepest)
    # sorted before they are added, so that no order of rows matters
    grouped = usable.with_columns(key=key).group_by("key", "name").agg(pl.col("value").sort().mean())
    counts["averaged", "another value of the same ranking"] = usable.height - grouped.height
    return Scores(names, grouped, by_id, by_market, counts)


def of_searches(rows: pl.DataFrame, searches: pl.LazyFrame | None) -> tuple[pl.DataFrame, bool, int]:
    """Name the lists of scores that name searches: by market, query and results.

    searches: the searches of the log; None = there is a pattern table only, which is an InputError.
    Returns the rows, whether they have the market of a search, and how many others name an unknown search.
    """
    if "search_id" not in _filled(rows):
        return rows, False, 0
    if searches is None:
        raise InputError(
            "scores by search_id need the log, and a pattern table no longer contains searches: use "
            "`clickassay run`, or give query and results"
        )
    key = pl.col("search_id").cast(pl.String)
    of_log = searches.with_columns(key).select("search_id", "market", "query", "results", "page")
    named = of_log.join(rows.lazy().select(key).unique(), on="search_id", how="semi").collect()
    # the first page, which its session begins on; delivered again, the first of equal rows by their texts
    first = named.sort("page", "market", "query", "results").unique(
        "search_id", keep="first", maintain_order=True
    )
    own = rows.with_columns(key).drop("market", "query", "results")
    joined = own.join(first.drop("page"), on="search_id", how="left", maintain_order="left")
    known = joined.filter(pl.col("results").is_not_null() | pl.col("search_id").is_null())
    return known, True, joined.height - known.height


def _filled(rows: pl.DataFrame) -> set[str]:
    return {name for name in rows.columns if rows[name].null_count() < rows.height}


def _usable(
    rows: pl.DataFrame, key: str, counts: Counter[tuple[str, str]], settings: Settings, *, by_market: bool
) -> pl.DataFrame:
    """Return the rows with a finite number and whatever names its list, which is known by `key`."""
    reasons: Counter[str] = Counter()
    numbers = rows.with_columns(pl.col("value").cast(pl.Float64, strict=False))
    for column in (key, "name", *(("query",) if key == "results" else ())):
        reasons[f"null {column}"] = numbers[column].null_count()
        numbers = numbers.drop_nulls(column)
    if key == "results":  # in the words of the log, which leaves such searches out
        empty, holed = pl.col("results").list.len() == 0, pl.col("results").list.contains(None)
        unknown = pl.col("market").is_null() if by_market else pl.lit(False)
        left_out = {"empty results": empty, "null in results": holed, "null market": unknown}
        for reason, is_so in left_out.items():
            counts["no list", reason] = numbers.filter(is_so).height
            numbers = numbers.filter(~is_so)
    finite = numbers.filter(pl.col("value").is_finite())
    reasons["no finite number"] = numbers.height - finite.height
    counts.update({("rejected", reason): n for reason, n in reasons.items() if n})
    check_rejected("scores", reasons, counts["read", ""], settings.max_rejected)
    return finite


def _keys(rows: pl.DataFrame, settings: Settings, by_market: bool, deepest: int) -> pl.Series:
    """Return what identifies the list of each row: an id of its texts, in the forms of the log."""
    lists = rows.with_row_index("row").select("row", "results").explode("results")
    if settings.normalise_urls:
        texts = lists["results"].drop_nulls().unique()
        normal = [normalise_url(text) for text in texts]
        lists = lists.with_columns(pl.col("results").replace_strict(texts, normal, default=None))
    # a result that is shown again counts at its first place, as in the log
    distinct = lists.unique(maintain_order=True).group_by("row", maintain_order=True).agg("results")
    results = distinct["results"].list.head(deepest)
    market = rows["market"] if by_market else pl.repeat("", rows.height, eager=True).alias("market")
    columns = {"market": market, "query": normalise_queries(rows["query"]), "results": results}
    return configuration_ids(pl.DataFrame(columns))
