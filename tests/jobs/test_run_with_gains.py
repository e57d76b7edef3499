"""A metric whose name holds quotes and blanks, in everything that a run writes and that reads a run."""

import csv
import io

import polars as pl
import pytest

from support.logs import tiny

NAME = "ERR(gains='0 0.1 0.3 0.7 1',utilities='1 0.6 0.4')@3"
OTHER = "ERR(gains='0 0.1 0.3 0.7 1')"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    log = tiny.write_log(tmp_path_factory.mktemp("gains"))
    tiny.said_by(*log.options(), "--metric", NAME, "--metric", OTHER, "--quiet")
    return log.out


def test_the_values_are_those_of_a_plain_loop_in_the_tables_and_the_database(run):
    chances, utilities = (0, 0.1, 0.3, 0.7, 1), (1, 0.6, 0.4)
    rows = pl.read_parquet(run / "configurations.parquet")
    ended = tiny.inside(
        "query", run, f'SELECT "{NAME}" AS value FROM configurations ORDER BY configuration_id', "--csv"
    )
    asked = [float(line) for line in ended.out.split()[1:]]
    stored = rows.sort("configuration_id")
    assert asked == pytest.approx(stored[NAME].to_list())
    for grades, value in stored.select("grades", NAME).iter_rows():
        total, goes_on = 0, 1
        for grade, utility in zip(grades, utilities, strict=True):
            total, goes_on = total + goes_on * chances[grade] * utility, goes_on * (1 - chances[grade])
        assert value == pytest.approx(total, rel=1e-12)


def test_the_report_names_it_whole_in_every_form(run):
    tables = run / "tables"
    with (tables / "table2_correlations.csv").open(encoding="utf-8", newline="") as file:
        assert {NAME, OTHER} <= {row["editorial_metric"] for row in csv.DictReader(file)}
    for text in ((run / "report.md").read_text(), (tables / "letters.tex").read_text()):
        assert NAME in text
        assert OTHER in text
    assert NAME.replace("'", "&#39;") in (run / "report.html").read_text()


def test_diff_takes_it_by_name(run):
    said = tiny.said_by("diff", run, run, "--metric", NAME, "--csv", "--click-metric", "MeanRR")
    found = list(csv.DictReader(io.StringIO(said)))
    assert {row["editorial_metric"] for row in found if row["family"] != "means of click metrics"} == {NAME}


def test_values_that_do_not_fit_end_the_command_before_the_log_is_read(tmp_path):
    log = tiny.write_log(tmp_path)
    (tmp_path / "searches.parquet").write_bytes(b"PAR1 is not enough")
    message = "utilities ends at position 2, but the metric is computed to position 3"
    assert message in tiny.refusal(*log.options(), "--metric", "ERR(utilities='1 0.5')")
    assert not log.out.exists()
