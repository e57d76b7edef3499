"""The SQL for tables of events: searches and clicks as each tool writes them, read as the page says."""

import json
import re
from datetime import UTC, datetime

import duckdb
import polars as pl
import pytest

from clickassay.core.files.scratch import scratch
from clickassay.core.settings import Settings
from clickassay.inputs.staging.sql import InputSql
from clickassay.jobs.inputs import Sources, open_log
from support.logs import tiny
from support.places import ROOT

EVENTS = ROOT / "docs" / "how-to" / "events"
NOON = 1_767_614_400_000
LISTS = {("ann", "red hat"): ["p3", "p1", "p2"], ("bob", "blue shoes"): ["p9", "p7"]}
CLICKED = {("ann", "red hat"): ["p1", "p2"], ("bob", "blue shoes"): ["p9"]}
"""Two searches, a minute apart, and their clicks, each some seconds later."""


def times(number):
    return NOON + 60_000 * number


def iso(ms):
    return datetime.fromtimestamp(ms / 1000, UTC).isoformat()


def lines(file, rows):
    file.parent.mkdir(exist_ok=True)
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")


def ga4_event(user, at, name, items=(), *, batch=None, **term):
    """Return an event of GA4 at microseconds; items with their item_list_index, search_term by its field."""
    fields = dict.fromkeys(["string_value", "int_value", "float_value", "double_value"])
    params = [{"key": "ga_session_id", "value": fields | {"int_value": 7}}]
    params += [{"key": "search_term", "value": fields | term}] if term else []
    shown = [{"item_id": one, "item_list_index": place} for one, place in items]
    event = {"user_pseudo_id": user, "event_timestamp": at, "event_name": name, "event_params": params}
    return event | {"items": shown} | (batch or {})


def ga4_file(folder, events):
    (folder / "ga4").mkdir()
    pl.DataFrame(events, infer_schema_length=None).write_parquet(folder / "ga4" / "events.parquet")


def segment_file(folder, calls):
    lines(folder / "segment" / "calls.jsonl", calls)


def segment_call(user, at, event, name, *, login=None, **properties):
    call = {"type": "track", "messageId": name, "userId": login, "anonymousId": user, "timestamp": iso(at)}
    return call | {"event": event, "properties": properties}


def algolia(folder):
    responses, events = [], [{"eventType": "view", "timestamp": NOON, "objectIDs": ["p1"], "queryID": None}]
    for number, ((user, query), results) in enumerate(LISTS.items()):
        hits = [{"objectID": one, "title": "x"} for one in results]
        response = {"queryID": f"q{number}", "userToken": user, "query": query, "timestamp": times(number)}
        responses.append(response | {"page": 0, "hits": hits})
        events += [
            {"eventType": "click", "timestamp": times(number) + 1000 * place, "objectIDs": [one],
             "queryID": f"q{number}"}
            for place, one in enumerate(CLICKED[user, query], 1)
        ]  # fmt: skip
    lines(folder / "algolia" / "responses-1.jsonl", responses)
    lines(folder / "algolia" / "events-1.jsonl", events)
    return ["q0", "q1"]


def snowplow_event(user, at, page, terms=None, action=None, products=()):
    prefix = "com_snowplowanalytics_snowplow"
    return {
        f"contexts_{prefix}_web_page_1": [{"id": page}],
        "domain_userid": user,
        "derived_tstamp": at,
        f"unstruct_event_{prefix}_site_search_1": terms and {"terms": terms},
        f"unstruct_event_{prefix}_ecommerce_snowplow_ecommerce_action_1": action and {"type": action},
        f"contexts_{prefix}_ecommerce_product_1": [{"id": one, "position": place} for one, place in products],
    }


def snowplow_file(folder, events):
    (folder / "snowplow").mkdir()
    utc = pl.from_epoch("derived_tstamp", "ms").dt.replace_time_zone("UTC")
    frame = pl.DataFrame(events, infer_schema_length=None).with_columns(utc)
    frame.write_parquet(folder / "snowplow" / "events.parquet")


def metarank(folder):
    rows = [{"event": "item", "id": "i", "item": "p1", "timestamp": str(NOON), "fields": []}]
    for number, ((user, query), results) in enumerate(LISTS.items()):
        ranking = {"event": "ranking", "id": f"r{number}", "timestamp": str(times(number)), "user": user}
        fields = [{"name": "source", "value": "search"}, {"name": "query", "value": query}]
        rows.append(ranking | {"fields": fields, "items": [{"id": one} for one in results]})
        for place, (one, type_) in enumerate(
            [*((one, "click") for one in CLICKED[user, query]), ("p7", "cart")], 1
        ):
            told = {"event": "interaction", "id": f"c{number}{place}", "ranking": f"r{number}", "user": user}
            rows.append(told | {"timestamp": str(times(number) + 1000 * place), "type": type_, "item": one})
    lines(folder / "metarank" / "events.jsonl", rows)
    return ["r0", "r1"]


WITH_LISTS = {"algolia": algolia, "metarank": metarank}
"""Tools that name the search of a click."""

TOOLS = {*WITH_LISTS, "ga4", "growthbook", "segment", "snowplow"}


def read(tool, folder, monkeypatch):
    """Return searches and clicks of a tool in canonical types."""
    monkeypatch.chdir(folder)
    files = [InputSql.of(str(EVENTS / f"{tool}-{what}.sql"), None) for what in ("searches", "clicks")]
    with scratch():
        inputs = open_log(Sources(*files), Settings(shape="lists"))
        return [one.frame.collect().sort("timestamp") for one in (inputs.searches, inputs.clicks)]


@pytest.mark.parametrize("tool", WITH_LISTS)
def test_searches_and_clicks_of_each_tool_are_read(tmp_path, monkeypatch, tool):
    ids = WITH_LISTS[tool](tmp_path)
    searches, clicks = read(tool, tmp_path, monkeypatch)
    assert searches["search_id"].cast(pl.String).to_list() == ids
    assert searches.select("user_id", "query").rows() == list(LISTS)
    assert searches["results"].to_list() == list(LISTS.values())
    assert searches["timestamp"].to_list() == [times(0), times(1)]
    wanted = [
        (ids[number], times(number) + 1000 * place, one)
        for number, urls in enumerate(CLICKED.values())
        for place, one in enumerate(urls, 1)
    ]
    assert clicks.select(pl.col("search_id").cast(pl.String), "timestamp", "url").rows() == wanted


ZMA, CHAIRS = ["z", "m", "a"], ["c1", "c2"]
S = 1_000_000
"""A second of GA4."""


def shown(ids, first=1, kind=str):
    return [(one, kind(place)) for place, one in enumerate(ids, first)]


def batch(page, event):
    return {"batch": {"batch_page_id": page, "batch_event_index": event}}


def ga4_list(at, items, term, **more):
    name = {int: "int_value", float: "double_value", str: "string_value"}[type(term)]
    return ga4_event("ann", at * 1000, "view_item_list", items, **{name: term}, **more)


def ga4_click(at, item, **more):
    return ga4_event("ann", at * 1000, "select_item", [(item, None)], **more)


def viewed(at, name, products, *, to="search", **more):
    told = [
        {"product_id": one} if place is None else {"product_id": one, "position": place}
        for one, place in products
    ]
    return segment_call("ann", at, "Product List Viewed", name, list_id=to, products=told, **more)


def asked(at, name, query):
    return segment_call("ann", at, "Products Searched", name, query=query)


def clicked(at, name, product, *, to="search", **more):
    return segment_call("ann", at, "Product Clicked", name, list_id=to, product_id=product, **more)


def page(at, *, terms=None, action=None, products=()):
    return snowplow_event("ann", at, "v", terms, action, products)


UNPLACED = [(one, None) for one in ZMA]
D = ["d1", "d2", "d3", "d4", "d5", "d6"]
CUP, MUG = ["c1", "c2", "c3"], ["m1", "m2", "m3"]
ODD = {
    "ga4: what has no term is no search, and items come in any order": (
        "ga4", [
            ga4_list(0, shown(ZMA)[::-1], "lamp"), ga4_event("ann", 5, "page_view"),
            ga4_event("ann", 9, "view_item_list", shown(ZMA)), ga4_click(5000, "z"),
        ], [("lamp", ZMA)], [("lamp", "z")],
    ),
    "ga4: a click is of the list that its user saw": (
        "ga4", [
            ga4_list(0, shown(ZMA), "lamp"), ga4_click(5000, "z"),
            ga4_event("bob", S, "view_item_list", shown(CHAIRS), string_value="chair"),
        ], [("lamp", ZMA), ("chair", CHAIRS)], [("lamp", "z")],
    ),
    "segment: another list and its clicks are of no search, and a repeated delivery is none": (
        "segment", [
            asked(0, "1", "lamp"), viewed(100, "2", shown(ZMA)[::-1]), viewed(100, "2", shown(ZMA)[::-1]),
            viewed(500, "3", shown(CHAIRS), to="related"), clicked(5000, "4", "z"),
            clicked(9000, "5", "c1", to="related"),
        ], [("lamp", ZMA)], [("lamp", "z")],
    ),
    "ga4: without an index the order of the array is the order shown": (
        "ga4", [ga4_list(0, UNPLACED, "lamp"), ga4_click(5000, "z")], [("lamp", ZMA)], [("lamp", "z")],
    ),
    "ga4: an index that is not set is none": (
        "ga4", [ga4_list(0, [(one, "(not set)") for one in ZMA], "lamp"), ga4_click(5000, "a")],
        [("lamp", ZMA)], [("lamp", "a")],
    ),
    "ga4: terms that are numbers are text": (
        "ga4", [ga4_list(0, shown(ZMA), 1984), ga4_click(5000, "m"), ga4_list(9000, shown(CHAIRS), 7.5)],
        [("1984", ZMA), ("7.5", CHAIRS)], [("1984", "m")],
    ),
    "ga4: a list in pieces is one, a repeated delivery none, a list seen again another": (
        "ga4", [
            ga4_list(100, shown(D[3:], first=4), "desk"), ga4_list(0, shown(D[:3]), "desk"),
            ga4_list(200, shown(D[3:], first=4), "desk"), ga4_click(5000, "d2"),
            ga4_list(60_000, shown(D[:3]), "desk"), ga4_click(65_000, "d3"),
        ], [("desk", D), ("desk", D[:3])], [("desk", "d2"), ("desk", "d3")],
    ),
    "ga4: two lists of one time are two, in the order of the file": (
        "ga4", [ga4_list(0, shown(CUP), "cup"), ga4_list(0, shown(MUG), "mug"), ga4_click(5000, "m1")],
        [("cup", CUP), ("mug", MUG)], [("mug", "m1")],
    ),
    "ga4: events of one time are in the order of their batch": (
        "ga4", [
            ga4_click(0, "c2", **batch(5, 2)), ga4_list(0, shown(MUG), "mug", **batch(5, 3)),
            ga4_list(0, shown(CUP), "cup", **batch(5, 1)), ga4_click(0, "m1", **batch(6, 1)),
        ], [("cup", CUP), ("mug", MUG)], [("cup", "c2"), ("mug", "m1")],
    ),
    "ga4: a click after no list stays": (
        "ga4", [ga4_click(0, "z"), ga4_list(1000, shown(ZMA), "lamp")], [("lamp", ZMA)], [(None, "z")],
    ),
    "segment: without a position the order of the array is the order shown": (
        "segment", [asked(0, "1", "lamp"), viewed(100, "2", UNPLACED), clicked(5000, "3", "z")],
        [("lamp", ZMA)], [("lamp", "z")],
    ),
    "segment: lists that come before their searches": (
        "segment", [
            viewed(0, "1", shown(ZMA)), asked(50, "2", "lamp"), viewed(60_000, "3", shown(CHAIRS)),
            asked(60_050, "4", "chair"), clicked(65_000, "5", "c1"),
        ], [("lamp", ZMA), ("chair", CHAIRS)], [("chair", "c1")],
    ),
    "segment: a search at each key, and a page two": (
        "segment", [
            asked(0, "1", "la"), viewed(200, "2", shown(CHAIRS)), asked(300, "3", "lamp"),
            viewed(500, "4", shown(ZMA)), viewed(60_000, "5", shown(CHAIRS)),
        ], [("la", CHAIRS), ("lamp", ZMA), ("lamp", CHAIRS)], [],
    ),
    "segment: a login changes no user, and a click after no list stays": (
        "segment", [
            clicked(0, "0", "z"), asked(50, "1", "lamp"), viewed(100, "2", shown(ZMA)),
            clicked(9000, "3", "m", login="u"),
        ], [("lamp", ZMA)], [(None, "z"), ("lamp", "m")],
    ),
    "snowplow: without a position the order of the array is the order shown": (
        "snowplow", [
            page(0, terms=["lamp"]), page(50, action="list_view", products=UNPLACED),
            page(5000, action="list_click", products=[("z", None)]),
        ], [("lamp", ZMA)], [("lamp", "z")],
    ),
    "snowplow: two searches of one page view are two, whichever event came first": (
        "snowplow", [
            page(0, terms=["red", "chair"]), page(50, action="list_view", products=shown(CHAIRS, kind=int)),
            page(90, action="list_view", products=[("offer", 1)]),
            page(180_000, action="list_view", products=shown(ZMA, kind=int)), page(180_050, terms=["sofa"]),
            page(240_000, action="list_click", products=[("m", 2)]),
        ], [("red chair", CHAIRS), ("sofa", ZMA)], [("sofa", "m")],
    ),
}  # fmt: skip
"""Events at milliseconds of one user; the searches with their lists, and the queries of the clicks."""


@pytest.mark.parametrize("what", ODD)
def test_events_as_sites_send_them_are_read(tmp_path, monkeypatch, what):
    tool, events, lists, clicked = ODD[what]
    {"ga4": ga4_file, "snowplow": snowplow_file, "segment": segment_file}[tool](tmp_path, events)
    searches, clicks = read(tool, tmp_path, monkeypatch)
    assert searches.select("query", "results").rows() == lists
    assert searches["search_id"].is_unique().all()
    ids = {"ga4": r"(ann|bob)/\d+", "segment": r"\d", "snowplow": r"v/\d+"}
    assert all(re.match(ids[tool], one) for one in searches["search_id"])
    assert searches["timestamp"].max() <= 180_050
    queries = dict(searches.select("search_id", "query").iter_rows())
    assert [(queries.get(id_), url) for id_, url in clicks.select("search_id", "url").iter_rows()] == clicked
    assert clicks["search_id"].null_count() == 0


def test_events_without_a_user_are_counted(tmp_path, monkeypatch):
    nobody = [
        ga4_event(None, at * S, "view_item_list", shown(items), string_value="lamp")
        for at, items in enumerate([ZMA, CHAIRS])
    ]
    other = ga4_event("bob", 0, "select_item", [("z", None)])
    events = [*nobody, ga4_event(None, 5 * S, "select_item", [("z", None)]), other]
    at = 1_767_571_200
    own = [ga4_list(at * 1000, shown(ZMA), "lamp"), ga4_click(at * 1000 + 5000, "m")]
    ga4_file(
        tmp_path, [event | {"event_timestamp": event["event_timestamp"] + at * S} for event in events] + own
    )
    monkeypatch.chdir(tmp_path)
    files = [f"{EVENTS}/ga4-{what}.sql" for what in ("searches", "clicks")]
    options = ("--depth", 3, "--max-rejected", 1, "--out", "table")
    tiny.said_by("patterns", "--searches-sql", files[0], "--clicks-sql", files[1], *options)
    funnel = pl.read_parquet(tmp_path / "table" / "funnel.parquet")
    rows = {
        (source, reason): number
        for source, reason, number in funnel.select("source", "reason", "rows").rows()
    }
    assert rows["searches", "null user_id"] == 2
    assert rows["clicks", "null search_id"] == rows["clicks", "no usable search"] == 1


def test_every_file_of_sql_is_tested_and_named_on_the_page():
    page = (ROOT / "docs" / "how-to" / "own-log-format.md").read_text(encoding="utf-8")
    files = {file.name for file in EVENTS.iterdir()}
    needed = {f"{tool}-{what}.sql" for tool in TOOLS for what in ("searches", "clicks")}
    assert files == needed | {"growthbook-assignments.sql"}
    assert all(f"events/{name}" in page for name in files)


def test_first_exposures_of_growthbook_are_assignments(tmp_path):
    ann, bob = ("ann", "2026-01-05 10:00:00", "ranker"), ("bob", "2026-01-05 12:00:00", "ranker")
    later = ("ann", "2026-01-06 10:00:00", "ranker"), ("bob", "2026-01-07 12:00:00", "ranker")
    other = ("ann", "2026-01-05 10:00:00", "facets")
    exposures = [(*ann, "0"), (*later[0], "0"), (*bob, "1"), (*later[1], "0"), (*other, "1")]
    with duckdb.connect(str(tmp_path / "events.duckdb")) as connection:
        connection.execute(
            "CREATE TABLE exposures(user_id TEXT, timestamp TIMESTAMP, experiment_id TEXT, variation_id TEXT)"
        )
        connection.executemany("INSERT INTO exposures VALUES (?, ?, ?, ?)", exposures)
    log = tiny.write_log(tmp_path)
    sql = InputSql.of(str(EVENTS / "growthbook-assignments.sql"), tmp_path / "events.duckdb")
    with scratch():
        given = open_log(Sources(log.searches, log.clicks, assignments=sql), Settings()).assignments
    rows = given.rows.select("user_id", "experiment", "variant", "timestamp", "until").sort(pl.all())
    assert rows.rows() == [
        ("ann", "facets", "1", NOON - 7_200_000, None),
        ("ann", "ranker", "0", NOON - 7_200_000, None),
        ("bob", "ranker", "0", NOON + 2 * 86_400_000, None),
        ("bob", "ranker", "1", NOON, None),
    ]


@pytest.mark.parametrize(
    ("item", "ranker"), [("itemId", "ranker"), ("itemId", "variation"), ("item_id", "ranker")]
)
def test_drafts_of_growthbook_are_searches_whose_results_have_a_ranker(tmp_path, item, ranker):
    names = {0: 0, 1: 1} if ranker == "variation" else {0: "old", 1: "new"}

    def items(*drafted):
        shown = [{item: one, ranker: names[by], "competitive": True} for one, by in drafted]
        return json.dumps([*shown, {item: "pinned"}])

    first, second = items(("p3", 1), ("p1", 0)), items(("p9", 0), ("p7", 1))
    exposures = [
        ("ann", "2026-01-05 12:00:05", "mix", "r0", items(("p4", 0))),  # the second page of a draft
        ("ann", "2026-01-05 12:00:00", "mix", "r0", first),
        ("bob", "2026-01-05 12:01:00", "mix", "r1", second),
        ("bob", "2026-01-05 12:01:00", "mix", None, second),
    ]
    engagements = [("ann", "2026-01-05 12:00:09", "r0", "p1"), ("ann", "2026-01-05 12:00:10", None, "p1")]
    with duckdb.connect(str(tmp_path / "events.duckdb")) as connection:
        for table, columns, rows in (
            (
                "exposures",
                "user_id TEXT, timestamp TIMESTAMP, experiment_id TEXT, ranking_id TEXT, items TEXT",
                exposures,
            ),
            ("engagements", "user_id TEXT, timestamp TIMESTAMP, ranking_id TEXT, item_id TEXT", engagements),
            ("queries", "ranking_id TEXT, query TEXT", [("r0", "red hat"), ("r1", "blue shoes")]),
        ):
            connection.execute(f"CREATE TABLE {table}({columns})")
            marks = ", ".join("?" * len(rows[0]))
            connection.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)
    files = [
        InputSql.of(str(EVENTS / f"growthbook-{what}.sql"), tmp_path / "events.duckdb")
        for what in ("searches", "clicks")
    ]
    with scratch():
        inputs = open_log(Sources(*files), Settings())
        searches, clicks = (one.frame.collect().sort("timestamp") for one in (inputs.searches, inputs.clicks))
    old, new = str(names[0]), str(names[1])
    assert searches.select(
        "search_id", "user_id", "query", "timestamp", "results", "experiment", "teams"
    ).rows() == [
        ("r0", "ann", "red hat", NOON, ["p3", "p1", "pinned"], "mix", [new, old, None]),
        ("r1", "bob", "blue shoes", times(1), ["p9", "p7", "pinned"], "mix", [old, new, None]),
    ]
    assert clicks.select("search_id", "timestamp", "url").rows() == [("r0", NOON + 9000, "p1")]
