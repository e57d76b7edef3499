"""The picture of two runs as it is drawn: a ring at A, a dot at B, the interval of the change."""

import pytest

from clickassay.findings.estimates import Estimate
from clickassay.report.charts import vega
from clickassay.report.charts.changes import ChangedNumber, changed_numbers
from support.reports.report_svg import Picture
from support.reports.report_world import HOSTILE

ROWS = (
    ChangedNumber("ERR", 0.4, 0.6, Estimate(0.2, 0.1, 0.3), True, "beyond noise"),
    ChangedNumber(HOSTILE, 0.5, 0.45, Estimate(-0.05, -0.15, 0.05), False, "within noise"),
    ChangedNumber("AP", 0.2, 0.3, Estimate(0.1), False, "not tested"),
)


@pytest.fixture(scope="module")
def drawn():
    return changed_numbers(ROWS, head="Metric", axis="Mean over the sessions")


@pytest.fixture(scope="module")
def picture(drawn):
    return Picture(drawn.svg)


def test_a_row_shows_both_values_the_change_its_interval_and_the_test(picture):
    tips = [mark.tip for mark in picture.of("role-mark") if mark.tip]
    assert tips[0] == (
        "Metric: ERR\nRun A: 0.400\nRun B: 0.600\nChange: +0.200\n95 % interval of the change: "
        "0.100 to 0.300\nTest: beyond noise"
    )
    assert "95 % interval of the change: no interval" in tips[2]
    assert len(tips) == len(ROWS)


def test_marks_lie_where_their_numbers_are_on_one_scale(picture):
    intervals, before, after = (picture.layer(number) for number in range(3))
    assert [len(marks) for marks in (intervals, before, after)] == [2, 3, 3]
    zero, pixels = before[0].centre[0], after[0].centre[0] - before[0].centre[0]  # 0.4, and 0.2 more

    def value(x):
        return 0.4 + 0.2 * (x - zero) / pixels

    for row, ring, dot in zip(ROWS, before, after, strict=True):
        assert value(ring.centre[0]) == pytest.approx(row.before, abs=1e-3)
        assert value(dot.centre[0]) == pytest.approx(row.after, abs=1e-3)
        assert ring.centre[1] == pytest.approx(dot.centre[1])
    for row, line in zip(ROWS, intervals, strict=False):
        left, _, right, _ = line.box
        assert value(left) == pytest.approx(row.before + row.change.low, abs=1e-3)
        assert value(right) == pytest.approx(row.before + row.change.high, abs=1e-3)


def test_only_what_is_beyond_noise_has_colour_and_a_ring_is_not_filled(picture):
    _, before, after = (picture.layer(number) for number in range(3))
    assert [mark.element.get("stroke") for mark in before] == [vega.ACCENT, vega.QUIET, vega.QUIET]
    assert [mark.element.get("fill") for mark in before] == [vega.PAGE] * 3
    assert [mark.element.get("fill") for mark in after] == [vega.ACCENT, vega.QUIET, vega.QUIET]


def test_the_axis_has_a_title_and_everything_lies_within_the_picture(picture):
    titles = [mark.text for mark in picture.of("role-axis-title")]
    assert titles == ["Mean over the sessions"]
    for mark in picture.marks:
        if mark.points and mark.seen and not mark.text:
            left, top, right, bottom = mark.box
            assert left >= -1
            assert top >= -1
            assert right <= picture.width + 1
            assert bottom <= picture.height + 1


def test_a_name_of_a_hostile_run_is_text_and_cut(picture):
    labels = [mark.text for mark in picture.of("role-axis-label")]
    assert labels[-2].endswith("…") or HOSTILE.startswith(labels[-2][:5])
    assert picture.root.find(".//{http://www.w3.org/2000/svg}script") is None
