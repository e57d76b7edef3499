"""The report in a real browser: drawn, sortable, downloadable, inert, readable."""

import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from clickassay import open_run
from support.reports.report_tables import HOSTILE
from support.runs.sample_run import sample
from support.tiers import first

DESK = {"viewport": {"width": 1280, "height": 900}}
KINDS = ("hostile", "comparison", "sample", "full", "nothing kept")

DRAWN = """svg => {
    const page = getComputedStyle(document.body).backgroundColor;
    const marks = [...svg.querySelectorAll('.role-mark path, .role-mark text, .role-mark line')];
    const seen = marks.filter(mark => {
        const { width, height } = mark.getBoundingClientRect();
        const { fill, stroke, opacity } = getComputedStyle(mark);
        const ink = [fill, stroke].some(colour => colour !== 'none' && colour !== page);
        return width + height > 1 && ink && Number(opacity) > 0;
    });
    return { marks: marks.length, seen: seen.length, height: svg.getBoundingClientRect().height };
}"""
VALUES = "table => [...table.tBodies[0].rows].map(row => row.cells[1].dataset.order)"


@pytest.fixture(params=first(2, KINDS))
def folder(request, run_folders, sample_run):
    return sample_run if request.param == "sample" else run_folders[request.param]


def unfold(page):
    page.evaluate("document.querySelectorAll('details').forEach(folded => { folded.open = true; })")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_picture_is_drawn_in_ink_that_differs_from_the_page(opened, folder, scheme):
    with opened(folder, color_scheme=scheme, **DESK) as page:
        unfold(page)
        drawn = [picture.evaluate(DRAWN) for picture in page.locator(".chart svg:visible").element_handles()]
    assert drawn
    assert all(one["seen"] >= max(1, 0.3 * one["marks"]) and one["height"] > 20 for one in drawn)


def test_pictures_stand_there_without_any_script(opened, folder):
    with opened(folder, java_script_enabled=False, **DESK) as page:
        pictures = page.locator(".chart svg:visible")
        assert pictures.count() > 0
        boxes = [pictures.nth(place).bounding_box() for place in range(pictures.count())]
        assert all(box["width"] > 100 and box["height"] > 20 for box in boxes)
        assert page.locator("button[data-file]:visible").count() == 0


@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.thorough)])
def test_the_accessibility_checker_finds_nothing(opened, folder, scheme):
    with opened(folder, color_scheme=scheme, **DESK) as page:
        unfold(page)
        found = Axe().run(page).response["violations"]
    assert [(one["impact"], one["id"], one["nodes"][0]["target"]) for one in found] == []


def test_a_mark_shows_its_numbers_and_a_term_its_meaning(opened, sample_run):
    with opened(sample_run, **DESK) as page:
        unfold(page)
        mark = page.locator("#correlations .role-mark [aria-label]").first
        mark.scroll_into_view_if_needed()
        page.wait_for_timeout(500)  # tables that come into view settle; what moves the page ends a tip
        mark.hover()
        tip = page.locator(".tip.visible")
        tip.wait_for()
        assert tip.locator("p").all_inner_texts() == mark.get_attribute("aria-label").split("\n")
        assert "95% CI: " in tip.inner_text()
        term = page.locator("#correlations a.term", has_text="ERR").first
        term.scroll_into_view_if_needed()
        page.wait_for_timeout(1000)
        term.hover()
        page.wait_for_function("() => document.querySelectorAll('.tip.visible p').length === 1")
        assert tip.inner_text().startswith("Expected reciprocal rank")
        page.keyboard.press("Escape")
        assert tip.count() == 0
        term.focus()
        assert tip.inner_text().startswith("Expected reciprocal rank")


def test_a_head_sorts_its_table_by_value_up_down_and_back(opened, sample_run):
    with opened(sample_run, **DESK) as page:
        table = page.locator("#t-table4_length")
        table.scroll_into_view_if_needed()
        head = table.locator("th.dt-orderable-asc").nth(1)
        given = table.evaluate(VALUES)
        head.click()
        expect(head).to_have_class(re.compile("dt-ordering-asc"))
        rising = table.evaluate(VALUES)
        head.click()
        expect(head).to_have_class(re.compile("dt-ordering-desc"))
        falling = table.evaluate(VALUES)
        head.click()
        expect(head).not_to_have_class(re.compile("dt-ordering"))
        assert table.evaluate(VALUES) == given
    assert rising == sorted(given, key=float)
    assert falling == rising[::-1]
    assert given not in (rising, falling)


def test_every_table_with_rows_becomes_sortable(opened, sample_run):
    with opened(sample_run, **DESK) as page:
        unfold(page)
        for table in page.locator("table.sortable").element_handles():
            table.scroll_into_view_if_needed()
            page.wait_for_function("table => table.classList.contains('dataTable')", arg=table)


@pytest.mark.parametrize("kind", first(1, ["sample", "hostile"]))
def test_every_download_is_the_file_next_to_the_report(opened, run_folders, sample_run, kind):
    folder = sample_run if kind == "sample" else run_folders[kind]
    with opened(folder, **DESK) as page:
        unfold(page)
        buttons = page.locator("button[data-file]:visible")
        assert buttons.count() >= 8
        for button in buttons.element_handles():
            page.wait_for_timeout(120)  # Chromium drops downloads beyond ten a second
            with page.expect_download() as download:
                button.click()
            name = download.value.suggested_filename
            assert download.value.path().read_bytes() == (folder / "tables" / name).read_bytes()


def test_the_numbers_of_a_picture_are_one_click_away(opened, folder):
    with opened(folder, **DESK) as page:
        for link in page.locator(".numbers a:visible").element_handles():
            link.click()
            target = link.get_attribute("href")
            assert page.locator(target).is_visible(), target


def test_texts_of_a_hostile_log_are_shown_and_do_nothing(opened, run_folders):
    with opened(run_folders["hostile"], **DESK) as page:
        unfold(page)
        page.wait_for_timeout(300)
        assert page.locator("script").count() == 2
        assert "alert(1)" in page.inner_text("main")
        assert page.locator("main :is(img, iframe, object, embed, form, link, base)").count() == 0
        assert HOSTILE[:20] in page.inner_text("main")


def test_print_leaves_out_what_is_folded_and_what_only_a_screen_needs(opened, sample_run):
    with opened(sample_run) as page:
        page.emulate_media(media="print", color_scheme="dark")
        assert not page.locator("nav").is_visible()
        assert page.locator("button:visible").count() == 0
        assert page.locator("summary:visible").count() == 0
        assert not page.locator("#t-table6_differences").is_visible()
        assert "Which metric correlates with which click metric" in page.inner_text(".print-only")
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"


def test_a_picture_that_stands_alone_shows_all_its_texts(chromium):
    """As in a notebook: there, nothing is seen of what reaches beyond the drawing."""
    run = open_run(sample())
    page = chromium.new_page()
    for name in ("ranking", "within", "leads"):
        page.set_content(run.chart(name).svg)
        beyond = page.evaluate(BEYOND)
        assert beyond, name
        assert max(beyond.values()) < 3, {text: by for text, by in beyond.items() if by >= 3}
    page.close()


BEYOND = """() => Object.fromEntries([...document.querySelectorAll('svg text')]
  .filter(text => text.textContent.trim())
  .map(text => {
    const all = text.closest('svg').getBoundingClientRect(), own = text.getBoundingClientRect();
    const sides = [all.left - own.left, own.right - all.right, all.top - own.top, own.bottom - all.bottom];
    return [text.textContent, Math.max(...sides)];
  }))"""
