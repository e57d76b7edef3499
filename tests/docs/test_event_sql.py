"""The SQL for tables of events: searches and clicks as each tool writes them, read as the page says."""

import json
from datetime import UTC, datetime

import polars as pl
import pytest

from clickassay.core.files.scratch import scratch
from clickassay.core.settings import Settings
from clickassay.inputs.staging.sql import InputSql
from clickassay.jobs.inputs import open_log
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


def ga4(folder):
    """Return the ids of the searches; items in no order, other events between."""
    none = {"string_value": None, "int_value": None}
    rows = []
    for number, ((user, query), results) in enumerate(LISTS.items()):
        term = [{"key": "search_term", "value": none | {"string_value": query}}]
        other = [{"key": "ga_session_id", "value": none | {"int_value": 7}}]
        items = [{"item_id": one, "item_list_index": str(place)} for place, one in enumerate(results, 1)]
        at = times(number) * 1000
        rows += [(user, at, "view_item_list", other + term, items[::-1])]
        rows += [(user, at - 5, "page_view", other, []), (user, at + 9, "view_item_list", other, items)]
        rows += [
            (
                user,
                at + (place + 1) * 1_000_000,
                "select_item",
                other,
                [{"item_id": one, "item_list_index": None}],
            )
            for place, one in enumerate(CLICKED[user, query])
        ]
    names = ["user_pseudo_id", "event_timestamp", "event_name", "event_params", "items"]
    (folder / "ga4").mkdir()
    pl.DataFrame(rows, schema=names, orient="row").write_parquet(folder / "ga4" / "events.parquet")
    return [f"{user}/{times(number) * 1000}" for number, (user, _) in enumerate(LISTS)]


def segment(folder):
    """As ga4; a delivery is repeated, and another list is seen and clicked."""
    rows = []

    def track(user, at, event, name, **properties):
        call = {"type": "track", "messageId": name, "userId": None, "anonymousId": user, "timestamp": iso(at)}
        rows.append(call | {"event": event, "properties": properties})

    for number, ((user, query), results) in enumerate(LISTS.items()):
        at = times(number)
        products = [{"product_id": one, "position": place} for place, one in enumerate(results, 1)]
        track(user, at - 50, "Products Searched", f"q{number}", query=query)
        track(user, at, "Product List Viewed", f"l{number}", list_id="search", products=products[::-1])
        track(user, at + 500, "Product List Viewed", f"o{number}", list_id="related", products=products)
        for place, one in enumerate(CLICKED[user, query], 1):
            name = f"c{number}{place}"
            track(user, at + 1000 * place, "Product Clicked", name, list_id="search", product_id=one)
        track(user, at + 9000, "Product Clicked", f"x{number}", list_id="related", product_id="p7")
    lines(folder / "segment" / "calls.jsonl", [*rows, rows[1]])
    return ["l0", "l1"]


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


def snowplow(folder):
    rows = []
    for number, ((user, query), results) in enumerate(LISTS.items()):
        at = times(number)

        def event(at, terms=None, action=None, products=(), user=user, page=f"v{number}"):
            terms, action = terms and {"terms": terms}, action and {"type": action}
            rows.append(([{"id": page}], user, at, terms, action, list(products)))

        products = [{"id": one, "position": place} for place, one in enumerate(results, 1)]
        event(at - 20, terms=query.split())
        event(at, action="list_view", products=products[::-1])
        for place, one in enumerate(CLICKED[user, query], 1):
            event(at + 1000 * place, action="list_click", products=[{"id": one, "position": place}])
        event(at + 3, action="list_view", products=products, page="a page without a search")
    prefix = "com_snowplowanalytics_snowplow"
    names = [
        *(f"contexts_{prefix}_web_page_1", "domain_userid", "derived_tstamp"),
        f"unstruct_event_{prefix}_site_search_1",
        f"unstruct_event_{prefix}_ecommerce_snowplow_ecommerce_action_1",
        f"contexts_{prefix}_ecommerce_product_1",
    ]
    frame = pl.DataFrame(rows, schema=names, orient="row", infer_schema_length=None)
    (folder / "snowplow").mkdir()
    utc = pl.from_epoch("derived_tstamp", "ms").dt.replace_time_zone("UTC")
    frame.with_columns(utc).write_parquet(folder / "snowplow" / "events.parquet")
    return ["v0", "v1"]


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


TOOLS = [ga4, segment, algolia, snowplow, metarank]


@pytest.mark.parametrize("tool", TOOLS)
def test_searches_and_clicks_of_each_tool_are_read(tmp_path, monkeypatch, tool):
    ids = tool(tmp_path)
    monkeypatch.chdir(tmp_path)
    files = [
        InputSql.of(str(EVENTS / f"{tool.__name__}-{what}.sql"), None) for what in ("searches", "clicks")
    ]
    with scratch():
        inputs = open_log(*files, Settings(shape="lists"))
        searches = inputs.searches.frame.collect().sort("timestamp")
        clicks = inputs.clicks.frame.collect().sort("timestamp")
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


def test_every_file_of_sql_is_tested_and_named_on_the_page():
    page = (ROOT / "docs" / "how-to" / "own-log-format.md").read_text(encoding="utf-8")
    files = {file.name for file in EVENTS.iterdir()}
    assert files == {f"{tool.__name__}-{what}.sql" for tool in TOOLS for what in ("searches", "clicks")}
    for tool in TOOLS:
        assert f"events/{tool.__name__}-searches.sql" in page


def test_they_run_from_the_command_line(tmp_path, monkeypatch):
    metarank(tmp_path)
    monkeypatch.chdir(tmp_path)
    files = [f"{EVENTS}/metarank-{what}.sql" for what in ("searches", "clicks")]
    said = tiny.said_by("inspect", "--searches-sql", files[0], "--clicks-sql", files[1], "--depth", 2)
    assert "2 sessions of 2 distinct queries" in said
