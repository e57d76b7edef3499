"""OpenSearch User Behavior Insights (UBI, schema 1.2 and 1.3): queries and events into canonical tables.

Documents are read in a stream and staged as Parquet; Polars then joins them by query_id.
"""

import shutil
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from clickassay.core.errors import InputError, SettingsError
from clickassay.core.progress import Event, Progress, silent
from clickassay.inputs.importers.base import CanonicalFolder, Imported, TableWriter, importing
from clickassay.inputs.importers.ubi.documents import QUERY, Document, documents, files_of
from clickassay.inputs.importers.ubi.searches import write_log
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
QUERIES = pa.schema({**_KEYS, "hits": pa.list_(pa.string())})
EVENTS = pa.schema({**_KEYS, "application": pa.string(), "ordinal": pa.int64(), "url": pa.string()})
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
    "results_shown",
)


def import_ubi(
    paths: Sequence[Path],
    *,
    out: Path,
    click_actions: Sequence[str] = CLICK_ACTIONS,
    progress: Progress = silent,
) -> Imported:
    """Translate queries and events of UBI into a folder of canonical tables.

    paths: files of queries, of events, or of both, in any order: bulk or JSON lines, Parquet (.parquet), CSV
      (.csv); or folders of such files.
    click_actions: values of action_name that are clicks on a result.

    Raises InputError if a document is not in the layout (the message names file and line), or no event is a
    click, or no search is left; SettingsError if a click action is the impression, or none is given.
    """
    _check_actions(click_actions)
    files = files_of(list(paths))
    inputs = {f"log {number}": file for number, file in enumerate(files, 1)}
    with importing(out, inputs, _COUNTS, progress) as folder:
        counts = folder.counts
        (folder.path / "stage").mkdir()
        names = _staged(files, folder, frozenset(click_actions))
        _check_events(names, counts, files)
        progress(Event("putting searches together"))
        write_log(folder)
        shutil.rmtree(folder.path / "stage")
        _check_written(counts, files)
        settings = {"click_actions": list(click_actions)}
        return folder.finish("ubi", _notes(names, counts), settings)


def _check_actions(click_actions: Sequence[str]) -> None:
    if not click_actions or not all(click_actions) or IMPRESSION in click_actions:
        raise SettingsError(
            f"--click-action {', '.join(click_actions)!r}: expected names of actions, not {IMPRESSION!r}"
        )


@dataclass
class _Names:
    """Names in the log: actions that are neither click nor impression, applications, object_id_fields."""

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
                if document.kind == QUERY:
                    _stage_query(document, queries, counts)
                else:
                    _stage_event(document, writers, others, names, counts)
    counts["applications"], counts["object_id_fields"] = len(names.applications), len(names.object_id_fields)
    return names


def _stage_query(document: Document, queries: TableWriter, counts: dict[str, int]) -> None:
    counts["queries_read"] += 1
    keys = _keys(document, counts)
    counts["queries_without_id"] += keys[0] is None
    if keys[0] is not None:
        queries.add(*keys, document.hits())


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
    writers[action].add(*_event_row(document, action, application, url, counts))


def _stage_action(document: Document, action: str, others: TableWriter) -> None:
    """Stage an event that says what was done to a result of a search, with the price of a purchase."""
    query_id, url = document.text("query_id"), document.text("event_attributes", "object", "object_id")
    time_ms, _ = document.time_ms()
    if normalise_query(action) == CLICK:  # the user says that it is none, and a run would take it for one
        return
    if query_id is not None and url is not None and time_ms is not None:
        price = document.number("event_attributes", "object", "object_detail", "price")
        others.add(query_id, time_ms, url, action, price if action == PURCHASE else None)


def _event_row(
    document: Document, action: str, application: str, url: str | None, counts: dict[str, int]
) -> tuple[object, ...]:
    """Return a row of `EVENTS`; count the first reason for which it cannot be used."""
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
    return *keys, application, ordinal, url


def _keys(
    document: Document, counts: dict[str, int]
) -> tuple[str | None, int | None, *tuple[str | None, ...]]:
    """Return query_id, milliseconds, query, user_id, client_id, session_id."""
    text = document.text
    time_ms, no_zone = document.time_ms()
    counts["times_without_zone"] += no_zone
    query = normalise_query(text("user_query") or "") or None
    session = text("session_id") or text("event_attributes", "session_id")
    return text("query_id"), time_ms, query, text("user_id"), text("client_id"), session


def _check_events(names: _Names, counts: dict[str, int], files: Sequence[Path]) -> None:
    """Refuse files without UBI in them, and logs whose clicks have another name."""
    where = ", ".join(map(str, files[:3])) + (", …" if len(files) > 3 else "")
    if not counts["events_read"]:
        raise InputError(
            f"{where}: {counts['queries_read']:,} queries and no event; expected documents of ubi_events too"
        )
    if not counts["clicks_read"]:
        actions = Counter(names.other_actions)
        if counts["impressions_read"]:
            actions[IMPRESSION] = counts["impressions_read"]
        raise InputError(
            f"{where}: no event is a click; actions are {_named(actions)}; "
            "name those that are clicks on a result with --click-action"
        )


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
    yield "UBI has no judgments: give some to a run."
    if names.other_actions:
        yield (
            f"Actions that are no clicks: {_named(names.other_actions)}; clicks.parquet has those that name "
            "a search, a result and a time. --click-action names actions that are clicks."
        )
    if counts["purchases_with_price"]:
        yield (
            f"Purchases with a price: {counts['purchases_with_price']:,}; outcomes.parquet has it as "
            "revenue, in the unit of the log (--outcomes)."
        )
    if counts["pages_from_impressions"]:
        yield (
            f"{counts['pages_from_impressions']:,} of {counts['searches']:,} result lists were rebuilt from "
            "impressions: they end with these, or above the first gap; what was shown may have been longer."
        )
    kinds = [name for name in ("user_id", "client_id", "session_id") if counts[f"searches_by_{name}"]]
    if len(kinds) > 1 or kinds == ["session_id"]:
        yield f"Users are identified by {' or '.join(kinds)}: one person may count as several."
    if counts["clicks_at_another_place"]:
        yield (
            f"{counts['clicks_at_another_place']:,} of {counts['clicks_read']:,} clicks have the ordinal of "
            "another result than the one that they name: the name (object_id) decides."
        )
    if len(names.applications) > 1:
        yield f"Clicks and impressions of several applications are in one log: {_named(names.applications)}."
    if len(names.object_id_fields) > 1:
        named = _named(names.object_id_fields)
        yield f"Results are named by several fields: {named}; judgments must name them alike."
    if counts["searches_of_several_queries"]:
        yield "Query_ids with several queries are left out, and their clicks belong to no search."
    if counts["times_without_zone"]:
        yield "Times without a zone were taken as UTC."
