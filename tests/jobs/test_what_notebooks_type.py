"""What is typed in a notebook: frames of every kind, dicts, lists, and names that are nearly right."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import clickassay as ca
from clickassay.measures import NDCG
from support.logs import tiny

QUICK = {**tiny.PYTHON, "depth": 3, "iterations": 10}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Write the tiny log as CSV; return its folder."""
    folder = tmp_path_factory.mktemp("csv")
    lists = [json.dumps(one) for one in tiny.searches()["results"].to_list()]
    tiny.searches().with_columns(results=pl.Series(lists)).write_csv(folder / "searches.csv")
    tiny.clicks().write_csv(folder / "clicks.csv")
    tiny.judgments().write_csv(folder / "judgments.csv")
    return folder


NAMES = ("searches", "clicks", "judgments")


@pytest.fixture(scope="module")
def run(files):
    return ca.run(*(files / f"{name}.csv" for name in NAMES), **QUICK)


@pytest.mark.parametrize(
    ("read", "more"),
    [
        (pd.read_csv, {}),
        (pl.read_csv, {}),
        (pl.scan_csv, {}),
        (lambda file: pa.Table.from_pandas(pd.read_csv(file)), {}),
        (lambda file: pl.read_csv(file).to_dict(as_series=False), {}),
        (lambda file: pl.read_csv(file).to_dicts(), {}),
        (pd.read_csv, {"engine": "duckdb"}),
    ],
)
def test_a_frame_of_a_csv_gives_the_run_of_the_csv(read, more, files, run):
    assert ca.run(*(read(files / f"{name}.csv") for name in NAMES), **QUICK, **more) == run


def test_local_times_of_a_frame_are_of_the_zone_that_is_given():
    searches = tiny.searches().with_columns(pl.col("timestamp").dt.replace_time_zone(None))
    clicks = tiny.clicks().with_columns(pl.col("timestamp").dt.replace_time_zone(None))
    zone = {"time_zone": "Europe/Berlin", "depth": 3, "progress": False}
    as_text = [rows.with_columns(pl.col("timestamp").dt.to_string()) for rows in (searches, clicks)]
    mixed = searches.with_columns(market=pl.lit("x"), page=pl.lit("1"))  # a text beside times
    found = [ca.pattern_table(*log, **zone) for log in ((searches, clicks), as_text, (mixed, clicks))]
    assert found[0] == found[1]
    assert found[2].patterns["sessions"].sum() == found[0].patterns["sessions"].sum()
    assert found[2].health.equals(found[0].health)
    empty = ca.pattern_table(searches, as_text[1].clear(), **zone)
    assert set(empty.patterns["click_mask"]) == {0}


SCALE = ("bad", "fair", "ok", "good", "best")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"scale": dict(zip(SCALE, range(5), strict=True))}, {"scale": SCALE}),
        ({"scale": dict(enumerate(SCALE))}, {"scale": SCALE}),
        ({"scale": [0, 1, 2, 3, 4]}, {"scale": "0,1,2,3,4"}),
        ({"depth": range(2, 4)}, {"depth": "2,3"}),
        ({"depth": np.array([3])}, {"depth": 3}),
        ({"depth": {3}}, {"depth": 3}),
        ({"metric": pd.Series(["RBP(p=0.6)"])}, {"metric": "RBP(p=0.6)"}),
        ({"metric": [NDCG @ 2]}, {"metric": f"{NDCG @ 2}"}),
        ({"health_limit": {"busy_user": "off"}}, {"health_limit": ["busy_user=off"]}),
        ({"column": {"searches": {"query": "q"}}}, {"column": "searches.query=q"}),
        ({"column": {"searches.query": "q"}}, {"column": ["searches.query=q"]}),
    ],
)
def test_settings_are_taken_as_dicts_and_as_what_holds_several_values(one, other):
    log = tiny.searches(), tiny.clicks(), tiny.judgments()
    if "column" in one:
        log = (log[0].rename({"query": "q"}), *log[1:])
    first, second = (ca.run(*log, **QUICK | given, clock="2026-06-30") for given in (one, other))
    assert first.settings == second.settings


S, C, J = tiny.searches(), tiny.clicks(), tiny.judgments()


def ran(*log, **more):
    return ca.run(*log, **QUICK | more)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda: ran(S.rename({"search_id": "request_id"}).with_columns(pl.lit(1).alias("x")), C, J),
            "search_id is missing in .* searches; it has: request_id, user_id, .*, x; ",
        ),
        (lambda: ran(pd.DataFrame({"a": [1]}), C, J), "are missing in the given frame .*it has: a$"),
        (lambda: ran(S, C, J, scores=pl.DataFrame({"q": ["x"]})), "value is missing .*it has: q"),
        (
            lambda: ran(S, C, J, column={"searches.query": "q"}),
            "no column q in the given frame of .*it has: search_id",
        ),
        (lambda: ran(["a.csv", "b.csv"], C, J), "searches: a list with 'a.csv'; give .* glob"),
        (lambda: ran([S, S], C, J), "searches: a list of frames; combine them"),
        (lambda: ran(5, C, J), "searches: int is not a table; give a path"),
        (lambda: ran(S, C, J, scale={"bad": 0, "good": 4}), "a dict needs the grades 0, 1, 2"),
        (lambda: ca.run(None), "searches are missing"),
        (lambda: ca.run(S, C), "a run needs judgments"),
        (lambda: ca.run(S, None, J), "given frame of searches has one row for each search"),
        (lambda: ca.run(S, click=C, judgments=J), r"run\(\): unknown setting click; did you mean clicks"),
        (lambda: ca.run(S, C, qrels=J), "unknown setting qrels; did you mean judgments"),
        (lambda: ca.run(S, C, J, columns={}), "unknown setting columns; did you mean column"),
        (lambda: ca.inspect(S), r"path: found DataFrame.*inspect\(searches="),
        (lambda: ca.open_run(S), "folder: found DataFrame, expected a text or a path"),
        (lambda: ca.diff(S, S), "a run: found DataFrame, expected the result of `run`"),
        (lambda: ca.judges({"a": J, "b": J}, run=ca.open_run), "found function in memory, expected a folder"),
    ],
)
def test_what_cannot_be_taken_is_one_line_that_says_what_to_type(call, words):
    with pytest.raises(ca.ClickassayError, match=words) as found:
        call()
    assert not any(part in str(found.value) for part in ("\n", ".scratch"))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: ca.evaluate({}, run={}), r"evaluate\(\) has no argument run; did you mean runs"),
        (lambda: ca.evaluate({}, {}, metrics="RR"), "no argument metrics; did you mean measures"),
        (lambda: ca.judges([], judges="a"), "no argument judges; did you mean judge"),
        (lambda: ca.power("june", "ERR,DCG"), r"too many .* write power\(run, diff"),
        (lambda: ca.diff("june"), r"missing a required argument: 'now'; write diff\(before, now"),
    ],
)
def test_a_wrong_name_of_an_argument_names_the_right_one(call, words):
    with pytest.raises(TypeError, match=words):
        call()


def test_judges_are_frames_files_and_dicts_side_by_side_in_lists_and_by_name(files):
    model = J.with_columns(grade=pl.lit(2, pl.Int64))
    written = files / "model.csv"
    model.write_csv(written)
    expected = ca.judges([files / "judgments.csv", written], judge=["human", "llm"])
    grades = {query: dict(own.select("url", "grade").iter_rows()) for (query,), own in J.group_by("query")}
    for found in (
        ca.judges({"human": J.to_pandas(), "llm": model.lazy()}),
        ca.judges({"human": grades, "llm": str(written)}),
        ca.judges(J.to_arrow(), model, judge=("human", "llm")),
        ca.judges([J, model], judge=["human", "llm"], grade_map={0: 0, 2: 2, 4: 4}),
    ):
        assert found == expected
    names = ca.judges(J, model).agreement.row(0, named=True)
    assert (names["judge_a"], names["judge_b"]) == ("judge 1", "judge 2")
    both = pl.concat([J.with_columns(judge=pl.lit("human")), model.with_columns(judge=pl.lit("llm"))])
    assert ca.judges(both).agreement.equals(expected.agreement)


def test_evaluation_takes_tables_of_any_library_and_runs_in_a_list():
    qrels, run = {"q": {"a": 2, "b": 0}}, {"q": ["b", "a"]}
    table = pl.DataFrame({"query": "q", "doc": ["a", "b"], "grade": [2, 0]})
    for given in (table.to_arrow(), table.lazy(), table.to_dicts(), table.to_pandas()):
        assert ca.evaluate(given, run, "RR")["RR"] == 0.5
    found = ca.evaluate(qrels, [run, {"q": ["a"]}], "RR")
    assert set(found.means["run"]) == {"run 1", "run 2"}
    words = {"q": {"a": "good", "b": "bad"}}
    for scale in ({"bad": 0, "good": 1}, "bad,good", ["bad", "good"]):
        assert ca.evaluate(words, run, "RR", scale=scale)["RR"] == 0.5


def test_pictures_and_tables_of_a_run_are_found_by_the_names_that_are_at_hand(run):
    assert run.chart("correlations").name == "correlations-0"
    assert run["correlations"].equals(run.correlations)
    with pytest.raises(AttributeError, match="Did you mean correlations"):
        run.correlation  # noqa: B018
    with pytest.raises(ca.ReportError, match="did you mean correlations"):
        run["correlation"]
    assert ca.audit_grades(np.array([3, 2, 0])) == ca.audit_grades([3, 2, 0])
