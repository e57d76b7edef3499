"""Arms of A/B tests among the attributes of UBI's queries, however these are written."""

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
