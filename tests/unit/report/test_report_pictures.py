"""Pictures as they are drawn: what the marks show, where they lie, which colours they have."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from clickassay.core.text.words import visible
from clickassay.findings.estimates import Estimate
from clickassay.report.charts import vega
from clickassay.report.charts.lines import ChangedNumber, changed_numbers
from clickassay.report.charts.marks import (
    IntervalHeads,
    bars,
    click_rates,
    common_domain,
    decile_lines,
    heat_map,
    histogram_2d,
    intervals,
)
from clickassay.report.charts.overview import Bar, Overview, Status
from clickassay.report.model import Figure
from support.reports.report_runs import RUNS, report_of, settings_with
from support.reports.report_svg import Picture
from support.reports.report_tables import HOSTILE, run_tables

PALETTE = {
    vega.INK, vega.MUTED, vega.RULE, vega.QUIET, vega.PAGE, vega.ACCENT, vega.TINT, vega.WARM, vega.WARM_TINT,
}  # fmt: skip
STYLE = Path(vega.__file__).parents[1] / "templates" / "report.css"
MINUS = "\N{MINUS SIGN}"
LETTER = 6
"""Pixels of an average character at 12 pixels."""

HEADS = IntervalHeads("Correlation")
WITHOUT_A_PICTURE = ("nothing kept", "one configuration", "empty")
"""Runs whose first screen has none."""


def first_screen(label):
    bars = [
        Bar(label, Estimate(0.1, 0.0, 0.2), Status.BETTER, ("0.5",)),
        Bar("other", Estimate(0.0), Status.REFERENCE, ("0.4",), is_baseline=True),
    ]
    return Overview(bars, label, 0.05, (label,))


@pytest.fixture(scope="module")
def figures():
    """All of a full page; the picture of the first screen in both its forms."""
    report = report_of(run_tables(), settings_with(full=True, current="NDCG"))
    (first,) = report.overview
    narrow = replace(first, name="overview-narrow", drawing=first.narrow)
    return [
        first,
        narrow,
        *report.second,
        *(figure for section in report.sections for figure in section.every_figure),
        Figure("two-runs", "Two runs", "Numbers of run A and run B.", two_runs(), "means"),
    ]


@pytest.fixture(scope="module")
def pictures(figures):
    return {figure.name: Picture(figure.drawing.svg) for figure in figures}


def lines_of(row, titles):
    """What a row of data shows when it is pointed at."""
    return "\n".join(
        f"{title}: {row[name]}".replace(":  ", ": ") for name, title in titles.items() if row[name]
    )


# ---- every picture ----------------------------------------------------------------------------
def test_every_picture_has_a_name_of_its_own_and_words_that_stand_in_for_it(figures, pictures):
    assert len(figures) > 25
    assert len(pictures) == len(figures)
    for figure in figures:
        assert pictures[figure.name].root.tag.endswith("svg")
        assert len(figure.alt) > 20
        assert figure.alt.endswith(".")


def test_the_marks_with_a_tip_show_exactly_the_rows_that_are_there(figures, pictures):
    for figure in figures:
        # a picture of deciles shows the metric that it is of; the others are drawn in grey for comparison
        rows = [row for row in figure.drawing.rows if row.get("main", True)]
        tips = [mark.tip for mark in pictures[figure.name].with_tip]
        assert tips
        assert tips == [lines_of(row, figure.drawing.titles) for row in rows], figure.name


def test_marks_without_a_tip_are_hidden_from_screen_readers(pictures):
    for picture in pictures.values():
        for mark in picture.of("role-mark"):
            assert mark.hidden == (mark.tip is None), mark.tip


def test_everything_is_drawn_within_the_picture(pictures):
    for name, picture in pictures.items():
        for mark in [mark for mark in picture.marks if mark.seen]:
            for x, y in mark.points:
                assert -0.51 <= x <= picture.width + 0.51, (name, mark.group, x)
                assert -0.51 <= y <= picture.height + 0.51, (name, mark.group, y)


def test_every_axis_of_numbers_has_a_title(figures, pictures):
    for figure in figures:
        picture = pictures[figure.name]
        labels = picture.of("role-axis-label")
        ticks = [mark for mark in labels if re.fullmatch(rf"{MINUS}?[\d.]+", mark.text)]
        sides = {mark.element.get("text-anchor") for mark in ticks}  # below the plot, left of it
        titles = picture.of("role-axis-title")
        assert len(titles) == len(sides), figure.name
        assert all(mark.text.strip() for mark in titles)


def test_labels_fit_into_the_picture_next_to_each_other(pictures):
    for name, picture in pictures.items():
        for mark in [mark for mark in picture.marks if mark.name == "text" and "title" not in mark.group]:
            lines = [line.text or "" for line in mark.element] or [mark.text]
            long = LETTER * max(map(len, lines))
            part = {"start": 0, "middle": 0.5, "end": 1}[mark.element.get("text-anchor")]
            left = mark.points[0][0] - part * long
            assert left >= -1, (name, mark.text)
            assert left + long <= picture.width + 1, (name, mark.text)


def test_no_picture_fetches_anything_or_brings_a_style_or_an_id_of_its_own(figures, pictures):
    for figure in figures:
        names = {name for mark in pictures[figure.name].marks for name in mark.element.keys()}  # noqa: SIM118
        assert names.isdisjoint({"style", "href", "id", "clip-path", "filter", "mask"})
        assert not [name for name in names if name.startswith(("on", "{"))]
        assert "url(" not in figure.drawing.svg


def colours(pictures):
    """Pairs of fill or stroke and the colour of what can be seen."""
    return {
        (way, mark.element.get(way))
        for picture in pictures
        for mark in picture.marks
        for way in ("fill", "stroke")
        if mark.seen and mark.element.get(way) not in (None, "none")
    }


def every_kind_of_picture():
    """Pictures with every colour that is ever used: negative values, hollow dots, warm bars."""
    found = {"A": Estimate(-0.2, -0.3, -0.1), "B": Estimate(0.0, -0.1, 0.1)}
    rates = [{"label": "x", "share": 0.5, "average": 0.2, "alone": alone} for alone in (True, False)]
    return [
        heat_map({("c", name): one for name, one in found.items()}, ["c"], list(found)),
        intervals(list(found), found, HEADS, domain=(-1, 1), diamonds={"A": 0.1}, hollow=("B",)),
        bars([("a", 1, 1.0, True), ("b", 1, 0.5, False)]),
        click_rates(rates, {"label": "Shown"}),
        decile_lines({"A": {1: found["A"], 2: found["B"]}, "B": {1: found["B"]}}, "A", domain=(-1, 1)),
    ]


def test_the_style_sheet_maps_each_colour_that_is_drawn_to_one_of_the_light_and_the_dark_page(pictures):
    drawn = colours([*pictures.values(), *(Picture(one.svg) for one in every_kind_of_picture())])
    assert {colour for _, colour in drawn} == PALETTE
    style = STYLE.read_text(encoding="utf-8")
    light, dark = (dict(re.findall(r"--([\w-]+): (#\w+);", block)) for block in style.split("@media")[:2])
    assert set(light) == set(dark)
    rules = re.findall(r'^\.chart \[(\w+)="(#\w+)"\] \{ (\w+): var\(--([\w-]+)\); \}$', style, re.MULTILINE)
    mapped = {(way, colour): light[name] for way, colour, also, name in rules if way == also}
    assert len(mapped) == len(rules)
    for pair in drawn:
        assert mapped[pair] == pair[1], pair


def test_no_rule_of_the_page_but_those_for_marks_meets_a_class_of_a_picture(pictures):
    classes = {
        name
        for picture in pictures.values()
        for mark in picture.marks
        for name in (mark.element.get("class") or "").split()
    }
    selectors = set(re.findall(r"\.([a-zA-Z][\w-]*)", STYLE.read_text(encoding="utf-8")))
    assert "role-mark" in classes
    assert classes & selectors == {"role-mark"}


@pytest.mark.parametrize("name", RUNS)
def test_every_figure_leads_to_the_table_that_has_its_numbers(pages, written, name):
    page = pages[name]
    targets = [attrs["href"] for parent, attrs in page.links if parent == "p" and attrs.get("class") is None]
    drawn_twice = [value for _, key, value in page.attributes if (key, value) == ("class", "chart narrow")]
    assert len(targets) == page.tags.count("figure") == page.tags.count("svg") - len(drawn_twice)
    first_screen = [*written[name][0].overview, *written[name][0].second]
    assert len(drawn_twice) == len(first_screen)
    assert bool(first_screen) == (name not in WITHOUT_A_PICTURE)
    assert {target.removeprefix("#") for target in targets} <= set(page.ids)


@pytest.mark.parametrize("draw", [
    lambda text: bars([(text, 3, 0.5, True)]),
    lambda text: click_rates([{"label": text, "share": 0.1, "average": 0.1, "alone": True}], {"label": text}),
    lambda text: heat_map({(text, text): Estimate(0.5)}, [text], [text]),
    lambda text: intervals([text], {text: Estimate(0.5, 0.4, 0.6)}, HEADS, domain=(0, 1)),
    lambda text: first_screen(text).draw(),
    lambda text: first_screen(text).draw_narrow(),
])  # fmt: skip
def test_foreign_text_in_a_picture_is_text_and_nothing_else(draw):
    drawing = draw(visible(HOSTILE))
    plain = draw("plain")
    assert "<script" not in drawing.svg
    marks = Picture(drawing.svg).marks
    assert {mark.name for mark in marks} <= {*(mark.name for mark in Picture(plain.svg).marks), "tspan"}
    assert any("<script>" in (mark.tip or "") for mark in marks)
    keys = {key for mark in marks for key in mark.element.keys()}  # noqa: SIM118 - not a dict
    assert not [key for key in keys if key.startswith(("on", "href"))]


# ---- bars -------------------------------------------------------------------------------------
def widths(marks):
    return [right - left for left, _, right, _ in (mark.box for mark in marks)]


def test_bars_are_as_long_as_their_share_and_what_is_left_out_is_grey():
    rows = [
        ("read", 40, 1.0, True),
        ("lost", 10, 0.25, False),
        ("none", 0, 0.0, False),
        ("all", 0, None, True),
    ]
    picture = Picture(bars(rows).svg)
    tracks, parts = picture.layer(0), picture.layer(1)
    assert widths(tracks) == pytest.approx([330] * 4)
    assert widths(parts) == pytest.approx([330, 82.5, 0, 0], abs=1e-6)
    drawn = [mark.element.get("fill") for mark in parts]
    assert drawn == [vega.ACCENT, vega.QUIET, vega.QUIET, vega.ACCENT]
    assert [mark.tip for mark in picture.with_tip] == [
        "Step: read\nRows: 40  (100.0%)",
        "Step: lost\nRows: 10  (25.0%)",
        "Step: none\nRows: 0  (0.0%)",
        "Step: all\nRows: 0",
    ]


def test_labels_of_bars_are_cut_before_they_meet_the_numbers():
    picture = Picture(bars([("w" * 300, 1_234_567_890, 1.0, True)]).svg)
    left, right = (picture.layer(number)[0] for number in (2, 3))
    assert left.text.endswith("…")
    assert LETTER * (len(left.text) + len(right.text)) < 330
    assert "w" * 300 in picture.with_tip[0].tip


def test_click_rates_have_a_tick_at_the_average_and_the_colour_of_their_place():
    values = [
        {"label": "alone", "share": 0.6, "average": 0.3, "alone": True},
        {"label": "below", "share": 0.02, "average": 0.15, "alone": False},
    ]
    picture = Picture(click_rates(values, {"label": "Shown"}).svg)
    assert widths(picture.layer(1)) == pytest.approx([0.6 * 330, 0.02 * 330])
    assert [mark.element.get("fill") for mark in picture.layer(1)] == [vega.ACCENT, vega.WARM]
    assert [mark.centre[0] for mark in picture.layer(2)] == pytest.approx([0.3 * 330, 0.15 * 330])
    assert [mark.text for mark in picture.layer(4)] == ["60.0%", "2.0%"]


# ---- heat map ---------------------------------------------------------------------------------
CLICKS, METRICS = ("UCTR", "PLC"), ("DCG", "AP(rel=2)", "ERR")
FOUND = {
    ("UCTR", "DCG"): Estimate(0.25, 0.2, 0.3),
    ("UCTR", "AP(rel=2)"): Estimate(-0.75),
    ("UCTR", "ERR"): Estimate(0.5),
    ("PLC", "DCG"): Estimate(None, reason="no variance"),
    ("PLC", "AP(rel=2)"): Estimate(-1.0),
    ("PLC", "ERR"): Estimate(-0.1),
}


def test_a_cell_of_the_heat_map_shows_its_number_and_is_as_strong_as_it():
    picture = Picture(heat_map(FOUND, CLICKS, METRICS).svg)
    cells, words = picture.layer(0), picture.layer(1)
    values = [0.25, -0.75, 0.5, None, -1.0, -0.1]
    assert [word.text for word in words] == [
        *("0.250", f"{MINUS}0.750", "0.500", "\N{EN DASH}", f"{MINUS}1.000", f"{MINUS}0.100")
    ]
    for cell, word, value in zip(cells, words, values, strict=True):
        left, top, right, bottom = cell.box
        assert left < word.points[0][0] < right
        assert top < word.points[0][1] < bottom
        expected = 0.04 + 0.96 * abs(value or 0)
        assert float(cell.element.get("fill-opacity")) == pytest.approx(expected, abs=1e-9)
        warm = value is not None and value < 0
        assert cell.element.get("fill") == (vega.WARM_TINT if warm else vega.TINT)
    bold = [word.text for word in words if word.element.get("font-weight") == "bold"]
    assert bold == ["0.500", f"{MINUS}0.100"]  # the highest of each row, even below zero


def test_cells_stand_in_the_column_and_row_of_their_heads():
    picture = Picture(heat_map(FOUND, CLICKS, METRICS).svg)
    heads = {mark.text: mark.points[0] for mark in picture.of("role-axis-label")}
    assert list(heads) == ["DCG", "AP(rel=2)", "ERR", "UCTR", "PLC"]
    for cell in picture.with_tip:
        click, metric = (line.split(": ")[1] for line in cell.tip.split("\n")[:2])
        left, top, right, bottom = cell.box
        assert left < heads[metric][0] < right
        assert top < heads[click][1] < bottom
    tips = [mark.tip for mark in picture.with_tip]
    assert [line.partition("No value: ")[2] for line in tips] == ["", "", "", "no variance", "", ""]


# two that begin alike, one that does not, one that fits
LONG = (
    "ERR(gains='0 0.1 0.3 0.7 1')",
    "ERR(gains='0 0.1 0.3 0.8 1')",
    "NDCG(gains='0 1 2 3 4')",
    "RR(rel=2)",
)


def test_columns_of_long_names_stay_distinct_and_show_the_whole_name():
    values = {("PLC", name): Estimate(value) for name, value in zip(LONG, (0.1, 0.2, 0.3, 0.4), strict=True)}
    picture = Picture(heat_map(values, ["PLC"], LONG).svg)
    heads = [mark.text for mark in picture.of("role-axis-label")]
    assert heads == ["ERR(gai…1", "ERR(gai…2", "NDCG(gain…", "RR(rel=2)", "PLC"]
    lefts, tops, rights, _ = zip(*(mark.box for mark in picture.with_tip), strict=True)
    assert list(lefts[1:]) == pytest.approx(list(rights[:-1]), abs=3)
    assert len(set(tops)) == 1
    assert [mark.tip.split("\n")[1] for mark in picture.with_tip] == [f"Offline metric: {n}" for n in LONG]


def test_more_than_nine_names_that_begin_alike_are_all_numbered():
    labels = vega.apart({str(number): "ERR(gains…" for number in range(11)} | {"other": "DCG"})
    assert list(labels.values())[:2] == ["ERR(gain…1", "ERR(gain…2"]
    assert list(labels.values())[-2:] == ["ERR(gai…11", "DCG"]


# ---- intervals --------------------------------------------------------------------------------
def on_axis(picture, value):
    """Where the tick labels below a picture say that a value lies."""
    labels = [mark for mark in picture.of("role-axis-label") if mark.element.get("text-anchor") == "middle"]
    ticks = sorted((float(mark.text.replace(MINUS, "-")), mark.points[0][0]) for mark in labels)
    (first, left), (last, right) = ticks[0], ticks[-1]
    return left + (value - first) / (last - first) * (right - left)


LINES = {
    "DCG": Estimate(0.1, -0.2, 0.3),
    "ERR": Estimate(0.45),
    "AP": Estimate(None),
    "RR": Estimate(-0.25, -0.3, -0.1),
}


def test_dots_intervals_and_diamonds_lie_where_the_axis_says():
    drawing = intervals(list(LINES), LINES, HEADS, domain=(-0.35, 0.5), diamonds={"DCG": 0.2, "RR": None})
    picture = Picture(drawing.svg)
    reaches, dots, diamonds = (picture.layer(number) for number in range(3))
    assert [mark.centre[0] for mark in dots] == pytest.approx(
        [on_axis(picture, value) for value in (0.1, 0.45, -0.25)], abs=0.6
    )
    ends = [on_axis(picture, value) for value in (-0.2, 0.3, -0.3, -0.1)]
    assert [x for mark in reaches for x in (mark.box[0], mark.box[2])] == pytest.approx(ends, abs=0.6)
    assert [mark.centre[0] for mark in diamonds] == pytest.approx([on_axis(picture, 0.2)], abs=0.6)
    assert diamonds[0].centre[1] == pytest.approx(dots[0].centre[1])


def test_each_dot_stands_in_the_row_of_its_name_and_a_metric_without_a_value_in_none():
    picture = Picture(intervals(list(LINES), LINES, HEADS, domain=(-1, 1)).svg)
    names = [mark for mark in picture.of("role-axis-label") if mark.element.get("text-anchor") == "end"]
    assert [mark.text for mark in names] == ["DCG", "ERR", "RR"]
    for name, dot, row in zip(names, picture.layer(1), picture.with_tip, strict=True):
        _, top, _, bottom = row.box
        assert top < name.points[0][1] < bottom
        assert dot.centre[1] == pytest.approx((top + bottom) / 2)
        assert row.tip.startswith(f"Metric: {name.text}\n")


@pytest.mark.parametrize(
    ("values", "domain"),
    [
        ([Estimate(0.31, 0.22, 0.44)], (0.2, 0.45)),
        ([Estimate(-0.02), Estimate(0.02)], (-0.05, 0.05)),
        ([], (-1, 1)),
    ],
)
def test_scales_hold_all_values_and_end_on_round_numbers(values, domain):
    assert common_domain(values) == domain


# ---- lines by decile, histogram of draws ------------------------------------------------------
def test_dots_of_deciles_lie_from_left_to_right_and_the_higher_the_value_the_higher():
    line = {decile: Estimate(decile / 20, decile / 20 - 0.1, decile / 20 + 0.1) for decile in range(1, 11)}
    other = {decile: Estimate(0.3) for decile in range(1, 11)}
    picture = Picture(decile_lines({"ERR": line, "DCG": other}, "ERR", domain=(-0.1, 0.7)).svg)
    dots = picture.layer(3)
    xs, ys = zip(*(dot.centre for dot in dots), strict=True)
    assert xs == pytest.approx([54 + 262 * place / 9 for place in range(10)])
    assert ys == pytest.approx([8 + 150 * (0.7 - decile / 20) / 0.8 for decile in range(1, 11)])
    assert [mark.centre for mark in picture.with_tip] == [pytest.approx(dot.centre) for dot in dots]
    (quiet,), (band,) = picture.layer(0), picture.layer(1)
    assert quiet.element.get("stroke") == vega.QUIET
    assert {round(y, 6) for _, y in quiet.points} == {8 + 150 * 0.5}
    edges = [8 + 150 * (0.7 - decile / 20 + side) / 0.8 for side in (-0.1, 0.1) for decile in range(1, 11)]
    assert {round(y, 6) for _, y in band.points} == {round(y, 6) for y in edges}


def test_pictures_of_deciles_share_one_scale(pictures):
    scales = {
        tuple((mark.text, mark.points) for mark in picture.of("role-axis-label"))
        for name, picture in pictures.items()
        if name.startswith("frequency")
    }
    assert len(scales) == 1


def test_a_decile_without_a_value_has_no_dot():
    line = {1: Estimate(0.1), 2: Estimate(None, reason="no variance"), 3: Estimate(0.3)}
    picture = Picture(decile_lines({"ERR": line}, "ERR", domain=(0, 1)).svg)
    assert [mark.tip.split("\n")[1] for mark in picture.with_tip] == ["Decile: 1", "Decile: 3"]


def test_bins_of_a_histogram_lie_between_their_ends_and_are_darker_the_more_draws_lie_there():
    cells = [
        {"left": -1.0, "right": -0.5, "low": -2.0, "high": -1.0, "draws": 1, "count": "1"},
        {"left": 0.0, "right": 0.5, "low": 0.0, "high": 1.0, "draws": 25, "count": "25"},
        {"left": 0.5, "right": 1.0, "low": 1.0, "high": 2.0, "draws": 100, "count": "100"},
    ]
    drawing = histogram_2d(
        cells, domains=((-1, 1), (-2, 2)), heads=("across", "up"), titles={"count": "Draws"}
    )
    picture = Picture(drawing.svg)
    boxes = [mark.box for mark in picture.with_tip]
    assert boxes == [
        pytest.approx((68, 8 + 225, 68 + 75, 8 + 300)),
        pytest.approx((68 + 150, 8 + 75, 68 + 225, 8 + 150)),
        pytest.approx((68 + 225, 8, 68 + 300, 8 + 75)),
    ]
    strength = [float(mark.element.get("fill-opacity")) for mark in picture.with_tip]
    assert strength == pytest.approx([0.15 + 0.85 * root / 10 for root in (1, 5, 10)])  # as the square root
    assert [mark.text for mark in picture.of("role-axis-title")] == ["across", "up"]


# ---- two runs -----------------------------------------------------------------------------------
ROWS = (
    ChangedNumber("ERR", 0.4, 0.6, Estimate(0.2, 0.1, 0.3), True, "beyond noise"),
    ChangedNumber(HOSTILE, 0.5, 0.45, Estimate(-0.05, -0.15, 0.05), False, "within noise"),
    ChangedNumber("AP", 0.2, 0.3, Estimate(0.1), False, "not tested"),
)


def two_runs():
    return changed_numbers(ROWS, head="Metric", axis="Mean over the sessions")


@pytest.fixture(scope="module")
def picture(pictures):
    return pictures["two-runs"]


def test_a_row_shows_both_values_the_change_its_interval_and_the_test(picture):
    tips = [mark.tip for mark in picture.of("role-mark") if mark.tip]
    assert tips[0] == (
        "Metric: ERR\nRun A: 0.400\nRun B: 0.600\nChange: +0.200\n95% CI of the change: "
        "0.100 to 0.300\nTest: beyond noise"
    )
    assert "95% CI of the change: no interval" in tips[2]
    assert len(tips) == len(ROWS)
    assert [mark.text for mark in picture.of("role-axis-title")] == ["Mean over the sessions"]


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


def test_a_name_of_a_hostile_run_is_text_and_cut(picture):
    labels = [mark.text for mark in picture.of("role-axis-label")]
    assert labels[-2].endswith("…") or HOSTILE.startswith(labels[-2][:5])
    assert picture.root.find(".//{http://www.w3.org/2000/svg}script") is None
