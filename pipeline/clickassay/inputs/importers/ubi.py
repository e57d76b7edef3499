"""OpenSearch User Behavior Insights (UBI, schema 1.2 and 1.3): queries and events into canonical tables."""

import shutil
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl
import pyarrow as pa

from clickassay.core.errors import InputError, SettingsError
from clickassay.core.files.tables import scan_parquet
from clickassay.core.progress import Event, Progress, silent
from clickassay.inputs.importers.base import CanonicalFolder, Imported, TableWriter, height, importing
from clickassay.inputs.importers.ubi_documents import QUERY, Document, documents, files_of
from clickassay.inputs.normalise import normalise_query

CLICK_ACTIONS = ("click", "click_through", "item_click", "product_click", "result_click")
"""Default names of actions that are clicks on a result."""

CLICK, IMPRESSION, PURCHASE = "click", "impression", "purchase"

_KEYS = {
    "query_id": pa.string(),
    "time_ms": pa.int64(),
    "query": pa.string(),
    "user_id": pa.string(),
    "client_id": pa.string(),
    "session_id": pa.string(),
}
_ARMS = {"experiment": ("experiment", "experiment_id"), "variant": ("variant", "search_config")}
"""Attributes of a query that name an A/B test and its arm, the first that is there."""
_RANKERS = ("search_config", "search_configuration_uuid", "search_configuration_id", "search_configuration")
"""Attributes of an object that name the ranker which gave it to an interleaved list, likewise."""

QUERIES = pa.schema({**_KEYS, "hits": pa.list_(pa.string()), **dict.fromkeys(_ARMS, pa.string())})
EVENTS = pa.schema({
    **_KEYS, "application": pa.string(), "ordinal": pa.int64(), "url": pa.string(),
    "team": pa.string(), "test": pa.string(),
})  # fmt: skip
ACTIONS = pa.schema({
    "query_id": pa.string(), "time_ms": pa.int64(), "url": pa.string(), "action": pa.string(),
    "price": pa.float64(),
})  # fmt: skip
"""Events that are neither clicks nor impressions."""

_SHOWN = 20  # actions in a message
_COUNTS = (
    *("blank_lines", "documents_of_others"),
    *("queries_read", "queries_without_id", "queries_repeated"),
    *("events_read", "events_without_attributes", "events_of_other_actions", "times_without_zone"),
    *("applications", "object_id_fields"),
    *("impressions_read", "impressions_without_query_id", "impressions_without_result"),
    *("impressions_without_place", "impressions_repeated"),
    *("clicks_read", "clicks_without_query_id", "clicks_without_result", "clicks_without_time"),
    *("clicks_repeated", "clicks", "clicks_of_no_search", "clicks_elsewhere"),
    *("clicks_at_another_place", "actions", "actions_repeated", "purchases_with_price"),
    *("searches_read", "searches_of_several_queries", "searches_without_query", "searches_without_results"),
    *("searches_without_user", "searches_without_time", "searches", "searches_repeating_a_result"),
    *("searches_by_user_id", "searches_by_client_id", "searches_by_session_id"),
    *("pages_from_hits", "hit_lists_after_the_first", "pages_from_impressions"),
    *("pages_counted_from_0", "pages_counted_from_1", "pages_with_a_hole"),
    *("pages_with_two_results_at_one_place", "pages_without_first_result", "results_below_a_hole"),
    *("searches_of_tests", "searches_interleaved", "clicks_naming_a_ranker", "results_shown"),
)


def import_ubi(
    paths: Sequence[Path],
    *,
    out: Path,
    click_actions: Sequence[str] = CLICK_ACTIONS,
    progress: Progress = silent,
) -> Imported:
    """Translate queries and events of UBI, in files of any form or folders of them, into canonical tables.

    click_actions: values of action_name that are clicks on a result. Raises InputError if a document is not
      in the layout (file and line are named), or no click or search is left; SettingsError if a click action
      is the impression, or none is given.
    """
    if not click_actions or not all(click_actions) or IMPRESSION in click_actions:
        raise SettingsError(
            f"--click-action {', '.join(click_actions)!r}: expected names of actions, not {IMPRESSION!r}"
        )
    files = files_of(list(paths))
    inputs = {f"log {number}": file for number, file in enumerate(files, 1)}
    with importing(out, inputs, _COUNTS, progress) as folder:
        counts = folder.counts
        (folder.path / "stage").mkdir()
        names = _staged(files, folder, frozenset(click_actions))
        where = ", ".join(map(str, files[:3])) + (", …" if len(files) > 3 else "")
        if not counts["events_read"]:
            raise InputError(
                f"{where}: {counts['queries_read']:,} queries and no event; expected documents of ubi_events "
                "as well"
            )
        if not counts["clicks_read"]:
            actions = Counter(names.other_actions)
            if counts["impressions_read"]:
                actions[IMPRESSION] = counts["impressions_read"]
            raise InputError(
                f"{where}: no event is a click; actions are {_named(actions)}; "
                "name those that are clicks on a result with --click-action"
            )
        progress(Event("putting searches together"))
        write_log(folder)
        shutil.rmtree(folder.path / "stage")
        _check_written(counts, files)
        settings = {"click_actions": list(click_actions)}
        return folder.finish("ubi", _notes(names, counts), settings)


@dataclass
class _Names:
    other_actions: Counter[str] = field(default_factory=Counter)
    applications: Counter[str] = field(default_factory=Counter)
    object_id_fields: Counter[str] = field(default_factory=Counter)


def _staged(files: Sequence[Path], folder: CanonicalFolder, clicks: frozenset[str]) -> _Names:
    names, counts = _Names(), folder.counts
    with (
        folder.table("stage/queries", QUERIES) as queries,
        folder.table("stage/impressions", EVENTS) as impressions,
        folder.table("stage/clicks", EVENTS) as clicked,
        folder.table("stage/actions", ACTIONS) as others,
    ):
        writers = {**dict.fromkeys(clicks, clicked), IMPRESSION: impressions}
        for file in files:
            for document in documents(file, counts, folder.progress):
                if document.kind != QUERY:
                    _stage_event(document, writers, others, names, counts)
                    continue
                counts["queries_read"] += 1
                keys = _keys(document, counts)
                counts["queries_without_id"] += keys[0] is None
                if keys[0] is not None:
                    arms = (document.attribute("query_attributes", *names) for names in _ARMS.values())
                    queries.add(*keys, document.hits(), *arms)
    counts["applications"], counts["object_id_fields"] = len(names.applications), len(names.object_id_fields)
    return names


def _stage_event(
    document: Document,
    writers: dict[str, TableWriter],
    others: TableWriter,
    names: _Names,
    counts: dict[str, int],
) -> None:
    counts["events_read"] += 1
    counts["events_without_attributes"] += not document.has_attributes
    action = document.text("action_name") or document.fail("no action_name", expected="one")
    if action not in writers:
        counts["events_of_other_actions"] += 1
        names.other_actions[action] += 1
        _stage_action(document, action, others)
        return
    application = document.text("application") or ""
    names.applications[application] += 1
    id_field = document.text("event_attributes", "object", "object_id_field")
    if id_field is not None:
        names.object_id_fields[id_field] += 1
    url = document.text("event_attributes", "object", "object_id")
    keys, ordinal = _keys(document, counts), document.ordinal()
    kind = "impressions" if action == IMPRESSION else "clicks"
    counts[f"{kind}_read"] += 1
    if keys[0] is None:
        counts[f"{kind}_without_query_id"] += 1
    elif url is None:
        counts[f"{kind}_without_result"] += 1
    elif kind == "clicks":
        counts["clicks_without_time"] += keys[1] is None
    else:
        counts["impressions_without_place"] += ordinal is None or ordinal < 0
    team = document.attribute("event_attributes.object", *_RANKERS)
    test = document.attribute("event_attributes", "ab_test_id") if team else None
    counts["clicks_naming_a_ranker"] += kind == "clicks" and team is not None
    writers[action].add(*keys, application, ordinal, url, team, test)


def _stage_action(document: Document, action: str, others: TableWriter) -> None:
    query_id, url = document.text("query_id"), document.text("event_attributes", "object", "object_id")
    time_ms, _ = document.time_ms()
    if normalise_query(action) == CLICK:  # the user says that it is none, and a run would take it for one
        return
    if query_id is not None and url is not None and time_ms is not None:
        price = document.number("event_attributes", "object", "object_detail", "price")
        others.add(query_id, time_ms, url, action, price if action == PURCHASE else None)


def _keys(
    document: Document, counts: dict[str, int]
) -> tuple[str | None, int | None, *tuple[str | None, ...]]:
    text = document.text
    time_ms, no_zone = document.time_ms()
    counts["times_without_zone"] += no_zone
    query = normalise_query(text("user_query") or "") or None
    session = text("session_id") or text("event_attributes", "session_id")
    return text("query_id"), time_ms, query, text("user_id"), text("client_id"), session


def _check_written(counts: dict[str, int], files: Sequence[Path]) -> None:
    if counts["searches"]:
        return
    lost = ", ".join(
        f"{name} {rows:,}"
        for name, rows in counts.items()
        if name.startswith("searches_") and name != "searches_read" and rows
    )
    raise InputError(
        f"{files[0]}: no search is left ({lost or 'no event has a query_id'}); expected query_id in queries "
        "and events, and hits (query_response_hit_ids) or impressions with object_id and ordinal"
    )


def _named(names: Counter[str]) -> str:
    ordered = sorted(names.items(), key=lambda item: (-item[1], item[0]))
    more = f" and {len(ordered) - _SHOWN:,} more" if len(ordered) > _SHOWN else ""
    return ", ".join(f"{name!r:.60} ({rows:,})" for name, rows in ordered[:_SHOWN]) + more


def _notes(names: _Names, counts: dict[str, int]) -> Iterable[str]:
    yield "UBI has no judgments: add some before you run."
    if names.other_actions:
        yield (
            f"Non-click actions: {_named(names.other_actions)}; clicks.parquet contains those that name "
            "a search, a result and a time. Use --click-action for actions that are clicks."
        )
    if counts["purchases_with_price"]:
        yield (
            f"Purchases with a price: {counts['purchases_with_price']:,}; outcomes.parquet contains it as "
            "revenue, in the unit of the log (--outcomes)."
        )
    if counts["pages_from_impressions"]:
        yield (
            f"{counts['pages_from_impressions']:,} of {counts['searches']:,} rankings were rebuilt from "
            "impressions: each ends with the last impression or above the first gap, so users may have "
            "seen more."
        )
    kinds = [name for name in ("user_id", "client_id", "session_id") if counts[f"searches_by_{name}"]]
    if len(kinds) > 1 or kinds == ["session_id"]:
        yield f"Users are identified by {' or '.join(kinds)}: one person may count as several."
    if counts["clicks_at_another_place"]:
        yield (
            f"{counts['clicks_at_another_place']:,} of {counts['clicks_read']:,} clicks have an ordinal that "
            "belongs to another result than their object_id: the object_id decides."
        )
    if counts["clicks_naming_a_ranker"] and not counts["searches_interleaved"]:
        yield "Clicks name rankers, and impressions do not: log them with all results of an interleaved list."
    if len(names.applications) > 1:
        yield f"Clicks and impressions of several applications are in one log: {_named(names.applications)}."
    if len(names.object_id_fields) > 1:
        named = _named(names.object_id_fields)
        yield f"Results are named by several fields: {named}; judgments must use the same names."
    others = {
        "searches_of_several_queries": "Query_ids with several queries are excluded, and their clicks match "
        "no search.",
        "times_without_zone": "Times without a zone were read as UTC.",
        "searches_of_tests": "Searches have a column variant: a run reports its A/B tests.",
        "searches_interleaved": "Searches have a column teams: a run reports which ranker users prefer.",
    }
    yield from (note for name, note in others.items() if counts[name])


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
    # of each query_id the hits of its earliest query that has some
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
    hits = lists.select(_ID, "results")
    usable = impressions.filter(
        pl.col(_ID).is_not_null(), pl.col("url").is_not_null(), pl.col("ordinal") >= 0
    )
    shown = usable.group_by(_ID, "ordinal", "url").agg(pl.col("application").min())
    counts["impressions_repeated"] = height(usable) - height(shown)
    rebuilt = _rebuilt(shown.join(hits.lazy(), on=_ID, how="anti"), counts)
    known = _known(queries, pl.concat([impressions, clicks]), hits)
    searches = _searches(known, pl.concat([hits, rebuilt]), counts)
    counts["pages_from_hits"] = searches.join(hits, on=_ID, how="semi").height
    counts["pages_from_impressions"] = searches.join(rebuilt, on=_ID, how="semi").height
    tests = _tests(queries, impressions, searches, counts)
    log = searches.join(tests, on=_ID, how="left").select(
        pl.col(_ID).alias("search_id"),
        "user_id",
        "query",
        pl.col("time_ms").cast(_TIME).alias("timestamp"),
        "results",
        *tests.columns[1:],
    )
    log = log.sort("timestamp", "search_id")
    log.write_parquet(folder.path / "searches.parquet")
    clicked = _clicks(clicks, log, counts)
    actions = scan_parquet(folder.path / "stage" / "actions.parquet")
    _with_actions(clicked, actions, counts).write_parquet(folder.path / "clicks.parquet")
    revenue = _revenue(actions)
    counts["purchases_with_price"] = revenue.height
    if revenue.height:
        revenue.write_parquet(folder.path / "outcomes.parquet")


def _rebuilt(shown: pl.LazyFrame, counts: dict[str, int]) -> pl.DataFrame:
    """Return (query_id, results): each page down to its first gap, or place with two results."""
    # Places count from 0, as on a page with an ordinal 0. Any other counts as its application does: from
    # 0 if more of its pages begin with 0 than with 1.
    lowest = shown.group_by(_ID).agg(pl.col("ordinal").min().alias("lowest"), pl.col("application").min())
    beginning = lowest.filter(pl.col("lowest") <= 1).group_by("application")
    habits = beginning.agg((2 * (pl.col("lowest") == 0).sum() > pl.len()).alias("from_0"))
    origins = lowest.join(habits, on="application", how="left").select(
        _ID,
        ((pl.col("lowest") > 0) & ~pl.col("from_0").fill_null(value=False)).cast(pl.Int64).alias("origin"),
    )
    ones = origins.select(pl.len(), pl.col("origin").sum().alias("ones")).collect()
    counts["pages_counted_from_1"] = int(ones["ones"].sum())
    counts["pages_counted_from_0"] = int(ones["len"].sum()) - counts["pages_counted_from_1"]
    places = (
        shown.join(origins, on=_ID)
        .with_columns((pl.col("ordinal") - pl.col("origin")).alias("place"))
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


def _tests(
    queries: pl.LazyFrame, impressions: pl.LazyFrame, searches: pl.DataFrame, counts: dict[str, int]
) -> pl.DataFrame:
    """Return query_id and, of searches in tests, what names them: variant, experiment, teams, if there."""
    arms, teams = _arms(queries, searches), _teams(queries, impressions, searches)
    counts["searches_of_tests"], counts["searches_interleaved"] = arms.height, teams.height
    if not (arms.height and teams.height):
        return arms if arms.height else teams if teams.height else teams.select(_ID)
    both = arms.join(teams, on=_ID, how="full", coalesce=True, suffix="_of_teams")
    names = [name for name in both.columns if name.startswith("experiment")]
    experiment = pl.coalesce(*names, pl.lit("variant")).alias("experiment")
    return both.select(_ID, "variant", experiment, "teams")


def _arms(queries: pl.LazyFrame, searches: pl.DataFrame) -> pl.DataFrame:
    """Return (query_id, variant, experiment) by the first query of each search; none with one variant."""
    named = queries.filter(pl.col("variant").is_not_null()).select(_ID, "time_ms", *_ARMS).collect()
    named = named.sort(_ID, "time_ms", *_ARMS, nulls_last=True).unique(_ID, keep="first", maintain_order=True)
    named = named.join(searches, on=_ID, how="semi").select(_ID, "variant", "experiment")
    if named["variant"].n_unique() < len(("control", "treatment")):
        return named.clear()
    if named["experiment"].is_null().all():
        return named.drop("experiment")
    return named.with_columns(pl.col("experiment").fill_null("variant"))


def _teams(queries: pl.LazyFrame, impressions: pl.LazyFrame, searches: pl.DataFrame) -> pl.DataFrame:
    """Return (query_id, experiment, teams) of searches whose impressions name rankers, one for each result.

    A result that impressions give to several rankers, or to none, has none.
    """
    named = impressions.filter(pl.col("team").is_not_null(), pl.col("url").is_not_null())
    only = pl.when(pl.col("team").n_unique() == 1).then(pl.col("team").first()).alias("teams")
    of_results = named.group_by(_ID, pl.col("url").alias("results")).agg(only)
    of_queries = queries.filter(pl.col("experiment").is_not_null()).group_by(_ID)
    tests = named.group_by(_ID).agg(pl.col("test").min())
    tests = tests.join(of_queries.agg(pl.col("experiment").min()), on=_ID, how="left")
    experiment = pl.coalesce("experiment", "test", pl.lit("variant")).alias("experiment")
    shown = searches.lazy().select(_ID, "results").join(tests.select(_ID, experiment), on=_ID)
    placed = shown.explode("results").join(of_results, on=[_ID, "results"], how="left", maintain_order="left")
    drafted = placed.group_by(_ID, "experiment", maintain_order=True).agg("teams")
    return drafted.filter(pl.col("teams").list.drop_nulls().list.len() > 0).collect()


def _searches(known: pl.DataFrame, lists: pl.DataFrame, counts: dict[str, int]) -> pl.DataFrame:
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
    # Clicks whose ordinal belongs to another result of the list than the one that they name. Ordinals count
    # from 0 or from 1, an application's alike: taken is the origin by which fewer differ.
    lists = log.lazy().select(pl.col("search_id").alias(_ID), "results")
    placed = clicks.filter(pl.col("ordinal") >= 0).join(lists, on=_ID)
    named = placed.filter(pl.col("url").is_in(pl.col("results")))
    apart = [
        pl.col("results").list.get(pl.col("ordinal") - origin, null_on_oob=True).ne_missing(pl.col("url"))
        | (pl.col("ordinal") < origin)
        for origin in (0, 1)
    ]
    counted = named.group_by("application").agg(zero=apart[0].sum(), one=apart[1].sum()).collect()
    counts["clicks_at_another_place"] = int(counted.select(pl.min_horizontal("zero", "one").sum()).item())
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
    bought = actions.filter(pl.col("price").is_not_null()).unique(maintain_order=False)
    order = ["time_ms", _ID, "url", "price"]
    named = bought.sort(order).select(
        pl.col(_ID).alias("search_id"), pl.lit("revenue").alias("name"), "price"
    )
    return named.rename({"price": "value"}).collect()
