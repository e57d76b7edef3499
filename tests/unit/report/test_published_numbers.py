"""Published results of other logs: what is stored is what was printed, and what it must obey."""

from collections import Counter
from importlib.resources import files

import pytest

from clickassay.core.errors import ReportError
from clickassay.metrics.clicks import CLICK_METRICS
from clickassay.report.published import read as published
from clickassay.report.published.read import known, parse_log, published_log

TEXT = files("clickassay.report.published").joinpath("chapelle2009.toml").read_text(encoding="utf-8")
FIVE = ("DCG", "NDCG", "AP", "RR", "ERR")

# Typed from the paper's tables, not from the stored file: table, market, depth, class, click metric, values
PRINTED = [
    ("2", "market 1", 10, "all", "UCTR", FIVE, (0.028, -0.009, 0.016, 0.156, 0.214)),
    ("2", "market 1", 10, "all", "SS", FIVE, (0.236, 0.156, 0.165, 0.329, 0.384)),
    ("2", "market 2", 10, "all", "MinRR", FIVE, (0.423, 0.346, 0.479, 0.649, 0.712)),
    ("2", "market 2", 10, "all", "SS", FIVE, (0.461, 0.309, 0.249, 0.467, 0.501)),
    ("2", "market 1", 5, "all", "MeanRR", FIVE, (0.220, 0.217, 0.376, 0.395, 0.480)),
    ("2", "market 1", 5, "all", "MinRR", FIVE, (0.235, 0.230, 0.394, 0.414, 0.500)),
    ("2", "market 2", 5, "all", "MaxRR", FIVE, (0.319, 0.253, 0.369, 0.407, 0.493)),
    ("2", "market 2", 5, "all", "PLC", FIVE, (0.334, 0.261, 0.386, 0.424, 0.507)),
    ("3", "market 1", 5, "all", "UCTR", ("AP", "AP(rel=2)", "RR", "RR(rel=2)"), (0.225, 0.004, 0.238, 0.111)),
    ("3", "market 1", 5, "all", "SS", ("AP", "AP(rel=2)", "RR", "RR(rel=2)"), (0.402, 0.335, 0.415, 0.454)),
    ("4", "market 1", 5, "1", "MeanRR", ("DCG", "ERR"), (0.218, 0.525)),
    ("4", "market 1", 5, "4+", "MeanRR", ("DCG", "ERR"), (0.265, 0.361)),
    ("5", "market 1", 5, "true", "MeanRR", ("DCG", "ERR"), (-0.005, 0.222)),
    ("5", "market 1", 5, "false", "MeanRR", ("DCG", "ERR"), (0.104, 0.226)),
    ("6", "market 1", 10, "all", "MeanRR", FIVE, (0.160, 0.156, 0.287, 0.321, 0.391)),
    ("6", "market 1", 5, "all", "MeanRR", FIVE, (0.187, 0.154, 0.284, 0.295, 0.361)),
    ("6", "market 1", 5, "all", "SS", FIVE, (0.348, 0.299, 0.316, 0.321, 0.379)),
]


@pytest.fixture(scope="module")
def log():
    return published_log("chapelle2009")


def lines(log):
    """Return {(table, market, depth, class, click metric): {editorial metric: value}}."""
    found = {}
    for table in log.tables:
        for one in table.values:
            line = (table.number, one.market, one.depth, one.key.class_, one.key.click_metric)
            found.setdefault(line, {})[one.key.editorial_metric] = one.value
    return found


@pytest.mark.parametrize(
    ("table", "market", "depth", "class_", "click", "metrics", "values"),
    PRINTED,
    ids=[" ".join(map(str, row[:5])) for row in PRINTED],
)
def test_a_line_is_what_the_paper_prints(log, table, market, depth, class_, click, metrics, values):
    assert lines(log)[table, market, depth, class_, click] == dict(zip(metrics, values, strict=True))


# Sums of the columns as the paper prints them, so that a slip in a line that is not above shows too
COLUMN_SUMS = [
    ("2", "market 1", 5, (1.350, 1.324, 2.109, 2.210, 2.684)),
    ("2", "market 2", 5, (2.087, 1.650, 2.266, 2.470, 2.939)),
    ("2", "market 1", 10, (0.836, 0.389, 0.682, 1.795, 2.283)),
    ("2", "market 2", 10, (2.456, 1.965, 2.595, 3.611, 3.995)),
    ("3", "market 1", 5, (1.715, 0.455, 1.796, 1.105)),
    ("4", "market 1", 5, (0.924, 1.673)),
    ("6", "market 1", 5, (0.994, 0.816, 1.295, 1.336, 1.636)),
    ("6", "market 1", 10, (0.850, 0.810, 1.269, 1.423, 1.701)),
]


@pytest.mark.parametrize(("table", "market", "depth", "sums"), COLUMN_SUMS)
def test_the_columns_add_up_to_those_of_the_paper(log, table, market, depth, sums):
    found = [
        tuple(values.values()) for line, values in lines(log).items() if line[:3] == (table, market, depth)
    ]
    assert [sum(column) for column in zip(*found, strict=True)] == pytest.approx(sums, abs=1e-9)


def test_the_sizes_are_what_the_paper_prints(log):
    sizes = {(one.market, one.depth): one for one in log.counts.rows}
    assert len(sizes) == len(log.counts.rows) == 4
    first, last = sizes["market 1", 5], sizes["market 2", 10]
    assert (first.queries, first.configurations, first.sessions) == (16_356, 69_846, 72_752_548)
    assert (last.queries, last.configurations, last.sessions) == (543, 26_136, 35_516_572)
    assert sizes["market 1", 10].sessions == 42_442_782
    assert sizes["market 2", 5].sessions == 186_668_363
    shares = [sizes[f"market {market}", depth].coverage for market in (1, 2) for depth in (5, 10)]
    assert shares == [0.058, 0.033, 0.071, 0.014]


def test_every_table_has_as_many_values_as_the_paper(log):
    assert {table.number: len(table.values) for table in log.tables} == {
        "2": 4 * 6 * 5,
        "3": 5 * 4,
        "4": 2 * 4,
        "5": 2 * 2,
        "6": 2 * 5 * 5,
    }


def test_no_value_is_there_twice(log):
    for table in log.tables:
        places = Counter((value.market, value.depth, value.key) for value in table.values)
        assert places.most_common(1)[0][1] == 1, table.number


def test_every_value_is_a_correlation_with_three_decimals_and_a_click_metric_of_ours(log):
    for table in log.tables:
        for one in table.values:
            assert -1 <= one.value <= 1
            assert one.value == round(one.value, 3)
            assert one.key.click_metric in CLICK_METRICS


def test_err_is_highest_in_every_line_of_tables_2_and_6(log):
    full = {line: values for line, values in lines(log).items() if line[0] in ("2", "6")}
    assert len(full) == 4 * 6 + 2 * 5
    for line, values in full.items():
        assert all(values["ERR"] > values[name] for name in FIVE if name != "ERR"), line


def test_good_counted_not_relevant_is_market_1_at_depth_5_of_table_2(log):
    found = lines(log)
    for click in ("UCTR", "MaxRR", "MeanRR", "PLC", "SS"):
        for name in ("AP", "RR"):
            here = found["3", "market 1", 5, "all", click][name]
            assert here == found["2", "market 1", 5, "all", click][name]


def test_deeper_samples_are_smaller(log):
    for market in ("market 1", "market 2"):
        five, ten = (
            one for depth in (5, 10) for one in log.counts.rows if (one.market, one.depth) == (market, depth)
        )
        for size in ("queries", "configurations", "sessions", "coverage"):
            assert getattr(ten, size) < getattr(five, size)


def test_what_is_read_cannot_be_changed(log):
    with pytest.raises(TypeError):
        log.settings["max_grade"] = 1
    with pytest.raises(TypeError):
        log.tables[0].descriptions["AP"] = "else"


def test_an_unknown_name_is_refused_with_the_known_ones():
    with pytest.raises(ReportError, match=r"nobody1999.*known: chapelle2009"):
        published_log("nobody1999")


@pytest.mark.parametrize("name", ["../published/chapelle2009", "chapelle2009.toml", "", "\u202e"])
def test_a_name_is_no_path_and_shows_what_cannot_be_seen(name):
    with pytest.raises(ReportError, match="known: chapelle2009") as caught:
        published_log(name)
    assert "\u202e" not in str(caught.value)


def test_every_file_of_the_folder_can_be_read():
    assert "chapelle2009" in known()
    assert [published_log(name).name for name in known()] == list(known())


def test_another_paper_is_another_file(tmp_path, monkeypatch):
    (tmp_path / "chapelle2009.toml").write_text(TEXT, encoding="utf-8")
    (tmp_path / "about2020.toml").write_text(
        TEXT.replace('label = "Chapelle et al. 2009"', 'label = "About 2020"'), encoding="utf-8"
    )
    (tmp_path / "notes.txt").write_text("no log", encoding="utf-8")
    monkeypatch.setattr(published, "files", lambda _package: tmp_path)
    assert known() == ("about2020", "chapelle2009")
    assert published_log("about2020").label == "About 2020"


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("UCTR = [0.131, 0.108,", "UCTR = [0.108,", r"UCTR has 4 values for 5 editorial metrics"),
        ("UCTR = [0.131,", "UCTR = [1.31,", r"tables\.0\.blocks\.0\.values\.UCTR\.0"),
        ("coverage = 0.058", "coverage = 5.8", r"counts\.rows\.0\.coverage"),
        ("iterations = 1000", "", r"iterations: Field required"),
        ("iterations = 1000", "iterations = 1000\niteration = 7", r"iteration: Extra"),
        ('measures = "difference"', 'measures = "differences"', r"tables\.4\.measures"),
        ("[settings]", "[settings", r"chapelle2009\.toml: .*line"),
    ],
)
def test_a_broken_file_is_refused_with_the_place(old, new, complaint):
    assert old in TEXT
    with pytest.raises(ReportError, match=complaint):
        parse_log("chapelle2009", TEXT.replace(old, new, 1))
