"""Joins of a log of four rows: nothing in common is a finding, with one name of each side on the screen."""

import polars as pl
import pytest

from support.logs import tiny
from support.logs.small_logs import click, search, write_rows

SEARCHES = [search(n, 60 * n, ["11", "12"], query="lamp", user=n) for n in range(4)]
CLICKS = [click(n, 60 * n + 5, str(11 + n % 2)) for n in range(4)]
JUDGMENTS = [{"query": "lamp", "url": "11", "grade": 3}, {"query": "lamp", "url": "12", "grade": 0}]


def ended(folder, *, searches=SEARCHES, clicks=CLICKS, judgments=JUDGMENTS, queries=None, more=()):
    """Exit code and output of a run."""
    paths = write_rows(folder / "log", searches=searches, clicks=clicks)
    given = [f"--{name}={path}" for name, path in paths.items()]
    for name, rows in {"judgments": judgments, "queries": queries}.items():
        if rows is not None:
            pl.DataFrame(rows).write_csv(folder / f"{name}.csv")
            given.append(f"--{name}={folder / name}.csv")
    found = tiny.inside(
        "run", *given, "--depth=2", "--iterations=5", "--out", folder / "run", "--quiet", *more
    )
    assert not found.err
    return found.code, found.out


def spelled(rows, name, form):
    return [row | {name: form(row[name])} for row in rows]


def test_a_small_log_without_a_fault_says_which_checks_could_not_speak(tmp_path):
    code, said = ended(tmp_path)
    assert code == 0
    assert "no fault found" not in said
    assert "Data checks: 12 passed, 22 skipped (4 of 50 clicks, 4 of 1,0" in said


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ("{}.0".format, "“11”, and its click is on “11.0”: they differ in leading zeros or a final .0"),
        ("00{}".format, "“11”, and its click is on “0011”: they differ in leading zeros or a final .0"),
        ("'{}'".format, "“11”, and its click is on “'11'”: they differ in blanks or quotes"),
        ("x{}".format, "“11”, and its click is on “x11”."),
    ],
)
def test_clicks_that_are_all_on_no_result_are_a_finding_with_a_pair(tmp_path, form, words):
    code, said = ended(tmp_path, clicks=spelled(CLICKS, "url", form))
    assert code == 1
    assert "100.0% (4 of 4) of the clicks are outside the first 2 results" in said
    assert f"For example, search “0” shows {words}" in said


def test_clicks_that_all_name_no_search_are_a_finding_with_a_pair(tmp_path):
    code, said = ended(tmp_path, clicks=spelled(CLICKS, "search_id", lambda number: number + 100))
    assert code == 1
    assert "100.0% (4 of 4) of the clicks name an unknown search_id." in said
    assert "a click names search “100”; an existing search is “0”." in said


@pytest.mark.parametrize(
    ("form", "name", "is_alike"),
    [
        ("{}.0".format, "11.0", True),
        ("00{}".format, "0011", True),
        ("'{}'".format, "'11'", True),
        ("x{}".format, "x11", False),
    ],
)
def test_judgments_of_no_result_are_a_finding_with_a_pair_and_no_advice_to_judge(
    tmp_path, form, name, is_alike
):
    code, said = ended(tmp_path, judgments=spelled(JUDGMENTS, "url", form))
    assert code == 1
    assert "Finding: Rankings of their queries show none of 2 judged results." in said
    assert f"“{name}” is judged, and “11” is shown{': they differ in' if is_alike else '.'}" in said
    assert "To judge first" not in said
    assert bool(proposed(tmp_path)) != is_alike


def proposed(folder):
    return pl.read_parquet(folder / "run" / "next_judgments.parquet").rows()


def test_judgments_and_attributes_of_no_query_are_a_finding_with_a_pair(tmp_path):
    code, said = ended(
        tmp_path,
        judgments=spelled(JUDGMENTS, "query", lambda _: "chair"),
        queries=[{"query": "sofa", "a": 1}],
    )
    assert code == 1
    assert "Finding: The log contains none of 1 judged query. For example, “chair” is judged; the " in said
    assert "contains none of 1 query with attributes. For example, “sofa” has attributes; the log" in said
    assert "Judge these first" not in said


@pytest.mark.parametrize("lost", [1, 3])
def test_a_part_of_few_rows_that_is_lost_is_no_finding(tmp_path, lost):
    clicks = [*spelled(CLICKS[:lost], "url", "{}.0".format), *CLICKS[lost:]]
    judgments = [*spelled(JUDGMENTS[:1], "url", "{}.0".format), *JUDGMENTS[1:]]
    _, said = ended(tmp_path, clicks=clicks, judgments=judgments, more=["--unjudged", "zero"])
    assert "Finding: " not in said
    assert proposed(tmp_path) == []  # 11 is judged, as 11.0


def test_a_lowest_grade_that_is_not_used_is_a_caution_and_the_remedy_is_right(tmp_path):
    rows = spelled(JUDGMENTS, "grade", lambda grade: grade + 1)
    code, said = ended(tmp_path / "wrong", judgments=rows, more=["--max-grade", "5"])
    assert code == 0
    assert "Caution: The grades seen are 1 and 4; the scale begins at 0" in said
    assert "set --scale 1,2,3,4,5, or" in said
    _, said = ended(tmp_path / "right", judgments=rows, more=["--scale", "1,2,3,4,5"])
    assert "Caution" not in said
    ended(tmp_path / "from 0", judgments=JUDGMENTS)
    right, same = (
        pl.read_parquet(tmp_path / name / "run" / "configurations.parquet") for name in ("right", "from 0")
    )
    assert right.equals(same)
