"""Ratings become grades by rules that are worked out here by hand, or by the definitions in plain loops."""

import re

import numpy as np
import pytest

from clickassay.core.errors import InputError
from clickassay.core.settings import load_settings
from clickassay.inputs.importers.judgments.importer import RatingOptions, import_judgments
from clickassay.inputs.importers.judgments.raters import majority, median
from clickassay.inputs.importers.judgments.rating import ReadOptions
from clickassay.inputs.text.grades import grades_of, parse_grade_map, suggestion, value_key


def met(*values):
    return {value_key(value): f"file, line {line}" for line, value in enumerate(values, 1)}


@pytest.mark.parametrize(
    ("text", "key"),
    [("10", "10"), ("10.000", "10"), (" 1e1", "10"), ("0.70", "0.7"), ("-1", "-1"), ("-0.0", "0"),
     ("Good", "good"), ("partly  Good", "partly good"), ("nan", "nan"), ("inf", "inf"), ("1_0", "1_0")],
)  # fmt: skip
def test_ratings_are_told_apart_by_their_number_or_word(text, key):
    assert value_key(text) == key


@pytest.mark.parametrize(
    "values",
    [("0", "1", "2", "3", "4"), ("0", "3"), ("5",), ("0",), tuple(map(str, range(31))), ("6", "7", "8")],
)
def test_whole_numbers_of_a_plausible_scale_are_grades(values):
    assert grades_of(met(*values)) == {value: int(value) for value in values}


@pytest.mark.parametrize(
    ("values", "fault"),
    [(("0", "1", "10", "100"), "gaps"), (("0", "1", "3", "7", "15"), "gaps"), (("0", "6"), "gaps"),
     (("31",), "gaps"), (tuple(map(str, range(32))), "gaps"), (("0", "0.5"), "fraction"),
     (("nan",), "word"), (("-1",), "below 0")],
)  # fmt: skip
def test_what_is_no_grade_is_refused(values, fault):
    with pytest.raises(InputError, match=fault):
        grades_of(met(*values))


def test_a_declared_scale_may_have_gaps_and_an_end():
    assert grades_of(met("0", "9"), max_grade=9) == {"0": 0, "9": 9}
    with pytest.raises(InputError, match=r"line 2: found the rating '9', beyond the scale, expected 0\.\.8"):
        grades_of(met("0", "9"), max_grade=8)


def test_a_map_takes_any_text_on_its_left():
    assert parse_grade_map("Very bad=0, a=b=1,10.0=3").values == {"very bad": 0, "a=b": 1, "10": 3}


@pytest.mark.parametrize("top", [1, 2, 3, 5, 8])
def test_the_note_on_the_scale_has_options_that_a_run_takes(top, tmp_path):
    (tmp_path / "r.csv").write_text(f"query,docid,rating\nq,a,{top}\n")
    read_options, rating_options = ReadOptions(), RatingOptions(max_grade=top)
    imported = import_judgments(
        [tmp_path / "r.csv"], out=tmp_path / "out", read_options=read_options, rating_options=rating_options
    )
    note = next(note for note in imported.notes if "go up to" in note)
    options = re.findall(r"--([a-z-]+) (\d+)", note)
    settings = load_settings(**{name.replace("-", "_"): int(value) for name, value in options})
    assert settings.max_grade == top


def test_a_suggested_map_can_be_given_back_as_it_is():
    keys = ["100", "0", "10", "1"]
    suggested = suggestion(keys).option.removeprefix("--grade-map ")
    assert parse_grade_map(suggested).values == {"0": 0, "1": 1, "10": 2, "100": 3}
    many = [str(n / 10) for n in range(11)]
    option = suggestion([value_key(key) for key in many]).option
    grades = parse_grade_map(option.removeprefix("--grade-map "))
    assert [grades.grade(value_key(key)) for key in many] == [round(4 * n / 10) for n in range(11)]


def grade_most_often_given(grades):
    """Return the majority by its definition: a loop over every grade."""
    middle = sorted(grades)[(len(grades) - 1) // 2]
    best = None
    for grade in sorted(set(grades)):
        rank = (-grades.count(grade), abs(grade - middle), grade)
        best = rank if best is None else min(best, rank)
    return best[2]


@pytest.mark.parametrize("seed", range(50))
def test_majority_and_median_are_those_of_their_definitions_in_any_order(seed):
    rng = np.random.default_rng(seed)
    grades = rng.integers(0, 5, size=rng.integers(1, 8)).tolist()
    shuffled = rng.permutation(grades).tolist()
    assert majority(shuffled) == majority(grades) == grade_most_often_given(grades)
    assert median(shuffled) == sorted(grades)[(len(grades) - 1) // 2]
    assert min(grades) <= majority(grades) <= max(grades)


def test_ties_worked_by_hand():
    assert [majority(g) for g in ([0, 3], [0, 2, 3], [0, 0, 1, 3, 3], [1, 1, 2, 4, 4])] == [0, 2, 0, 1]
    assert [median(g) for g in ([0, 3], [0, 2, 3], [1, 2, 2, 3])] == [0, 2, 2]
