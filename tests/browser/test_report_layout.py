"""How a report lies on screens and on paper: nothing overflows, nothing is lost, of whatever log."""

import io
import re
import unicodedata

import pytest
from pypdf import PdfReader

from support.tiers import first

VIEWS = {
    "1280": {"viewport": {"width": 1280, "height": 900}},
    "390": {"viewport": {"width": 390, "height": 844}},
    "dark": {"viewport": {"width": 1280, "height": 900}, "color_scheme": "dark"},
}
SCREEN = 900
"""Height of a screen in pixels."""

WIDER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
OUTSIDE = """() => {
    const edge = document.documentElement.clientWidth + 1;
    const parts = document.querySelectorAll('h1, h2, h3, p, li, dt, dd, figcaption, summary, .chart text');
    return [...parts].filter(part => !part.closest('.scroll') && part.checkVisibility()).filter(part => {
        const { left, right } = part.getBoundingClientRect();
        return left < -1 || right > edge;
    }).map(part => part.textContent.slice(0, 60));
}"""
BESIDE_ITS_PICTURE = """() => {
    const pictures = [...document.querySelectorAll('.chart svg')].filter(svg => svg.checkVisibility());
    return pictures.flatMap(svg => {
        const box = svg.getBoundingClientRect(), slack = 0.02 * box.width + 2;
        return [...svg.querySelectorAll('text')].filter(text => {
            const { left, right, top, bottom } = text.getBoundingClientRect();
            const wide = left < box.left - slack || right > box.right + slack;
            return wide || top < box.top - slack || bottom > box.bottom + slack;
        }).map(text => text.textContent);
    });
}"""
UNSEEN = """() => [...document.querySelectorAll('h1, .lead, dd, td')].filter(part => part.checkVisibility())
    .filter(part => getComputedStyle(part).color === getComputedStyle(document.body).backgroundColor)
    .map(part => part.textContent)"""
CELLS = """tables => tables.filter(one => one.checkVisibility()).map(
    one => [...one.rows].map(row => [...row.cells].map(cell => cell.textContent)))"""
TOO_WIDE = """() => [...document.querySelectorAll('.scroll')]
    .filter(one => one.scrollWidth > one.clientWidth + 1).map(one => one.getAttribute('aria-label'))"""


@pytest.fixture(params=first(1, ["sample", "full", "hostile", "nothing kept", "comparison"]))
def folder(request, run_folders, sample_run):
    return sample_run if request.param == "sample" else run_folders[request.param]


@pytest.mark.parametrize("view", VIEWS)
def test_nothing_overflows_or_is_cut_on_a_screen(opened, folder, view):
    with opened(folder, **VIEWS[view]) as page:
        assert page.evaluate(OUTSIDE) == []
        assert page.evaluate(BESIDE_ITS_PICTURE) == []
        assert page.evaluate(UNSEEN) == []
        for script in ("", "document.querySelectorAll('details').forEach(one => { one.open = true; })"):
            page.evaluate(script)
            assert page.evaluate(WIDER) <= 0


def test_the_first_screen_has_the_decision_the_picture_and_the_health_of_the_log(opened, sample_run):
    with opened(sample_run, **VIEWS["1280"]) as page:
        title = "No metric is significantly better than another at comparing two rankings"
        assert page.inner_text("h1").replace("\u00a0", " ") == title
        assert page.locator("h1").bounding_box()["y"] < SCREEN
        picture = page.locator(".overview .chart.wide")
        assert picture.bounding_box()["y"] < SCREEN / 2
        assert picture.get_attribute("role") == "img"
        label = picture.get_attribute("aria-label")
        what = "(Picks the ranking users prefer|Correlation over all queries)"
        assert re.match(rf"{what}, on clicks \(MeanRR\), highest first: ", label)
        assert page.locator(".next").bounding_box()["y"] < SCREEN / 2
        assert re.search(r"Data checks\s+[\u2713\u2717]", page.inner_text(".facts"))


def test_what_a_reader_decides_by_takes_six_screens_and_little_room(opened, sample_run):
    with opened(sample_run, **VIEWS["1280"]) as page:
        assert page.evaluate("document.documentElement.scrollHeight") <= 6 * SCREEN
        assert page.locator("#record details[open]").count() == 0
    assert (sample_run / "report.html").stat().st_size < 1_600_000


def test_print_loses_no_column_and_no_row_of_what_is_in_view(opened, sample_run):
    with opened(sample_run, **VIEWS["1280"]) as page:
        tables = page.locator("table").evaluate_all(CELLS)
        printed = pages_of(page)
        page.emulate_media(media="print")
        page.set_viewport_size({"width": 672, "height": 900})  # the room on A4 between margins of 16 mm
        assert page.evaluate(TOO_WIDE) == []
    assert len(printed) <= 8
    text = squeezed("".join(printed))
    assert tables
    assert {cell for rows in tables for row in rows for cell in row if squeezed(cell) not in text} == set()


def pages_of(page):
    """Return the texts of the pages that a page prints."""
    return [part.extract_text() for part in PdfReader(io.BytesIO(page.pdf(format="A4"))).pages]


def squeezed(text):
    """Return a text without white space and ligatures, which a PDF has its own way with."""
    return re.sub(r"\s+", "", unicodedata.normalize("NFKC", text))
