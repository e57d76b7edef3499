"""Searches and clicks from the staged queries and events of UBI, joined by query_id.

A result list is the list of hits, or the known beginning of the page that impressions show.
"""

import polars as pl

from clickassay.core.files.tables import scan_parquet
from clickassay.inputs.importers.base import CanonicalFolder, height

_ID = "query_id"
_USERS = ("user_id", "client_id", "session_id")
_TIME = pl.Datetime("ms", "UTC")


def write_log(folder: CanonicalFolder) -> None:
    """Write and count the searches and clicks of the folder's ``stage``, which `importer` wrote."""
    counts = folder.counts
    queries, impressions, clicks = (
        scan_parquet(folder.path / "stage" / f"{name}.parquet")
        for name in ("queries", "impressions", "clicks")
    )
    hits = _hit_lists(queries, counts)
    shown = _places(impressions, counts)
    rebuilt = _rebuilt(shown.join(hits.lazy(), on=_ID, how="anti"), counts)
    known = _known(queries, pl.concat([impressions, clicks]), hits)
    searches = _searches(known, pl.concat([hits, rebuilt]), counts)
    counts["pages_from_hits"] = searches.join(hits, on=_ID, how="semi").height
    counts["pages_from_impressions"] = searches.join(rebuilt, on=_ID, how="semi").height
    log = searches.select(
        pl.col(_ID).alias("search_id"),
        "user_id",
        "query",
        pl.col("time_ms").cast(_TIME).alias("timestamp"),
        "results",
    ).sort("timestamp", "search_id")
    log.write_parquet(folder.path / "searches.parquet")
    clicked = _clicks(clicks, log, counts)
    actions = scan_parquet(folder.path / "stage" / "actions.parquet")
    _with_actions(clicked, actions, counts).write_parquet(folder.path / "clicks.parquet")
    revenue = _revenue(actions)
    counts["purchases_with_price"] = revenue.height
    if revenue.height:
        revenue.write_parquet(folder.path / "outcomes.parquet")


def _hit_lists(queries: pl.LazyFrame, counts: dict[str, int]) -> pl.DataFrame:
    """Return (query_id, results): the hits of its earliest query that has some."""
    named = queries.filter(pl.col("hits").list.len() > 0).with_columns(
        pl.col("hits").list.join("\x1f").alias("joined")
    )
    lists = (
        named.sort(_ID, "time_ms", "joined", nulls_last=True)
        .group_by(_ID, maintain_order=True)
        .agg(pl.col("hits").first().alias("results"), pl.col("joined").n_unique().alias("lists"))
        .collect()
    )
    counts["hit_lists_after_the_first"] = int(lists["lists"].sum()) - lists.height
    read, ids = queries.select(pl.len(), pl.col(_ID).n_unique().alias("ids")).collect().row(0)
    counts["queries_repeated"] = read - ids
    return lists.select(_ID, "results")


def _places(impressions: pl.LazyFrame, counts: dict[str, int]) -> pl.LazyFrame:
    """Return distinct (query_id, application, ordinal, url) of the impressions that have all of them."""
    usable = impressions.filter(
        pl.col(_ID).is_not_null(), pl.col("url").is_not_null(), pl.col("ordinal") >= 0
    )
    distinct = usable.group_by(_ID, "ordinal", "url").agg(pl.col("application").min())
    counts["impressions_repeated"] = height(usable) - height(distinct)
    return distinct


def _rebuilt(shown: pl.LazyFrame, counts: dict[str, int]) -> pl.DataFrame:
    """Return (query_id, results): each page down to its first gap, or place with two results."""
    places = (
        _from_one_origin(shown, counts)
        .group_by(_ID, "place")
        .agg(pl.col("url").min(), pl.len().alias("urls"))
        .sort(_ID, "place")
        .with_columns(pl.int_range(pl.len()).over(_ID).alias("expected"))
        .with_columns(
            (pl.col("place") != pl.col("expected")).alias("hole"), (pl.col("urls") > 1).alias("doubtful")
        )
        .with_columns((pl.col("hole") | pl.col("doubtful")).cum_max().over(_ID).alias("below"))
        .collect()
    )
    pages = places.group_by(_ID).agg(pl.col("hole").any(), pl.col("doubtful").any(), pl.col("below").all())
    counts["pages_with_a_hole"] = int(pages["hole"].sum())
    counts["pages_with_two_results_at_one_place"] = int(pages["doubtful"].sum())
    counts["pages_without_first_result"] = int(pages["below"].sum())
    counts["results_below_a_hole"] = int(places.filter("below")["urls"].sum())
    kept = places.filter(~pl.col("below"))
    return kept.group_by(_ID, maintain_order=True).agg(pl.col("url").alias("results"))


def _from_one_origin(shown: pl.LazyFrame, counts: dict[str, int]) -> pl.LazyFrame:
    """Replace ordinals by places from 0.

    A page with an ordinal 0 counts from 0. Any other counts as its application does: from 0 if more of its
    pages begin with 0 than with 1.
    """
    pages = shown.group_by(_ID).agg(pl.col("ordinal").min().alias("lowest"), pl.col("application").min())
    beginning = pages.filter(pl.col("lowest") <= 1).group_by("application")
    habits = beginning.agg((2 * (pl.col("lowest") == 0).sum() > pl.len()).alias("from_0"))
    origins = pages.join(habits, on="application", how="left").select(
        _ID,
        ((pl.col("lowest") > 0) & ~pl.col("from_0").fill_null(value=False)).cast(pl.Int64).alias("origin"),
    )
    ones = origins.select(pl.len(), pl.col("origin").sum().alias("ones")).collect()
    counts["pages_counted_from_1"] = int(ones["ones"].sum())
    counts["pages_counted_from_0"] = int(ones["len"].sum()) - counts["pages_counted_from_1"]
    return shown.join(origins, on=_ID).with_columns((pl.col("ordinal") - pl.col("origin")).alias("place"))


def _known(queries: pl.LazyFrame, events: pl.LazyFrame, hits: pl.DataFrame) -> pl.DataFrame:
    """Return (query_id, query, queries, time_ms, user_id, kind) of each query_id; queries go first."""
    sources = [_by_id(queries, "_query"), _by_id(events, "_event")]
    ids = pl.concat([part.select(_ID) for part in sources]).unique()
    # A list of hits belongs to the query of its document, even an empty one; a page to that of its events.
    query_of_hits = (
        pl.when(pl.col("hits").list.len() > 0).then(pl.col("query").fill_null("")).otherwise("query")
    )
    of_pages = events.select(_ID, "query").join(hits.lazy(), on=_ID, how="anti")
    texts = pl.concat([queries.select(_ID, query_of_hits.alias("query")), of_pages])
    named = (
        texts.drop_nulls()
        .group_by(_ID)
        .agg(pl.col("query").min(), pl.col("query").n_unique().alias("queries"))
    )
    joined = ids.join(named, on=_ID, how="left")
    for part in sources:
        joined = joined.join(part, on=_ID, how="left")
    users = [pl.col(f"{name}{side}") for name in _USERS for side in ("_query", "_event")]
    kinds = [
        pl.when(column.is_not_null()).then(pl.lit(column.meta.output_name().rpartition("_")[0]))
        for column in users
    ]
    return joined.select(
        _ID,
        "query",
        pl.col("queries").fill_null(0),
        pl.coalesce("time_ms_query", "time_ms_event").alias("time_ms"),
        pl.coalesce(users).alias("user_id"),
        pl.coalesce(kinds).alias("kind"),
    ).collect()


def _by_id(rows: pl.LazyFrame, side: str) -> pl.LazyFrame:
    """Return the earliest time and the least of each kind of user by query_id: no order of rows matters."""
    named = rows.filter(pl.col(_ID).is_not_null()).group_by(_ID)
    return named.agg(pl.col(name).min().alias(f"{name}{side}") for name in ("time_ms", *_USERS))


def _searches(known: pl.DataFrame, lists: pl.DataFrame, counts: dict[str, int]) -> pl.DataFrame:
    """Keep what a search needs; count each other query_id by the first thing that it lacks."""
    counts["searches_read"] = known.height
    left = known.join(lists, on=_ID, how="left")
    needed = {
        "searches_of_several_queries": pl.col("queries") <= 1,
        "searches_without_query": pl.col("query").fill_null("") != "",
        "searches_without_results": pl.col("results").is_not_null(),
        "searches_without_user": pl.col("user_id").is_not_null(),
        "searches_without_time": pl.col("time_ms").is_not_null(),
    }
    for name, condition in needed.items():
        kept = left.filter(condition)
        counts[name] = left.height - kept.height
        left = kept
    counts["searches"] = left.height
    for name in _USERS:
        counts[f"searches_by_{name}"] = left.filter(pl.col("kind") == name).height
    repeating = pl.col("results").list.n_unique() < pl.col("results").list.len()
    counts["searches_repeating_a_result"] = left.filter(repeating).height
    return left


def _clicks(clicks: pl.LazyFrame, log: pl.DataFrame, counts: dict[str, int]) -> pl.DataFrame:
    """Return the clicks that name query_id, result and time, each once."""
    usable = clicks.select(
        pl.col(_ID).alias("search_id"), pl.col("time_ms").cast(_TIME).alias("timestamp"), "url"
    ).drop_nulls()
    distinct = usable.unique().collect().sort("timestamp", "search_id", "url")
    counts["clicks"] = distinct.height
    counts["clicks_repeated"] = height(usable) - distinct.height
    of_search = distinct.join(log, on="search_id", how="semi")
    counts["clicks_of_no_search"] = distinct.height - of_search.height
    on_page = of_search.join(
        log.select("search_id", pl.col("results").alias("url")).explode("url"),
        on=["search_id", "url"],
        how="semi",
    )
    counts["clicks_elsewhere"] = of_search.height - on_page.height
    counts["clicks_at_another_place"] = _at_another_place(clicks, log)
    return distinct


def _with_actions(clicks: pl.DataFrame, actions: pl.LazyFrame, counts: dict[str, int]) -> pl.DataFrame:
    """Add the other actions, equal ones once, in a column ``action``; a log of clicks alone has none."""
    time = pl.col("time_ms").cast(_TIME).alias("timestamp")
    usable = actions.select(pl.col(_ID).alias("search_id"), time, "url", "action")
    distinct = usable.unique().collect()
    counts["actions"], counts["actions_repeated"] = distinct.height, height(usable) - distinct.height
    if distinct.is_empty():
        return clicks
    every = pl.concat([clicks.with_columns(action=pl.lit("click")), distinct])
    return every.sort("timestamp", "search_id", "url", "action")


def _revenue(actions: pl.LazyFrame) -> pl.DataFrame:
    """Return the prices of purchases as outcomes, each purchase once."""
    bought = actions.filter(pl.col("price").is_not_null()).unique(maintain_order=False)
    order = ["time_ms", _ID, "url", "price"]
    named = bought.sort(order).select(
        pl.col(_ID).alias("search_id"), pl.lit("revenue").alias("name"), "price"
    )
    return named.rename({"price": "value"}).collect()


def _at_another_place(clicks: pl.LazyFrame, log: pl.DataFrame) -> int:
    """Count clicks whose ordinal belongs to another result of the list than the one that they name.

    Ordinals count from 0 or from 1, an application's alike: taken is the origin by which fewer differ.
    """
    lists = log.lazy().select(pl.col("search_id").alias(_ID), "results")
    placed = clicks.filter(pl.col("ordinal") >= 0).join(lists, on=_ID)
    named = placed.filter(pl.col("url").is_in(pl.col("results")))
    apart = [
        pl.col("results").list.get(pl.col("ordinal") - origin, null_on_oob=True).ne_missing(pl.col("url"))
        | (pl.col("ordinal") < origin)
        for origin in (0, 1)
    ]
    counted = named.group_by("application").agg(zero=apart[0].sum(), one=apart[1].sum()).collect()
    return int(counted.select(pl.min_horizontal("zero", "one").sum()).item())
