"""Parquet whose columns are UUIDs, JSON or intervals: the same tables as of plain text and lists."""

import duckdb
import polars as pl
import pytest

import clickassay as ca
from clickassay.core.errors import InputError
from clickassay.inputs.columns import QUERIES
from clickassay.inputs.tables import read_input
from support.logs import tiny

IDS = "md5(search_id::VARCHAR)::UUID"
PLAIN = "md5(search_id::VARCHAR)::UUID::VARCHAR"
WAYS = {
    "ids as UUID": ({"search_id": IDS}, {"search_id": IDS}),
    "a UUID on one side": ({"search_id": IDS}, {}),
    "a query as a JSON string": ({"query": "to_json(query)"}, {}),
    "results as a JSON array": ({"results": "to_json(results)"}, {}),
    "results as a list of JSON": ({"results": "[to_json(x) FOR x IN results]"}, {}),
    "times and users as JSON numbers": (
        {"timestamp": "to_json(epoch_ms(timestamp))", "user_id": "to_json(user_id)"}, {"url": "to_json(url)"},
    ),
}  # fmt: skip


def written(file, frame, **columns):
    """Write a frame by DuckDB, some columns as expressions of SQL."""
    replaced = ", ".join(f"{expression} AS {name}" for name, expression in columns.items())
    with duckdb.connect() as connection:
        connection.register("rows", frame)
        rows = f"SELECT * REPLACE ({replaced}) FROM rows" if columns else "FROM rows"
        connection.sql(rows).write_parquet(str(file))
    return str(file)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["arrays", "duckdb"])
@pytest.mark.parametrize("way", WAYS)
def test_a_log_of_uuids_and_json_has_the_tables_of_its_texts(tmp_path, way, engine):
    searches, clicks = tiny.searches(), tiny.clicks()
    names = [{"search_id": PLAIN} if "search_id" in columns else {} for columns in WAYS[way]]
    names[1] = names[0]
    tables = {}
    for kind, columns in (("plain", names), ("other", (WAYS[way][0], {**names[1], **WAYS[way][1]}))):
        found = ca.pattern_table(
            written(tmp_path / f"{kind}-searches.parquet", searches, **columns[0]),
            written(tmp_path / f"{kind}-clicks.parquet", clicks, **columns[1]),
            out=tmp_path / kind, depth=3, engine=engine, progress=False,
        )  # fmt: skip
        assert found is not None
        tables[kind] = tiny.patterns(tmp_path / kind), tiny.funnel(tmp_path / kind)
    assert tables["other"] == tables["plain"]


def test_a_list_of_uuids_and_a_field_of_a_record_are_texts(tmp_path):
    file = tmp_path / "searches.parquet"
    duckdb.sql(
        """SELECT i AS search_id, 'u' || i AS user_id, {'text': to_json('lamp')} AS asked,
        i * 1000 + 1714564800000 AS timestamp, [md5('a')::UUID, md5('b')::UUID] AS results
        FROM range(4) t(i)"""
    ).write_parquet(str(file))
    clicks = tmp_path / "clicks.parquet"
    pl.DataFrame({"search_id": [0], "timestamp": [1714564801000], "position": [1]}).write_parquet(clicks)
    found = ca.pattern_table(file, clicks, depth=2, column="searches.query=asked.text", progress=False)
    (row,) = found.configurations.select("query", "results").rows()
    assert row == ("lamp", ["0cc175b9-c0f1-b6a8-31c3-99e269772661", "92eb5ffe-e6ae-2fec-3ad7-1c777531578f"])


def test_judgments_of_uuids_and_json_are_read_by_runs_imports_and_evaluations(tmp_path):
    file = tmp_path / "judgments.parquet"
    duckdb.sql(
        """SELECT to_json('lamp') AS query, md5(d)::UUID AS url, to_json(g) AS grade
        FROM (VALUES ('a', 3), ('b', 0)) t(d, g)"""
    ).write_parquet(str(file))
    best, other = "0cc175b9-c0f1-b6a8-31c3-99e269772661", "92eb5ffe-e6ae-2fec-3ad7-1c777531578f"
    assert ca.evaluate(file, {"lamp": [other, best]}, "RR")["RR"] == 0.5
    tiny.said_by("import", "judgments", file, "--out", tmp_path / "out")
    imported = pl.read_parquet(tmp_path / "out" / "judgments.parquet")
    assert sorted(imported.select("query", "url", "grade").rows()) == [("lamp", best, 3), ("lamp", other, 0)]
    assert "2 rows" in tiny.said_by("inspect", "--judgments", file)


def test_bytes_and_intervals_that_are_needed_are_refused_with_the_cast(tmp_path):
    log = tiny.write_log(tmp_path)
    written(log.searches, tiny.searches(), query="encode(query)")
    tiny.refused(log, "column query of", "is Binary; expected text", "CAST(query AS VARCHAR)")
    written(log.searches, tiny.searches(), query="INTERVAL 3 DAY")
    tiny.refused(log, "column query of", "expected text", "CAST(query AS VARCHAR)")


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["arrays", "duckdb"])
def test_an_interval_that_nobody_reads_changes_nothing(tmp_path, engine):
    plain = tiny.write_log(tmp_path / "plain")
    other = tiny.write_log(tmp_path / "other")
    for name in ("searches", "clicks", "judgments"):
        frame = getattr(tiny, name)()
        with duckdb.connect() as connection:
            connection.register("rows", frame)
            connection.sql("SELECT *, INTERVAL 3 DAY AS stay FROM rows").write_parquet(getattr(other, name))
    made = []
    for log in (plain, other):
        tiny.said_by(*log.options("patterns", out=log.folder / "out"), "--engine", engine)
        made.append(tiny.patterns(log.folder / "out"))
    assert made[0] == made[1]
    run = {query: [tiny.url_of(query, 0)] for query in tiny.QUERIES}
    assert ca.evaluate(other.judgments, run, "P@1")["P@1"] == 1.0
    for arguments in (("inspect", other.judgments), ("import", "judgments", other.judgments)):
        tiny.said_by(*arguments, *(("--out", tmp_path / "i") if arguments[0] == "import" else ()))


def test_an_interval_among_attributes_of_queries_is_refused_with_the_cast(tmp_path):
    with duckdb.connect() as connection:
        rows = connection.sql("SELECT 'maps' AS query, INTERVAL 3 DAY AS age")
        rows.write_parquet(str(tmp_path / "queries.parquet"))
    with pytest.raises(InputError, match=r"queries: column age of .* is an INTERVAL; .*CAST\(age"):
        read_input("queries", tmp_path / "queries.parquet", QUERIES, keep_others=True)


def test_a_relation_of_duckdb_with_an_interval_is_a_frame_like_others():
    rows, clicks = tiny.searches(), tiny.clicks()
    with duckdb.connect() as connection:
        connection.register("rows", rows)
        relation = connection.sql("SELECT *, INTERVAL 3 DAY AS stay FROM rows")
        found = ca.pattern_table(relation, clicks, depth=3, progress=False)
    assert found.configurations.height == 6


def test_a_lazy_frame_of_a_damaged_file_is_refused(tmp_path):
    file = tmp_path / "searches.parquet"
    tiny.searches().write_parquet(file)
    tiny.overwritten(file)
    with pytest.raises(InputError, match="cannot read the given frame"):
        ca.pattern_table(pl.scan_parquet(file), tiny.clicks(), depth=3, progress=False)
