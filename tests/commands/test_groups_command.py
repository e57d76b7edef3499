"""`clickassay groups`: near-duplicates are found in judgments, written as a column, and read by a run."""

import json

import polars as pl
import pytest

from clickassay.jobs.analyse import analyse
from clickassay.jobs.inputs import Sources
from support.logs.tiny import refusal, said_by
from support.places import SAMPLE
from support.runs.given_runs import SETTINGS, patterns


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    """Judgments of ten queries, of which the first four share their results; and a table of two queries."""
    folder = tmp_path_factory.mktemp("judged")
    rows = [
        (f"Query {query}", f"u{result if query < 4 else 100 * query + result}", 1)
        for query in range(10)
        for result in range(5)
    ]
    pl.DataFrame(rows, schema=["query", "url", "grade"], orient="row").write_csv(folder / "grades.csv")
    table = pl.DataFrame({"query": ["query 1", "query 9"], "kind": ["shoes", "=bags"]})
    table.write_csv(folder / "queries.csv")
    return folder


def test_near_duplicates_are_written_beside_what_is_known_of_queries(judged):
    out = judged / "grouped.parquet"
    given = ("--judgments", str(judged / "grades.csv"), "--queries", str(judged / "queries.csv"))
    assert said_by("groups", *given, "--out", str(out)).splitlines()[0] == (
        f"4 of 10 queries are near-duplicates, in 1 group: {out}"
    )
    again = judged / "again.parquet"
    told = json.loads(said_by("groups", *given, "--out", str(again), "--json"))
    assert told == {"file": str(again), "queries": 10, "near_duplicates": 4, "groups": 1}
    assert again.read_bytes() == out.read_bytes()
    rows = pl.read_parquet(out)
    assert rows.columns == ["query", "kind", "group"]
    assert rows.rows()[:2] == [("query 1", "shoes", "query 0"), ("query 9", "=bags", None)]
    assert dict(rows.select("query", "group").drop_nulls().iter_rows()) == dict.fromkeys(
        [f"query {number}" for number in range(4)], "query 0"
    )


def test_a_table_with_groups_and_a_file_that_exists_are_refused_in_one_line(judged):
    given = judged / "given.csv"
    given.write_text("query,group\na,b\n", encoding="utf-8")
    common = ("groups", "--judgments", str(judged / "grades.csv"), "--queries", str(given))
    assert "has a column group already" in refusal(*common, "--out", str(judged / "new.parquet"))
    assert not (judged / "new.parquet").exists()
    assert "give a name that ends in .parquet" in refusal(*common, "--out", str(given))
    (judged / "there.parquet").touch()
    said = refusal(*common[:3], "--out", str(judged / "there.parquet"))
    assert said.rstrip().endswith("there.parquet exists already; choose another --out")  # nothing replaces it


def test_a_run_takes_its_groups_for_units_and_says_nothing_of_near_duplicates(tmp_path):
    queries = pl.read_parquet(SAMPLE["queries"]).with_row_index("n")
    queries.select("query", group=pl.col("n") // 2).write_parquet(tmp_path / "queries.parquet")
    settings = SETTINGS.model_copy(update={"metric": ("ERR",), "click_metric": ("MeanRR",)})
    found = [
        analyse(patterns(), Sources(judgments=SAMPLE["judgments"], queries=table), settings)
        for table in (None, tmp_path / "queries.parquet")
    ]
    alone, grouped = (frames["within"].filter(split="all") for frames in found)
    assert alone["correlation"].to_list() == pytest.approx(grouped["correlation"].to_list(), abs=1e-12)
    assert (alone["ci_low"] != grouped["ci_low"]).all()
    everywhere = grouped.filter(market="all")["n_queries"].unique().to_list()
    assert everywhere[0] < 0.6 * alone.filter(market="all")["n_queries"][0]
    told = ["near_duplicate_queries" in frames["health"]["check"].to_list() for frames in found]
    assert told == [True, False]
