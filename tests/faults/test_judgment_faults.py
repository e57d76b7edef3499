"""Judgments off the scale, contradicting each other, of no query of the log, of no judge or of several."""

import polars as pl
import pytest

from clickassay.core.errors import JudgmentError
from support.logs import tiny


def judged(*rows: tuple, names: tuple[str, ...] = ("query", "url", "grade")) -> pl.DataFrame:
    return pl.DataFrame(list(rows), schema=list(names), orient="row", strict=False)


def graded(first: object, dtype: pl.DataType = pl.Float64) -> pl.DataFrame:
    """Return the good judgments with another grade in the first row."""
    grades = [first, *tiny.judgments()["grade"].to_list()[1:]]
    return tiny.judgments().with_columns(pl.Series("grade", grades, dtype=dtype, strict=False))


@pytest.mark.parametrize(
    ("grade", "dtype", "words"),
    [
        (5, pl.Int64, ("grade 5 of row 1", "outside 0..4 (--max-grade)")),
        (1_000_000, pl.Int64, ("outside 0..4", "--max-grade")),
        (2**63 - 1, pl.Int64, ("outside 0..4", "--max-grade")),
        (-2, pl.Int8, ("grade -2 of row 1", "outside 0..4")),
        (255, pl.UInt8, ("grade 255 of row 1", "outside 0..4")),
        (2.5, pl.Float64, ("grade 2.5 of row 1", "not a whole number 0..4", "--grade-map 0=0,2=2,2.5=3,4=4")),
        (float("inf"), pl.Float64, ("grade inf of row 1", "outside 0..4")),
        (float("-inf"), pl.Float32, ("outside 0..4",)),
        ("splendid", pl.String, ("grade 'splendid' of row 1", "bad,fair,good,excellent,perfect (found")),
        ("true", pl.String, ("grade 'true'", "not a label of the scale")),
        ("2.5", pl.String, ("grade", "not a whole number")),
        ("-2", pl.String, ("outside 0..4",)),
        ("0x3", pl.String, ("not a label of the scale",)),
    ],
)
def test_a_grade_off_the_scale_is_shown_with_its_row(tmp_path, grade, dtype, words):
    log = tiny.write_log(tmp_path, judgments=graded(grade, dtype))
    line = tiny.refused(log, *words, "'maps'", "1 such rows in total")
    assert tiny.url_of("maps", 0) in line


def test_judgments_without_one_grade_are_refused_with_what_makes_grades(tmp_path):
    log = tiny.write_log(tmp_path, judgments=tiny.judgments().with_columns(grade=pl.lit("refused")))
    words = "or a word such as null or refused", "put the grades in a column `grade`"
    tiny.refused(log, "judgments: none of the 9 rows has a grade", *words)


@pytest.mark.parametrize("dtype", [pl.UInt64, pl.Float32, pl.String])
def test_whole_grades_of_any_type_are_the_same(tmp_path, dtype):
    good = tiny.analysed(tiny.write_log(tmp_path / "good"))
    cast = tiny.write_log(
        tmp_path / "cast", judgments=tiny.judgments().with_columns(pl.col("grade").cast(dtype))
    )
    assert tiny.analysed(cast)["configurations"].equals(good["configurations"])


def test_contradictions_are_listed_when_no_rule_is_chosen(tmp_path):
    again = tiny.judgments().head(1).with_columns(query=pl.lit("  MAPS "), grade=pl.lit(1, pl.Int64))
    frame = pl.concat([tiny.judgments().cast({"grade": pl.Int64}), again])
    log = tiny.write_log(tmp_path, judgments=frame)
    listed = ("1 contradict each other", "has grades 1, ", tiny.url_of("maps", 0))
    tiny.refused(log, *listed, "--conflicts max|mean-rounded|latest")


@pytest.mark.parametrize(
    "frame",
    [
        tiny.judgments().with_columns(url=pl.format("{}/elsewhere", "url")),
        tiny.judgments().with_columns(market=pl.lit("mars")),
        tiny.judgments().clear(),
    ],
    ids=["other results", "another market", "no row"],
)
def test_judgments_of_nothing_that_was_shown_leave_nothing_judged(tmp_path, frame):
    frames = tiny.analysed(tiny.write_log(tmp_path, judgments=frame))
    assert frames["configurations"].is_empty()
    assert frames["statistics"]["coverage"].to_list() in ([0.0], [])


def test_a_hostile_judgment_is_quoted_in_the_message(tmp_path):
    frame = pl.concat([tiny.judgments(), judged(("a\x1b[31m\nb", "u\u202e", 9)).cast({"grade": pl.Int64})])
    with pytest.raises(JudgmentError, match="outside"):
        tiny.analysed(tiny.write_log(tmp_path, judgments=frame))
    line = tiny.refused(tiny.write_log(tmp_path, judgments=frame), "outside 0..4")
    assert line.isprintable()
