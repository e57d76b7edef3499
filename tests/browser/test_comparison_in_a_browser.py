"""The page of two runs compared, in a real browser: it fits, it is accessible, and needs no script."""

import polars as pl
import pytest
from axe_playwright_python.sync_playwright import Axe

from clickassay.studies.runs_compared.compare import compare_runs
from clickassay.studies.runs_compared.report import build_comparison, write_comparison
from support.runs.given_runs import changed_table
from support.runs.sample_run import sample

PHONE = {"viewport": {"width": 390, "height": 844}}
DESK = {"viewport": {"width": 1280, "height": 900}}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The sample run compared with one of lower correlations."""
    place = tmp_path_factory.mktemp("compared")

    def lowered(rows):
        return rows.with_columns(pl.col("correlation", "ci_low", "ci_high") - 0.25)

    other = changed_table(sample(), place / "other", "correlations", lowered)
    report = build_comparison(compare_runs(sample(), other), "clickassay diff")
    return write_comparison(report, place / "out", force=False).parent


@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.thorough)])
def test_the_accessibility_checker_finds_nothing_in_a_comparison(opened, folder, scheme):
    with opened(folder, color_scheme=scheme, **DESK) as page:
        page.evaluate("document.querySelectorAll('details').forEach(folded => { folded.open = true; })")
        found = Axe().run(page).response["violations"]
    assert [(one["impact"], one["id"], one["nodes"][0]["target"]) for one in found] == []


@pytest.mark.parametrize("options", [PHONE, DESK], ids=["phone", "desk"])
def test_a_comparison_is_never_wider_than_the_screen(opened, folder, options):
    with opened(folder, **options) as page:
        page.evaluate("document.querySelectorAll('details').forEach(folded => { folded.open = true; })")
        wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert wide <= 0


def test_a_comparison_shows_its_title_and_pictures_without_any_script(opened, folder):
    with opened(folder, java_script_enabled=False, **DESK) as page:
        assert page.locator("h1").inner_text() == "Significant changes: correlations fell"
        pictures = page.locator(".chart svg")
        boxes = [pictures.nth(place).bounding_box() for place in range(pictures.count())]
        assert len(boxes) == 4
        assert all(box["width"] > 100 and box["height"] > 20 for box in boxes)
