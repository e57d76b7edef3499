"""Ratings become grades by rules that are worked out here by hand, or by the definitions in plain loops."""

import re
import shlex

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from clickassay.core.errors import InputError, SettingsError
from clickassay.core.settings import load_settings
from clickassay.inputs.importers.judgments import COMBINED, RatingOptions, import_judgments, majority
from clickassay.inputs.importers.ratings import ReadOptions
from clickassay.inputs.text.grades import (
    NOT_JUDGED,
    NULL_WORDS,
    REFUSALS,
    grades_of_files,
    parse_cuts,
    parse_grade_map,
    qrels_grade,
    suggestion,
    value_key,
)


def met(*values):
    return {value_key(value): f"file, line {line}" for line, value in enumerate(values, 1)}


def grades_of(places, max_grade=None):
    return grades_of_files([places], [None], max_grade)[0]


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
     (("meh",), "word"), (("-2",), "below 0")],
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
    assert COMBINED["median"](shuffled) == sorted(grades)[(len(grades) - 1) // 2]
    assert min(grades) <= majority(grades) <= max(grades)


numbers = st.floats(0, 100, allow_nan=False).map(lambda number: round(number, 3))


@given(st.lists(numbers, min_size=1, max_size=8, unique=True).map(sorted), numbers)
def test_a_grade_by_cuts_is_how_many_of_them_are_reached(cuts, number):
    grades = parse_cuts(",".join(f"{cut:g}" if cut == int(cut) else repr(cut) for cut in cuts))
    assert grades.grade(value_key(str(number))) == sum(number >= cut for cut in cuts)


@given(
    st.lists(
        st.one_of(numbers.map(str), st.sampled_from(["good", "bad", "1,5", "3,0"])), min_size=1, max_size=60
    )
)
def test_what_is_suggested_can_be_typed_and_has_a_grade_for_every_rating(ratings):
    keys = list(dict.fromkeys(map(value_key, ratings)))
    found = suggestion(keys)
    name, value = shlex.split(found.option)
    numbers = [key for key in keys if key not in ("good", "bad")]
    if name == "--cuts":
        assert [parse_cuts(value).grade(key) for key in numbers] == [
            parse_grade_map(found.grade_map).grade(key) for key in numbers
        ]
    assert all(0 <= parse_grade_map(found.grade_map).grade(key) <= 30 for key in keys)


@given(
    st.sets(st.integers(0, 5), min_size=1).flatmap(
        lambda valid: st.tuples(
            st.just(valid), st.sets(st.sampled_from([7, 10, 50, 100, 1000]), max_size=len(valid))
        )
    ),
    st.sets(st.sampled_from([*NULL_WORDS, *REFUSALS, "-1", "-2", "meh", "1.5", "2,5"])),
)
def test_a_valid_grade_keeps_its_value_in_every_suggestion(whole, odd):
    valid, beyond = whole
    assume(not {*valid, *beyond} <= {0, 1, 3, 7} or not beyond)  # gains 2^grade - 1
    pairs = dict(
        pair.rsplit("=", 1)
        for pair in suggestion([value_key(str(key)) for key in [*valid, *beyond, *odd]]).grade_map.split(",")
    )
    assert {grade: pairs[str(grade)] for grade in valid} == {grade: str(grade) for grade in valid}
    rising = [int(pairs[str(grade)]) for grade in sorted({*valid, *beyond})]
    assert rising == sorted(set(rising))
    assert all(pairs[key] == "none" for key in {*odd} & {*NULL_WORDS[1:], *REFUSALS})
    assert pairs.get("-1", "") == ("" if "-1" not in odd else "?" if "-2" in odd else "none")
    assert pairs.get("-2", "?") == pairs.get("meh", "?") == "?"


@pytest.mark.parametrize(
    ("text", "key", "grade"),
    [("refused=none,1=1", "refused", NOT_JUDGED), ("1=1,-1=NONE", "-1", NOT_JUDGED),
     ("1=1", "-1", NOT_JUDGED), ("1=1", "nan", NOT_JUDGED), ("none=0,some=1", "none", 0),
     ("-1=0,1=1", "-1", 0), ("1=1", "meh", None), ("..0.5=0,0.5..=1", "-1", NOT_JUDGED),
     ("..-0.5=0,-0.5..=1", "-1", 0), ("..0=none,0..=1", "-3", NOT_JUDGED)],
)  # fmt: skip
def test_what_nobody_judged_has_no_grade_unless_the_map_names_it(text, key, grade):
    assert parse_grade_map(text).grade(key) == grade


@pytest.mark.parametrize(
    ("text", "odd"), [("-1=,0=0", "'-1='"), ("0=0,-1=-1,1=1", "'-1=-1'"), ("a=x,b=1", "'a=x'")]
)
def test_a_pair_without_a_grade_swallows_no_other(text, odd):
    with pytest.raises(SettingsError, match=f"found {odd}, expected VALUE=GRADE"):
        parse_grade_map(text)


@pytest.mark.parametrize(
    ("values", "option", "how"),
    [
        (("3.0", "2.5", "0.5", "4.0"), "--grade-map 0.5=1,2.5=3,3=3,4=4", "rounding, halves up"),
        (("0.4", "1.5", "2.0"), "--grade-map 0.4=0,1.5=2,2=2", "rounding, halves up"),
        (("0.12", "0.53"), "--grade-map 0.12=0,0.53=1", "their order"),
        (("0", "1", "10", "100"), "--grade-map 0=0,1=1,10=2,100=3", "their order"),
        (("1,5", "3,0"), "--grade-map 1.5=2,3=3", "rounding"),
        (tuple(str(n / 100) for n in range(101)), "--cuts 0.2,0.4,0.6,0.8", "5 parts of equal width"),
        (tuple(str(n / 10) for n in range(41)), "--cuts 0.5,1.5,2.5,3.5", "rounding, halves up"),
        (("good", "bad"), "--grade-map bad=0,good=2", "usual order"),
        (("meh", "3"), "--grade-map '3=3,meh=?'", "put a grade for each ?, or none where nobody judged"),
        (("3", "1", "-1", "2", "meh"), "--grade-map '1=1,2=2,3=3,meh=?,-1=none'", "put a grade for each ?"),
        (("0", "1", "3", "7", "15"), "--grade-map 0=0,1=1,3=2,7=3,15=4", "gains 2^grade - 1"),
        (("1", "10", "100"), "--grade-map 1=0,10=1,100=2", "their order"),
        (("6", "7", "8", "odd"), "--grade-map '6=6,7=7,8=8,odd=?'", "put a grade"),
    ],
)
def test_suggestions_say_that_they_are_guesses_and_how(values, option, how):
    found = suggestion(list(dict.fromkeys(map(value_key, values))))
    assert found.option == option
    assert how in str(found)


@pytest.mark.parametrize("text", ["1..0=1", "0..2=0,1..3=1", "0..1=0,0..1=1", "1..1=0"])
def test_ranges_that_are_empty_or_overlap_are_refused(text):
    with pytest.raises(SettingsError, match="is empty, or overlaps another"):
        parse_grade_map(text)


@pytest.mark.parametrize("text", ["", "a", "1,1", "2,1", "1,,2", "nan"])
def test_cuts_are_rising_numbers(text):
    with pytest.raises(SettingsError, match="rising numbers"):
        parse_cuts(text)


@pytest.mark.parametrize(
    ("text", "number"), [("3,0", "3"), ("0,25", "0.25"), ("-1,5", "-1.5"), ("1,000", "1,000")]
)
def test_a_comma_is_a_decimal_one_unless_it_may_divide_thousands(text, number):
    assert value_key(text) == number


def test_a_map_takes_values_with_commas():
    assert parse_grade_map("1,000=1,3,0=3, so, so=2").values == {"1,000": 1, "3": 3, "so, so": 2}


@pytest.mark.parametrize(("number", "grade"), [(-99, 0), (-2, 0), (-1, NOT_JUDGED), (0, 0), (4, 4)])
def test_below_0_there_is_one_rule(number, grade):
    assert qrels_grade(number) == grade
