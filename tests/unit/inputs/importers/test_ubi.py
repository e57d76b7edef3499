"""UBI in shapes that the cases do not have: Parquet, nested or flat; other orders; the sample of Chorus."""

import json
from collections import defaultdict

import polars as pl
import pytest
from typer.testing import CliRunner

from clickassay.cli.app import app
from clickassay.core.errors import InputError
from clickassay.inputs.importers.ubi import import_ubi
from support.places import DATA, IMPORTED

CASE = IMPORTED / "ubi" / "pages_from_impressions" / "log.jsonl"
CHORUS = DATA / "chorus_esci_ubi" / "ubi_queries_events.ndjson"

needs_chorus = pytest.mark.skipif(
    not CHORUS.exists(), reason="the sample of Chorus is not next to the checkout"
)

QUERIES = [
    {
        "query_id": "q1",
        "user_query": "tv",
        "timestamp": 1_735_812_000_000,
        "query_response_hit_ids": ["7", "b"],
    },
    {"query_id": "q2", "user_query": "hi fi", "timestamp": 1_735_812_003_000, "query_response_hit_ids": []},
]
EVENTS = [
    {"action_name": "click", "query_id": "q1", "second": 1, "object_id": "7", "ordinal": 1},
    {"action_name": "impression", "query_id": "q2", "second": 3, "object_id": "x", "ordinal": 1},
    {"action_name": "impression", "query_id": "q2", "second": 3, "object_id": "y", "ordinal": 2},
    {"action_name": "click", "query_id": "q2", "second": 4, "object_id": "y", "ordinal": 2},
]


def tables(folder):
    return [pl.read_parquet(folder / f"{name}.parquet").to_dicts() for name in ("searches", "clicks")]


def written(log, documents):
    log.write_text("\n".join(map(json.dumps, documents)), encoding="utf-8")
    return log


def nested(event):
    named = {"object": {"object_id": event["object_id"]}, "position": {"ordinal": event["ordinal"]}}
    return {**event, "event_attributes": named}


SHAPES = {
    "structs": nested,
    "text": lambda event: {**event, "event_attributes": json.dumps(nested(event)["event_attributes"])},
    "dots": lambda event: {
        **event,
        "event_attributes.object.object_id": event["object_id"],
        "event_attributes.position.ordinal.index": event["ordinal"],
    },
}


def exported(folder, shape):
    """Write queries and events as Parquet in a shape; numbers of events lie in columns that hold no null."""
    folder.mkdir()
    pl.DataFrame(QUERIES).with_columns(pl.lit("c").alias("client_id")).write_parquet(folder / "q.parquet")
    rows = pl.DataFrame([SHAPES[shape](event) for event in EVENTS]).with_columns(
        (pl.lit(1_735_812_000_000) + 1000 * pl.col("second"))
        .cast(pl.Datetime("ms", "UTC"))
        .dt.cast_time_unit("ns")
        .alias("timestamp"),
        pl.lit("c").alias("client_id"),
    )
    rows.drop("second", "object_id", "ordinal").write_parquet(folder / "e.parquet")
    return folder


@pytest.mark.parametrize("shape", SHAPES)
def test_a_folder_of_parquet_gives_the_same_log_in_every_shape_of_the_attributes(shape, tmp_path):
    import_ubi([exported(tmp_path / "in", shape)], out=tmp_path / "out")
    searches, clicks = tables(tmp_path / "out")
    assert [(row["search_id"], row["query"], row["results"]) for row in searches] == [
        ("q1", "tv", ["7", "b"]),
        ("q2", "hi fi", ["x", "y"]),
    ]
    assert [(row["search_id"], row["url"], row["timestamp"].second) for row in clicks] == [
        ("q1", "7", 1),
        ("q2", "y", 4),
    ]


def test_neither_the_order_of_lines_nor_the_number_of_files_matters(tmp_path):
    lines = CASE.read_text(encoding="utf-8").splitlines(keepends=True)
    lines = lines[::2] + lines[-1::-2] if len(lines) % 2 == 0 else lines[::-2] + lines[1::2]
    for number in range(3):
        (tmp_path / f"part{number}.jsonl").write_text("".join(lines[number::3]), encoding="utf-8")
    whole = import_ubi([CASE], out=tmp_path / "whole")
    parts = import_ubi([tmp_path / f"part{number}.jsonl" for number in range(3)], out=tmp_path / "parts")
    assert whole.counts == parts.counts
    for name in ("searches", "clicks"):
        file = f"{name}.parquet"
        assert (tmp_path / "whole" / file).read_bytes() == (tmp_path / "parts" / file).read_bytes()


def test_hits_of_a_query_without_text_are_never_those_of_another_query(tmp_path):
    documents = [
        {**QUERIES[0], "user_query": "", "client_id": "c"},
        {**QUERIES[0], "query_response_hit_ids": [], "client_id": "c"},
        nested(EVENTS[0]),
        {**QUERIES[0], "query_id": "q3", "client_id": "c"},
    ]
    imported = import_ubi([written(tmp_path / "log.ndjson", documents)], out=tmp_path / "out")
    assert imported.counts["searches_of_several_queries"] == 1
    assert [row["search_id"] for row in tables(tmp_path / "out")[0]] == ["q3"]


def test_an_empty_folder_is_refused(tmp_path):
    (tmp_path / "in").mkdir()
    with pytest.raises(InputError, match=r"in has no file that ends in \.ndjson"):
        import_ubi([tmp_path / "in"], out=tmp_path / "out")


def test_the_command_tells_counts_and_actions_and_takes_others_as_clicks(tmp_path):
    events = [nested(EVENTS[0]), nested(EVENTS[0] | {"action_name": "tap", "object_id": "b"})]
    documents = [
        QUERIES[0] | {"client_id": "c"},
        *(event | {"timestamp": 1_735_812_001_000} for event in events),
    ]
    log = written(tmp_path / "log.ndjson", documents)

    def told(*options):
        result = CliRunner().invoke(app, ["import", "ubi", str(log), "--quiet", *options])
        assert result.exit_code == 0, result.output
        return result.stdout

    assert "Non-click actions: 'tap' (1)" in told("--out", str(tmp_path / "clicks"))
    told("--out", str(tmp_path / "taps"), "--click-action", "tap")
    clicks = tables(tmp_path / "clicks")[1]
    assert [(row["url"], row["action"]) for row in clicks] == [("7", "click"), ("b", "tap")]
    assert [row["url"] for row in tables(tmp_path / "taps")[1]] == ["b"]


@pytest.fixture(scope="module")
def chorus(tmp_path_factory):
    return import_ubi([CHORUS], out=tmp_path_factory.mktemp("chorus") / "out")


def _documents():
    lines = [json.loads(line) for line in CHORUS.read_text(encoding="utf-8").splitlines()]
    return [
        (action["index"]["_index"], document)
        for action, document in zip(lines[::2], lines[1::2], strict=True)
    ]


@needs_chorus
def test_chorus_has_the_documents_that_its_note_counts(chorus):
    counts = chorus.counts
    assert (counts["queries_read"], counts["events_read"]) == (473, 3_448)
    assert counts["queries_read"] - counts["queries_repeated"] == 284
    reasons = ("of_several_queries", "without_query", "without_results", "without_user", "without_time")
    assert (
        counts["searches"] + sum(counts[f"searches_{reason}"] for reason in reasons)
        == counts["searches_read"]
    )
    assert counts["clicks"] == 287 + 11  # click, item_click


@needs_chorus
def test_lists_of_chorus_are_those_of_a_plain_reading(chorus):
    hits, texts, pages = {}, defaultdict(set), defaultdict(lambda: defaultdict(set))
    for index, document in _documents():
        of = document["query_id"]
        if index == "ubi_queries":
            listed = document.get("query_response_hit_ids") or []
            if listed and document["timestamp"] < hits.get(of, ("9",))[0]:
                hits[of] = (document["timestamp"], listed)
            if listed or document["user_query"]:
                texts[of].add(" ".join(document["user_query"].lower().split()))
        elif document["action_name"] == "impression":
            told = document["event_attributes"]
            pages[of][told["position"]["ordinal"]].add(told["object"]["object_id"])
    expected = {of: listed for of, (_, listed) in hits.items() if len(texts[of]) == 1}
    for of, page in pages.items():
        if of not in hits and len(texts[of]) == 1 and 0 in page:
            assert sorted(page) == [0, 1, 2, 3, 4]
            expected[of] = [next(iter(page[place])) for place in range(5)]
    searches, _ = tables(chorus.folder)
    assert {row["search_id"]: row["results"] for row in searches} == expected
    assert len(expected) == chorus.counts["searches"] == 273
