"""Arms of A/B tests, and rankers of results, among the attributes of UBI, however these are written."""

import json

import polars as pl
import pytest

from clickassay.inputs.importers.ubi import import_ubi

EVENTS = [
    {
        "action_name": "click", "query_id": "q1", "timestamp": 1_735_812_005_500, "client_id": "c",
        "event_attributes": json.dumps({"object": {"object_id": "a"}}),
    }
]  # fmt: skip
ARMS = [{"experiment": "ranker", "variant": "control"}, {"experiment": "ranker", "variant": "new"}, None]


def queries(arms):
    return [
        {
            "query_id": f"q{number}", "user_query": "tv", "timestamp": 1_735_812_000_000 + number,
            "client_id": f"c{number}", "query_response_hit_ids": ["a"], "query_attributes": arm,
        }
        for number, arm in enumerate(arms, 1)
    ]  # fmt: skip


def as_records(rows):
    return pl.DataFrame(
        [row | {"query_attributes": {**(row["query_attributes"] or {}), "filters": ["x"]}} for row in rows]
    )


def as_texts(rows):
    return pl.DataFrame([row | {"query_attributes": json.dumps(row["query_attributes"])} for row in rows])


def as_columns(rows):
    frame = pl.DataFrame(rows)
    fields = frame.unnest("query_attributes").select("experiment", "variant")
    return frame.drop("query_attributes").with_columns(
        fields[name].alias(f"query_attributes.{name}") for name in fields.columns
    )


@pytest.mark.parametrize("written", [as_records, as_texts, as_columns])
def test_parquet_names_arms_as_records_text_or_columns(tmp_path, written):
    written(queries(ARMS)).write_parquet(tmp_path / "queries.parquet")
    pl.DataFrame(EVENTS).write_parquet(tmp_path / "events.parquet")
    import_ubi([tmp_path / "queries.parquet", tmp_path / "events.parquet"], out=tmp_path / "out")
    searches = pl.read_parquet(tmp_path / "out" / "searches.parquet")
    assert searches.select("search_id", "variant", "experiment").rows() == [
        ("q1", "control", "ranker"),
        ("q2", "new", "ranker"),
        ("q3", None, None),
    ]


@pytest.mark.parametrize(
    ("arms", "columns"),
    [
        ([{"search_config": "same"}] * 3, set()),
        ([{"search_config": "old"}, {"search_config": "new"}], {"variant"}),
        ([{"experiment": "x"}] * 2, set()),
    ],
)
def test_a_single_configuration_is_no_test(tmp_path, arms, columns):
    rows = [*queries(arms), *EVENTS]
    (tmp_path / "log.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    import_ubi([tmp_path / "log.jsonl"], out=tmp_path / "out")
    found = pl.read_parquet(tmp_path / "out" / "searches.parquet").columns
    assert {"variant", "experiment"} & set(found) == columns


def impressions(rankers):
    """Return an impression of each result of the first query, whose object names a ranker."""
    return [
        EVENTS[0] | {"action_name": "impression", "event_attributes": {
            "object": {"object_id": url} | ranker, "position": {"ordinal": place}, "ab_test_id": 12,
        }}
        for place, (url, ranker) in enumerate(zip("abc", rankers, strict=False), 1)
    ]  # fmt: skip


def flat(row):
    about = row.pop("event_attributes")
    named = {f"event_attributes.object.{name}": value for name, value in about["object"].items()}
    place = {"event_attributes.position.ordinal": about["position"]["ordinal"]}
    return row | named | place | {"event_attributes.ab_test_id": 12}


def texts(row):
    return row | {"event_attributes": json.dumps(row["event_attributes"])}


@pytest.mark.parametrize("written", [dict, flat, texts])
@pytest.mark.parametrize("name", ["search_config", "search_configuration_uuid", "search_configuration_id"])
def test_parquet_names_rankers_as_records_columns_or_text(tmp_path, written, name):
    shown = impressions([{name: "new"}, {name: "old"}, {name: None}])
    pl.DataFrame([written(row) for row in shown]).write_parquet(tmp_path / "impressions.parquet")
    pl.DataFrame(EVENTS).write_parquet(tmp_path / "events.parquet")
    rows = [row | {"query_response_hit_ids": ["b", "a", "c"]} for row in queries([None, None])]
    (tmp_path / "log.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    import_ubi(
        [tmp_path / file for file in ("log.jsonl", "events.parquet", "impressions.parquet")],
        out=tmp_path / "out",
    )
    searches = pl.read_parquet(tmp_path / "out" / "searches.parquet")
    assert searches.select("search_id", "experiment", "teams").rows() == [
        ("q1", "12", ["old", "new", None]), ("q2", None, None),
    ]  # fmt: skip


def test_arms_and_rankers_of_one_log_have_the_names_of_their_tests(tmp_path):
    rows = queries([{"variant": "a"}, {"variant": "b", "experiment": "x"}, {"experiment": "y"}])
    every = [*rows, *EVENTS, *impressions([{"search_config": "TeamB"}])]
    every += [row | {"query_id": "q3"} for row in impressions([{"search_config": "TeamA"}])]
    (tmp_path / "log.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in every))
    found = import_ubi([tmp_path / "log.jsonl"], out=tmp_path / "out")
    searches = pl.read_parquet(tmp_path / "out" / "searches.parquet")
    assert searches.select("search_id", "variant", "experiment", "teams").rows() == [
        ("q1", "a", "variant", ["TeamB"]), ("q2", "b", "x", None), ("q3", None, "y", ["TeamA"]),
    ]  # fmt: skip
    assert found.counts["searches_of_tests"] == found.counts["searches_interleaved"] == 2


def test_clicks_alone_do_not_say_how_a_ranking_was_drafted(tmp_path):
    click = EVENTS[0] | {"event_attributes": {"object": {"object_id": "a", "search_config": "TeamA"}}}
    (tmp_path / "log.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in [*queries([None]), click]))
    found = import_ubi([tmp_path / "log.jsonl"], out=tmp_path / "out")
    assert "teams" not in pl.read_parquet_schema(tmp_path / "out" / "searches.parquet")
    assert any(note.startswith("Clicks name rankers, and impressions do not") for note in found.notes)
