"""Judgments: labels, numbers, conflicts and what is counted out, worked by hand."""

import polars as pl
import pytest

from clickassay.core.errors import JudgmentError
from clickassay.core.settings import load_settings
from clickassay.judgments.prepare import prepare_judgments
from support.logs.tiny_table import judgment_rows

LOG_QUERIES = pl.DataFrame({"market": ["uk", "us"], "query": ["q", "r"]})


def prepared(rows, by_market=False, frame=None, **settings):
    frame = judgment_rows(rows) if frame is None else frame
    return prepare_judgments(frame, LOG_QUERIES, load_settings(**settings), by_market=by_market)


def grades_of(judgments):
    return sorted(judgments.grades.select("query", "url", "grade").iter_rows())


def funnel_of(judgments):
    return {
        (step, reason): rows
        for step, reason, rows in judgments.funnel.select("step", "reason", "rows").iter_rows()
    }


@pytest.mark.parametrize(
    ("grade", "expected"),
    [(3, 3), (3.0, 3), ("3", 3), (" 3 ", 3), ("3.0", 3), ("bad", 0), (" Perfect ", 4), ("GOOD", 2)],
)
def test_a_grade_is_a_whole_number_or_a_label(grade, expected):
    assert grades_of(prepared([("q", "a", grade)])) == [("q", "a", expected)]


CONFLICT = [("q", "a", 2), ("q", "a", 1), ("q", "b", 0), ("q", "b", 0), ("q", "b", 1)]


def test_a_long_list_of_contradictions_is_cut():
    rows = [("q", f"u{number}", grade) for number in range(5) for grade in (1, 2)]
    with pytest.raises(JudgmentError, match=r"5 contradict each other: .* and 2 more"):
        prepared(rows)


@pytest.mark.parametrize(
    ("rule", "a", "b"),
    [("max", 2, 1), ("latest", 1, 1), ("mean-rounded", 2, 0)],  # means 1.5 and 1/3
)
def test_a_rule_resolves_conflicts(rule, a, b):
    judgments = prepared(CONFLICT, conflicts=rule)
    assert grades_of(judgments) == [("q", "a", a), ("q", "b", b)]
    counts = {"read": 5, "repeated, same judgment again": 1, f"repeated, another grade: {rule}": 2, "kept": 2}
    assert {", ".join(filter(None, key)): rows for key, rows in funnel_of(judgments).items()} == counts


def test_halves_round_up():
    rows = [
        ("q", url, grade) for url, pair in {"a": (0, 1), "b": (1, 2), "c": (2, 3)}.items() for grade in pair
    ]
    assert [grade for *_, grade in grades_of(prepared(rows, conflicts="mean-rounded"))] == [1, 2, 3]


@pytest.mark.parametrize(("grade", "none"), [("2", " "), (2.0, float("nan"))])
def test_a_blank_or_nan_grade_is_no_grade(grade, none):
    judgments = prepared([("q", "a", grade), ("q", "b", none)], max_rejected=1)
    assert funnel_of(judgments)["not judged", "no grade, -1 or a refusal"] == 1


def test_a_word_that_the_scale_names_is_a_grade():
    judgments = prepared(
        [("q", "a", "None"), ("q", "b", "some"), ("q", "c", "null")],
        scale=("none", "some"), relevant_grade=1, success_grade=1,
    )  # fmt: skip
    assert grades_of(judgments) == [("q", "a", 0), ("q", "b", 1)]
