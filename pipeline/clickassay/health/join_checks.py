"""Checks of whether a log and its judgments name the same queries and results, or would in another form."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import polars as pl

from clickassay.core.text.words import count, percent, plural, visible
from clickassay.health.checks import Measured, too_few
from clickassay.health.forms import Alike, alike_queries, alike_urls, folds_of
from clickassay.patterns.lists import LogLists

_FEW_RESULTS = 20
"""Of fewer results, shares say little."""


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


def join_checks(named: JudgedLog, lists: LogLists) -> Iterator[Measured]:
    """Yield the numbers of the checks of how a log and its judgments go together.

    named: what both name.
    lists: lists of the log with their sessions; all lists of judged queries are there.
    """
    if named.queries.is_empty() or named.judged_queries.is_empty():
        return
    yield from _query_checks(named, lists)
    if not named.shown.is_empty() and not named.judged.is_empty():
        yield from _url_checks(named)


def _query_checks(named: JudgedLog, lists: LogLists) -> Iterator[Measured]:
    judged, unseen, alike = named.judged_queries, named.unseen, named.alike_queries
    in_log = judged.height - unseen.height
    there = count(in_log) if in_log else "none"
    said = (
        f"Of {plural(judged.height, 'judged query', 'judged queries')} the log has {there}.",
        "Check that the judgments are of this log, and that queries are written alike.",
        _query_example(unseen, alike, lists),
    )
    yield Measured("no_judged_queries", in_log, *said)
    if not in_log:
        return
    yield Measured("unseen_queries", unseen.height / judged.height, *said)
    n_alike = 0 if alike is None else alike.pairs.height
    yield Measured(
        "queries_alike", n_alike / judged.height,
        f"{plural(n_alike, 'judged query', 'judged queries')} of {count(judged.height)} "
        f"{'is' if n_alike == 1 else 'are'} in the log in another form only.",
        "Write queries alike in log and judgments, then judge what is still missing.",
        _query_example(unseen, alike, lists),
    )  # fmt: skip
    total = sum(lists.sessions_by_market().values())
    of_judged = int(lists.configurations.join(judged, on=named.key, how="semi")["sessions"].sum())
    if total:
        yield Measured(
            "unjudged_queries", 1 - of_judged / total,
            f"{percent(1 - of_judged / total, 2)} of the {count(total)} sessions are of a query without any "
            "judgment.",
            "Judge queries that users ask often (`clickassay plan`), if the judgments are of this log.",
        )  # fmt: skip


def _query_example(
    unseen: pl.DataFrame, alike: Alike | None, lists: LogLists, what: str = "is judged"
) -> str:
    if alike is not None:
        pair = alike.pairs.row(0, named=True)
        return (
            f"For example, “{visible(pair['wanted'])}” {what}, and the log has "
            f"“{visible(pair['known'])}”: they differ in {alike.form}."
        )
    by_query = lists.configurations.group_by("query").agg(pl.col("sessions").sum())
    frequent = by_query.sort("sessions", "query", descending=[True, False])["query"].head(1).to_list()
    if unseen.is_empty() or not frequent:
        return ""
    first = unseen["query"].sort()[0]
    return f"For example, “{visible(first)}” {what}; a query of the log is “{visible(frequent[0])}”."


def _url_checks(pairs: JudgedLog) -> Iterator[Measured]:
    alike = pairs.alike_urls
    example = _url_example(pairs, alike)
    in_lists = pairs.judged.height - pairs.unshown.height
    yield Measured(
        "no_judged_results", in_lists,
        f"Of {plural(pairs.judged.height, 'judged result')} the lists of their queries show "
        f"{count(in_lists) if in_lists else 'none'}.",
        "Check that log and judgments name results alike.",
        example,
    )  # fmt: skip
    if not in_lists:
        return
    shares = [_alike_share(pairs, alike, example), *_unmatched_shares(pairs, example)]
    fewest = min(pairs.shown.height, pairs.judged.height)
    if fewest < _FEW_RESULTS:
        yield from too_few(fewest, _FEW_RESULTS, "results", *(one.name for one in shares))
    else:
        yield from shares


def _alike_share(pairs: JudgedLog, alike: Alike | None, example: str) -> Measured:
    n_alike = 0 if alike is None else alike.pairs.height
    return Measured(
        "urls_alike", n_alike / pairs.shown.height,
        f"{percent(n_alike / pairs.shown.height)} of the results shown for judged queries ({count(n_alike)} "
        f"of {count(pairs.shown.height)}) have a judgment in another form only.",
        "Write URLs alike in log and judgments, then judge what is still missing.",
        example,
    )  # fmt: skip


def _unmatched_shares(pairs: JudgedLog, example: str) -> Iterator[Measured]:
    unjudged, unshown = pairs.unjudged.height, pairs.unshown.height
    yield Measured(
        "unjudged_results", unjudged / pairs.shown.height,
        f"{percent(unjudged / pairs.shown.height)} of the results shown for judged queries "
        f"({count(unjudged)} of {count(pairs.shown.height)}) have no judgment.",
        "Check that log and judgments name results alike; if they do, judge what users see.",
        example,
    )  # fmt: skip
    yield Measured(
        "unshown_results", unshown / pairs.judged.height,
        f"{percent(unshown / pairs.judged.height)} of the judged results ({count(unshown)} of "
        f"{count(pairs.judged.height)}) are in no list of their query.",
        "Check that log and judgments name results alike, and that the judgments are not of another time.",
        example,
    )  # fmt: skip


def _url_example(pairs: JudgedLog, alike: Alike | None) -> str:
    """Show a judged URL beside one that is shown for the same query, the same in another form if there is."""
    if alike is not None:
        both, why = (
            alike.pairs.rename({"known": "judged", "wanted": "shown"}),
            f": they differ in {alike.form}",
        )
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


def attributes_check(attributes: pl.DataFrame, queries: pl.DataFrame, lists: LogLists) -> Measured:
    """Return the number of the check whether attributes are of queries of the log.

    attributes: columns query, perhaps market, and the attributes; queries in normal form.
    queries: (market, query) of the log.
    lists: lists of the log with their sessions.
    """
    key = [name for name in ("market", "query") if name in attributes.columns]
    named = attributes.select(key).unique()
    unseen = named.join(queries, on=key, how="anti")
    in_log = named.height - unseen.height
    alike = None if in_log else alike_queries(unseen["query"].unique(), queries["query"].unique())
    return Measured(
        "no_query_attributes", in_log,
        f"Of {plural(named.height, 'query', 'queries')} with attributes the log has "
        f"{count(in_log) if in_log else 'none'}.",
        "Check that --queries names attributes of this log, and that queries are written alike.",
        _query_example(unseen, alike, lists, "has attributes"),
    )  # fmt: skip


def folded_queries(queries: pl.DataFrame) -> Iterator[Measured]:
    """Yield the number of the check of queries that differ in what Unicode folds.

    queries: column query: in normal form, so in lower case.
    """
    texts = queries.select(pl.col("query").unique())
    forms = texts.with_columns(folds_of(texts["query"]).alias("form"))
    same = forms.filter(pl.len().over("form") > 1).sort("form", "query")
    if texts.is_empty():
        return
    example = ""
    if same.height:
        one, other = same["query"][:2]
        example = f"For example, “{visible(one)}” and “{visible(other)}” are two queries."
    yield Measured(
        "queries_that_fold", same.height / texts.height,
        f"{plural(same.height, 'query', 'queries')} of {count(texts.height)} would be one with another query "
        "if texts were folded as Unicode does (NFKC and full case folding); here they stay apart, and their "
        "sessions too.",
        "Fold queries in log and judgments if users mean the same by them.",
        example,
    )  # fmt: skip
