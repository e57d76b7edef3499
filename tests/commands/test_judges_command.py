"""`clickassay judges` as its users meet it."""

import json
import re
import shlex

import polars as pl
import pytest

from support.logs import tiny
from support.places import SAMPLE_LOG
from support.runs.given_runs import judgments, made


@pytest.fixture
def files(tmp_path):
    rows = [(f"q{n // 4}", f"d{n % 4}", n * 7 % 5) for n in range(240)]
    for name, off in (("people", 0), ("model", 1)):
        lines = (f"{q} 0 {d} {min(4, grade + off * (n % 3 == 0))}\n" for n, (q, d, grade) in enumerate(rows))
        (tmp_path / f"{name}.txt").write_text("".join(lines))
    return tmp_path / "people.txt", tmp_path / "model.txt"


def test_it_says_how_far_two_files_agree(files):
    said = tiny.said_by("judges", *files, "-q")
    assert said.startswith("people and model have a quadratic kappa of 0.9")
    assert "On average, model grades higher by 0.2" in said
    assert "How often each grade is given" in said


def test_json_has_the_verdict_and_every_measure(files):
    told = json.loads(tiny.said_by("judges", *files, "--judge", "a", "--judge", "b", "--json"))
    assert told["verdict"].startswith("a and b have")
    assert {row["measure"] for row in told["agreement"]} >= {"kappa", "ac1", "alpha_ordinal"}
    assert all(row["ci_low"] <= row["value"] <= row["ci_high"] for row in told["agreement"])


def test_what_a_judge_says_twice_or_not_at_all_is_counted(tmp_path):
    header, common = "query,url,grade\n", "".join(f"q{n},d,{n % 4}\n" for n in range(8))
    (tmp_path / "people.csv").write_text(f"{header}{common}q0,d,0\nq1,d,3\nq8,d,\n")
    (tmp_path / "model.csv").write_text(f"{header}{common}q8,d,-1\nq9,d,Refused\n")
    files = tmp_path / "people.csv", tmp_path / "model.csv"
    said = tiny.said_by("judges", *files, "-q")
    assert "people judged 2 results more than once, 50" in said
    assert "3 ratings without a grade" in said
    told = json.loads(tiny.said_by("judges", *files, "-q", "--json"))
    again = {"people": {"results": 2, "same_grade": 1, "rule": "first"}}
    assert (told["judged_again"], told["not_judged"]) == (again, 3)


def test_each_file_is_told_its_own_map_and_takes_it(tmp_path):
    people = "".join(f"q{n},d,{n % 4}\n" for n in range(12))
    model = "".join(f"q{n},d,{n % 4 * 33}\n" for n in range(12))
    for name, rows in (("people", people), ("model", model)):
        (tmp_path / f"{name}.csv").write_text("query,url,grade\n" + rows)
    files = tmp_path / "people.csv", tmp_path / "model.csv"
    line = tiny.refusal("judges", *files)
    typed = shlex.split(line.split("in the same order: ")[1].split(" (")[0])
    assert typed == ["--grade-map", "", "--grade-map", "0=0,33=1,66=2,99=3"]
    rows = json.loads(tiny.said_by("judges", *files, *typed, "--json", "-q"))["agreement"]
    assert {row["measure"]: row["value"] for row in rows}["kappa_quadratic"] == 1


def test_the_folder_appears_whole_and_is_replaced_by_force_alone(files, tmp_path):
    out = tmp_path / "out"
    assert tiny.said_by("judges", *files, "-q", "--out", out).endswith(f"Report: {out / 'report.html'}\n")
    assert (out / "to_decide.csv").read_text().startswith("query,url,grade,grade of people,grade of model\n")
    assert "exists already" in tiny.refusal("judges", *files, "--out", out)
    tiny.said_by("judges", *files, "--out", out, "--force")


def test_files_of_one_name_are_judges_by_their_paths_and_none_is_given_twice(files, tmp_path):
    (tmp_path / "other").mkdir()
    again = tmp_path / "other" / "people.txt"
    again.write_text(files[1].read_text())
    rows = json.loads(tiny.said_by("judges", files[0], again, "-q", "--json"))["agreement"]
    assert {(row["judge_a"], row["judge_b"]) for row in rows} == {(str(files[0]), str(again))}
    assert "is given twice; give each once" in tiny.refusal("judges", files[0], files[0])
    assert "one judge; give a file for each judge" in tiny.refusal("judges", files[0])


def test_names_of_judges_clash_with_nothing(files, tmp_path):
    tiny.said_by("judges", *files, "--judge", "query", "--judge", "grade", "--out", tmp_path / "out", "-q")
    head = (tmp_path / "out" / "to_decide.csv").read_text().splitlines()[0]
    assert head == "query,url,grade,grade of query,grade of grade"
    line = tiny.refusal("judges", *files, "--judge", "all", "--judge", "x")
    assert "a judge is called 'all', which stands for all judges; name it by --judge" in line


@pytest.fixture
def asked(files, tmp_path):
    """Options that ask for everything: three rankings, classes of queries, a pattern table."""
    places = [(query, at) for query in range(60) for at in range(4)]
    for name, order in (("one", (0, 1, 2, 3)), ("two", (0, 3, 2, 1)), ("three", (1, 2, 3, 0))):
        lines = (f"q{n} Q0 d{(order[at] + n) % 4} {at + 1} {9 - at} x\n" for n, at in places)
        (tmp_path / f"{name}.txt").write_text("".join(lines))
    kinds = "".join(f"q{n},{'head' if n < 20 else 'tail'},x\n" for n in range(60))
    (tmp_path / "queries.csv").write_text(f"query,kind,note\n{kinds}")
    return [part for name in ("one", "two", "three") for part in ("--rankings", tmp_path / f"{name}.txt")]


def test_rankings_are_compared_under_both_judges(files, asked, tmp_path):
    out = tmp_path / "out"
    said = tiny.said_by("judges", *files, *asked, "-m", "nDCG@3 RR(rel=2)", "-q", "--out", out)
    assert "The orders of 3 rankings under people and model have a tau of" in said
    pairs = pl.read_parquet(out / "ranking_pairs.parquet")
    assert pairs.height == 2 * 3
    values = json.loads(
        tiny.said_by("evaluate", files[1], asked[1], asked[3], "-m", "nDCG@3", "--max-grade", 4, "--json")
    )
    means = {row["run"]: row["mean"] for row in values["means"]}
    own = pairs.filter(pl.col("measure").str.contains("nDCG"), baseline="one", run="two")
    assert own["difference_b"].item() == pytest.approx(means["two"] - means["one"])
    page = (out / "report.html").read_text()
    assert "people and model" in page
    assert "Do they put rankings in the same order?" in page


def test_classes_of_queries_are_compared(files, asked, tmp_path):
    told = json.loads(tiny.said_by("judges", *files, "--queries", tmp_path / "queries.csv", "--json"))
    by = {row["by"]: row for row in told["bias"]}
    assert set(by) == {"mean_grade", "quarter", "kind"}
    assert "no column kinds; did you mean kind" in tiny.refusal(
        "judges", *files, "--queries", tmp_path / "queries.csv", "--by", "kinds"
    )
    assert "--by requires --queries" in tiny.refusal("judges", *files, "--by", "kind")


def test_a_kappa_to_hold_it_against_is_settled_or_says_how_many_queries_would(files):
    assert ") is at least 0.4." in tiny.said_by("judges", *files, "--at-least", 0.4, "-q")
    assert ") is below 0.99." in tiny.said_by("judges", *files, "--at-least", 0.99, "-q")
    open_still = tiny.said_by("judges", *files, "--at-least", 0.93, "-q")
    assert open_still.startswith("Not yet: quadratic kappa 0.9")
    assert " may be above or below 0.93." in open_still
    assert re.search(r"To tell with power 0\.8 \(if kappa is 0\.9\d\), let both judge ", open_still)
    assert "a kappa is -1 to 1" in tiny.refusal("judges", *files, "--at-least", 40)


def test_one_ranking_is_no_order(files, asked):
    assert "--rankings: give two or more rankings" in tiny.refusal("judges", *files, *asked[:2])
    assert "ranking" in tiny.refusal("judges", *files, *asked[:2], *asked[:2])


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    """Judgments of the sample log by people and a careless model, its pattern table, and a run of both."""
    folder = tmp_path_factory.mktemp("log")
    careless = pl.when(pl.int_range(pl.len()) % 3 == 0).then(4 - pl.col("grade")).otherwise("grade")
    sides = {"people": judgments(), "model": judgments().with_columns(grade=careless.cast(pl.Int8))}
    for who, rows in sides.items():
        rows.write_csv(folder / f"{who}.csv")
    inputs = (f"--{name}={path}" for name, path in SAMPLE_LOG.items())
    tiny.said_by("patterns", *inputs, "--depth", 5, "--folds", 8, "--out", folder / "patterns", "-q")
    made(folder / "run", pl.concat(rows.with_columns(judge=pl.lit(who)) for who, rows in sides.items()))
    return folder


def test_clicks_of_a_pattern_table_say_whose_order_they_support(log):
    files = log / "people.csv", log / "model.csv"
    told = json.loads(tiny.said_by("judges", *files, "--run", log / "patterns", "--json", "-q"))
    rows = told["judge_disagreements"]
    assert {(row["judge_a"], row["judge_b"]) for row in rows} == {("model", "people")}
    assert {row["supported"] for row in rows} <= {"people", None}
    assert pl.read_parquet(log / "run" / "judge_disagreements.parquet").to_dicts() == rows
    again = json.loads(tiny.said_by("judges", *files, "--run", log / "run", "--json", "-q"))
    assert again["judge_disagreements"] == rows
    assert again["judge_comparisons"] == told["judge_comparisons"]
    assert "What clicks say" not in tiny.said_by("judges", *files, "-q")


def test_a_run_of_other_judges_is_refused_with_the_remedy(log):
    files = log / "people.csv", log / "model.csv"
    line = tiny.refusal("judges", *files, "--judge", "x", "--judge", "y", "--run", log / "run")
    assert "has the judges model and people, not x and y; give a pattern table of its log" in line


def test_judges_of_two_grades_meet_the_clicks_too(log, tmp_path):
    for name in ("people", "model"):
        rows = pl.read_csv(log / f"{name}.csv").with_columns(grade=(pl.col("grade") > 2).cast(pl.Int8))
        rows.write_csv(tmp_path / f"{name}.csv")
    files = tmp_path / "people.csv", tmp_path / "model.csv"
    told = json.loads(tiny.said_by("judges", *files, "--run", log / "patterns", "--json", "-q"))
    assert told["judge_disagreements"]


def test_classes_may_be_called_as_columns_are_but_not_as_other_groups(files, tmp_path):
    kinds = "".join(f"q{n},{'head' if n < 20 else 'tail'}\n" for n in range(60))
    table = tmp_path / "classes.csv"
    table.write_text(f"query,doc\n{kinds}")
    told = json.loads(tiny.said_by("judges", *files, "--queries", table, "--json"))
    assert {row["part"] for row in told["bias"] if row["by"] == "doc"} == {"head", "tail"}
    table.write_text(f"query,quarter\n{kinds}")
    line = tiny.refusal("judges", *files, "--queries", table)
    assert "column quarter has the name of a group of results; rename it" in line
