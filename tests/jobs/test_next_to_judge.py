"""What to judge next: judging what is proposed has the predicted effect."""

import math

import polars as pl
import pytest

from clickassay.core.contracts.judgments import NEXT_JUDGMENTS
from clickassay.core.settings import load_settings
from clickassay.inputs.columns import JUDGMENTS
from clickassay.inputs.tables import collected, read_input
from clickassay.jobs.analyse import analyse
from clickassay.jobs.inputs import Sources
from clickassay.jobs.patterns import log_to_patterns
from clickassay.judgments.next_to_judge import next_judgments
from clickassay.metrics.scoring import formed_sessions
from clickassay.patterns.lists import log_lists
from support.logs.small_logs import simulated
from support.logs.tiny_table import judgment_rows, prepared, table_of

SETTINGS = load_settings(iterations=10, click_models=("NONE",), depth=[3, 6])


def proposed(depth, *, table=None, rows=None, by_market=False, **more):
    table = table_of() if table is None else table
    judgments = prepared(table, rows, by_market=by_market)
    formed = formed_sessions(table.funnel)
    return next_judgments(log_lists(table.staged()), judgments, formed, judge="all", depth=depth, **more)


def test_a_result_that_completes_a_list_is_worth_its_sessions():
    (row,) = proposed(3).filter(goal="coverage").iter_rows(named=True)
    assert (row["query"], row["urls"], row["labels"], row["sessions"]) == ("q", ["d"], 1, 5)
    assert row["coverage"] == (6 + 5) / 23
    assert row["width"] == 1  # it is the only judged query before and after
    (row,) = proposed(2).filter(goal="interval").iter_rows(named=True)
    assert (row["query"], row["urls"]) == ("r", ["y"])
    # q has 11 judged sessions of two lists; r would have 7
    assert row["width"] == pytest.approx(math.sqrt((11**2 + 7**2) / 18**2))


def test_nothing_is_proposed_where_everything_is_judged_and_no_width_where_nothing_is():
    assert proposed(1).is_empty()
    none = judgment_rows([("other", "a", 1)])
    found = proposed(3, rows=none)
    assert found["goal"].unique().to_list() == ["coverage"]
    assert found["width"].is_null().all()


def test_lists_of_a_query_are_taken_as_long_as_a_label_gives_more_sessions():
    lists = [("all", "q", "ab"), ("all", "q", "ac"), ("all", "q", "de")]
    table = table_of(lists, [{0: 10}, {0: 9}, {0: 8}], stored_depth=2)
    (row,) = proposed(2, table=table, rows=judgment_rows([("z", "z", 1)])).iter_rows(named=True)
    # a b: 10 sessions for 2; with a c 19 for 3; with d e 27 for 5
    assert (row["urls"], row["labels"], row["sessions"]) == (["a", "b", "c"], 3, 19)


def test_lists_with_a_result_that_is_judged_in_another_form_are_not_proposed():
    lists = [("all", "q", "ab"), ("all", "q", "ac"), ("all", "r", "de")]
    table = table_of(lists, [{0: 10}, {0: 9}, {0: 8}], stored_depth=2)
    rows = judgment_rows([("q", "a", 1)])

    def found(*spelled):
        forms = pl.DataFrame(spelled, schema={"query": pl.String, "url": pl.String}, orient="row")
        rest = proposed(2, table=table, rows=rows, in_other_form=forms).filter(goal="coverage")
        return {(row["query"], *row["urls"]) for row in rest.iter_rows(named=True)}

    assert found() == {("q", "b"), ("r", "d", "e")}
    assert found(("q", "b")) == {("q", "c"), ("r", "d", "e")}
    assert found(("r", None)) == {("q", "b")}
    assert found(("other", "d"), ("q", "c")) == {("q", "b"), ("r", "d", "e")}


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    folder = tmp_path_factory.mktemp("next")
    paths = simulated(folder / "log", searches=4_000, queries=30)
    whole = pl.read_parquet(paths["judgments"])
    some = whole.filter(pl.int_range(pl.len()) % 4 != 1)
    some.write_parquet(folder / "some.parquet")
    table = log_to_patterns(Sources(paths["searches"], paths["clicks"]), SETTINGS)
    return table, folder


def analysed(log, judgments):
    table, folder = log
    judgments.write_parquet(folder / "now.parquet")
    return analyse(table, Sources(judgments=folder / "now.parquet"), SETTINGS)


@pytest.mark.parametrize("goal", ["coverage", "interval"])
@pytest.mark.parametrize("rank", [1, 4, 15])
def test_judging_what_is_proposed_brings_the_coverage_and_width_that_are_predicted(log, goal, rank):
    known = pl.read_parquet(log[1] / "some.parquet")
    before = analysed(log, known)
    cell = {"market": "north", "depth": 3}
    rows = before["next_judgments"].filter(**cell, goal=goal).filter(pl.col("rank") <= rank)
    assert rows.height == rank
    new = rows.select("query", pl.col("urls").alias("url")).explode("url")
    assert new.height == rows["labels_so_far"][-1]
    more = new.with_columns(grade=pl.lit(1, known.schema["grade"]))
    after = analysed(log, pl.concat([known, more.select(known.columns)]))
    told = rows.row(-1, named=True)
    assert after["statistics"].filter(**cell)["coverage"][0] == pytest.approx(told["coverage"])
    widths = [effective(frames, cell) for frames in (before, after)]
    assert widths[1] / widths[0] == pytest.approx(told["width"])


def effective(frames, cell):
    """1 / sqrt of the queries that weights are worth."""
    of_queries = frames["configurations"].filter(**cell).group_by("query").agg(pl.col("n_sessions").sum())
    weights = of_queries["n_sessions"].to_list()
    return math.sqrt(math.fsum(w * w for w in weights)) / math.fsum(weights)


def test_rows_are_in_the_form_of_the_contract_and_worth_less_and_less(log):
    tables = analysed(log, pl.read_parquet(log[1] / "some.parquet"))
    found = tables["next_judgments"]
    assert found.equals(NEXT_JUDGMENTS.canonical(found))
    assert set(found["query"]) <= set(tables["queries"]["query"])
    of_coverage = found.filter(goal="coverage").with_columns(ratio=pl.col("sessions") / pl.col("labels"))
    for _, part in of_coverage.group_by("market", "depth"):
        assert part.sort("rank")["ratio"].is_sorted(descending=True)
        assert part["urls"].list.n_unique().equals(part["labels"].cast(pl.UInt32).rename("urls"))


def test_judgments_of_a_market_complete_that_market_alone():
    table = table_of([("n", "q", "ab"), ("s", "q", "ac")], [{0: 4}, {0: 6}], stored_depth=2)
    rows = judgment_rows([("q", "a", 1), ("q", "b", 1)], market=["n", "s"])
    found = proposed(2, table=table, rows=rows, by_market=True).filter(goal="coverage")
    assert dict(found.select("market", "urls").iter_rows()) == {"n": ["b"], "s": ["a", "c"]}


def test_each_judge_has_proposals_of_its_own(log):
    known = pl.read_parquet(log[1] / "some.parquet")
    two = pl.concat([known.with_columns(judge=pl.lit("a")), known.head(40).with_columns(judge=pl.lit("b"))])
    two.write_parquet(log[1] / "two.parquet")
    assert collected(read_input("judgments", log[1] / "two.parquet", JUDGMENTS)).height == two.height
    found = analysed(log, two)["next_judgments"]
    assert found["judge"].unique().sort().to_list() == ["a", "b"]
