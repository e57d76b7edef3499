"""A sheet of past tests as spreadsheets have it: what is read, and what is refused with which words."""

import numpy as np
import polars as pl
import pytest
from scipy.stats import norm

from clickassay.core.errors import InputError, SettingsError
from clickassay.inputs.frames import Frame
from clickassay.inputs.staging.sql import InputSql
from clickassay.studies.experiments.sheet import read_sheet

HEAD = "experiment,difference,error,NDCG\n"


@pytest.fixture
def read(tmp_path):
    """Return what reads a text as a sheet."""

    def read_text(text, name="tests.csv", **options):
        file = tmp_path / name
        file.write_text(text, encoding="utf-8")
        return read_sheet(str(file), **options)

    return read_text


def test_columns_of_numbers_are_metrics_but_those_of_sizes(read):
    head = "experiment,difference,error,NDCG,ERR@5,users,sessions_control,owner,start,Größe\n"
    found = read(f"{head}a,1,.5,2,3,100,90,Ann,2024-01-01,7\nb,2,.5,,4,100,90,Bob,2024-02-01,8\n")
    assert found.tests.metrics == ("NDCG", "ERR@5", "Größe")
    assert found.ignored == ("users", "sessions_control", "owner", "start")
    np.testing.assert_array_equal(found.tests.values, [[2, 3, 7], [np.nan, 4, 8]])
    assert read(f"{head}a,1,.5,2,3,1,9,Ann,x,7\n", metrics=["users", "NDCG"]).tests.metrics == (
        "users",
        "NDCG",
    )


def test_a_spreadsheet_with_percent_signs_decimal_commas_and_minus_signs(read):
    first, second = '"a";"-2,5 %";"0,5%";"+0,01";35 %', "b;1%;0,25%;-0,02;5%"
    first = first.replace("-", "\N{MINUS SIGN}")
    tests = read(f"experiment;difference;error;NDCG;changed\n{first}\n{second}\n;;;;\n").tests
    assert tests.difference == pytest.approx([-0.025, 0.01])
    assert tests.error == pytest.approx([0.005, 0.0025])
    assert tests.values[:, 0] == pytest.approx([0.01, -0.02])
    assert tests.changed == pytest.approx([0.35, 0.05])


def test_errors_come_from_the_error_the_interval_or_the_p_value(read):
    z = norm.isf(0.025)
    by_error = read(f"{HEAD}a,0.02,0.01,1\n")
    low, high = 0.02 - z * 0.01, 0.02 + z * 0.01
    head = "experiment,difference,ci_low,ci_high,NDCG\n"
    by_interval = read(f"{head}a,0.02,{low},{high},1\n")
    narrow = read(f"{head}a,0.02,{0.02 - 0.01},{0.02 + 0.01},1\n", level=2 * norm.cdf(1) - 1)
    p = 2 * norm.sf(2)
    by_p = read(f"experiment,difference,p_value,NDCG\na,0.02,{p},1\n")
    for found in (by_error, by_interval, narrow, by_p):
        assert (found.tests.error[0], found.tests.p_value[0]) == pytest.approx((0.01, p))
    told = [one.errors_from for one in (by_error, by_interval, by_p)]
    assert told == ["error", "ci_low and ci_high (95%)", "p_value"]


@pytest.mark.parametrize("error", ["", "0", "-0.1", "nan", r"\N"])
def test_a_test_without_a_usable_error_is_kept_and_counted(read, error):
    found = read(f"{HEAD}a,0.02,{error},1\nb,0.01,0.1,2\n")
    assert (found.without_error, found.tests.names) == (1, ("a", "b"))
    assert np.isnan(found.tests.error[0])


def test_p_values_of_0_and_1_are_known_though_they_give_no_error(read):
    found = read("experiment,difference,p_value,NDCG\na,0.02,0,1\nb,0.01,1,2\n")
    assert (found.without_error, list(found.tests.p_value)) == (0, [0, 1])
    assert list(found.tests.moved) == [True, False]


def test_tests_without_a_difference_are_named_and_errors_need_not_be_there(read):
    found = read("experiment,difference,NDCG\na,,1\n2,0.1,2\n3,0.2,1\n")
    assert (found.left_out, found.tests.names, found.errors_from) == (("a",), ("2", "3"), "")
    assert found.without_error == 2


def test_groups_are_ideas_and_a_test_without_one_is_alone(read):
    found = read("experiment,group,difference,NDCG\na,x,1,1\nb,,2,2\nc,x,3,3\n")
    assert found.tests.ideas == ("x", "b", "x")
    assert list(found.tests.groups) == [1, 0, 1]


def test_files_frames_and_sql_are_the_same(read, tmp_path):
    rows = {"test": ["a", "b"], "d": [0.5, 1.0], "error": [0.25, 0.5], "NDCG": [1, None], "owner": ["x", "y"]}
    frame, named = pl.DataFrame(rows), ("past_tests.experiment=test", "past_tests.difference=d")
    frame.write_parquet(tmp_path / "t.parquet")
    frame.write_ndjson(tmp_path / "t.jsonl")
    frame.write_csv(tmp_path / "t.csv")
    sql = InputSql(f"SELECT * FROM '{tmp_path / 't.parquet'}'")
    sources = [str(tmp_path / f"t.{end}") for end in ("parquet", "jsonl", "csv")]
    whole, *others = [
        read_sheet(one, column=named).tests.experiments() for one in (Frame(frame), sql, *sources)
    ]
    assert whole.height == 4
    assert all(whole.equals(one) for one in others)


REFUSED = {
    "experiment,error,NDCG\na,1,1\n": ("difference is missing",),
    "experiment,delta,NDCG\na,1,1\n": ("--column past_tests.difference=delta",),
    f"{HEAD}a,1,1,1\nb,x,1,1\n": ("row 2 (test “b”): difference “x” is not a number",),
    f"{HEAD}a,1,1,1\nb,2,1,n/a\nc,2,1,3\n": ("row 2 (test “b”): NDCG “n/a” is not a number",),
    f"{HEAD}a,1,1,1\nb,2,1,x\n": ("row 2 (test “b”): NDCG “x” is not a number",),
    f"{HEAD}a,1,1,inf\nb,1,1,2\nc,1,1,2\n": ("NDCG “inf” is not a number",),
    f'{HEAD}a,"1,000",1,1\nb,2,1,2\nc,2,1,2\n': ("difference “1,000”",),
    f"{HEAD}a,1,1,1\na,2,1,1\n": ("test “a” is there twice", "row 1 (difference 1)", "row 2 (difference 2)"),
    f"{HEAD}a,1,1,1\n,2,1,1\n": ("row 2 has no experiment",),
    f"{HEAD}a,2%,0.1,1\n": ("difference “2%” has a percent sign and error “0.1” none",),
    f"{HEAD}a,,1,1\n": ("column difference is empty",),
    "experiment,difference,users\na,1,5\n": ("no offline metric", "difference, experiment, users"),
    "experiment,difference,ci_low,NDCG\na,1,0,1\n": ("column ci_high is missing",),
    "experiment,difference,ci_low,ci_high,NDCG\na,1,2,3,1\n": ("is not within ci_low 2 to ci_high 3",),
    "experiment,difference,p_value,NDCG\na,1,1.5,1\n": ("p_value is 1.5",),
    "experiment,difference,changed,NDCG\na,1,35,1\n": ("changed is 35", "percent sign"),
    HEAD: ("no tests",),
}  # fmt: skip


@pytest.mark.parametrize(("text", "words"), REFUSED.items())
def test_bad_input_has_one_clear_message(read, text, words):
    with pytest.raises(InputError) as refused:
        read(text)
    line = str(refused.value)
    assert "\n" not in line
    assert line.startswith("past_tests: ")
    assert "tests.csv" in line
    for word in words:
        assert word in line


def test_a_date_is_no_number_and_names_are_checked(read):
    dates = pl.DataFrame({"experiment": ["a"], "difference": [1.0], "on": [1]}).with_columns(
        pl.col("on").cast(pl.Date)
    )
    with pytest.raises(InputError, match="column on is Date, not numbers"):
        read_sheet(Frame(dates), metrics=["on"])
    with pytest.raises(SettingsError, match="--metric NDGC: no such metric; did you mean NDCG"):
        read(f"{HEAD}a,1,1,1\n", metrics=["NDGC"])
    with pytest.raises(SettingsError, match="--level 95"):
        read(f"{HEAD}a,1,1,1\n", level=95)


@pytest.mark.parametrize("odd", [[[1], [2]], [b"\xff", b"\xfe"], [{"a": 1}, {"a": 2}], [float("nan")] * 2])
def test_columns_of_frames_that_are_no_numbers_are_ignored_or_refused_by_name(odd):
    frame = pl.DataFrame({"experiment": ["a", "b"], "difference": [1e308, 0.1], "error": [0.1, 0.1]})
    frame = frame.with_columns(pl.Series("NDCG", [0.1, 0.2]), pl.Series("odd", odd))
    found = read_sheet(Frame(frame))
    assert (found.tests.metrics, found.ignored) == (("NDCG",), ("odd",))
    assert list(found.tests.moved) == [True, False]
    if not isinstance(odd[0], float):
        with pytest.raises(InputError, match=r"column odd is .*, not numbers"):
            read_sheet(Frame(frame), metrics=["odd"])


def test_a_column_that_may_be_the_error_is_proposed_and_is_no_metric(read):
    told = []
    found = read(
        "experiment,difference,se,NDCG\na,1,1,1\n", progress=lambda event: told.append(event.message)
    )
    assert (found.tests.metrics, found.ignored) == (("NDCG",), ("se",))
    assert any("--column past_tests.error=se" in line for line in told)
