"""Report and page of runs unlike the sample: as large as the paper's, of one market, with nothing judged."""

from contextlib import contextmanager
from pathlib import Path

import polars as pl
import pytest
from axe_playwright_python.sync_playwright import Axe

from clickassay.core.settings import load_settings
from clickassay.inputs.simulate.simulation import simulate
from clickassay.jobs.inputs import Sources
from clickassay.jobs.run import make_run
from support.runs.explorer_server import server, visited

pytestmark = pytest.mark.thorough

SERIOUS = ("serious", "critical")


def made(folder, *, world, searches, queries, judgments=None):
    log = folder / "log"
    simulate(world, n_searches=searches, n_queries=queries, seed=3, out=log)
    given = [str(log / f"{name}.parquet") for name in ("searches", "clicks", "judgments")]
    given[2] = given[2] if judgments is None else str(judgments)
    make_run(Sources(*given), load_settings(min_users=1), out=folder / "run")
    return folder / "run"


@contextmanager
def page_of(chromium, folder: Path, home: Path, *, drawn=True):
    """Open the page of a run; it must neither complain nor ask anybody but its own server."""
    with server(folder, home) as (address, _), visited(chromium, address, drawn=drawn) as visit:
        yield visit
        assert visit.hosts() == {"127.0.0.1", None}  # None: the report, a file
        assert (visit.complaints, visit.popups) == ([], [])


def assert_report_is_whole(page, folder):
    page.goto((folder / "report.html").as_uri())
    page.evaluate("document.querySelectorAll('details').forEach(folded => { folded.open = true; })")
    pictures = page.locator(".chart svg:visible")
    boxes = [pictures.nth(place).bounding_box() for place in range(pictures.count())]
    assert boxes
    assert all(box["width"] > 100 and box["height"] > 20 for box in boxes)
    assert page.locator("main").inner_text()
    found = Axe().run(page).response["violations"]
    assert [one["id"] for one in found if one["impact"] in SERIOUS] == []


def test_a_run_as_large_as_the_papers_opens_as_report_and_as_page(chromium, tmp_path):
    folder = made(tmp_path, world="web", searches=650_000, queries=10_500)
    statistics = pl.read_parquet(folder / "statistics.parquet").filter(depth=5)
    assert statistics["n_configurations"].max() > 69_846  # market 1, depth 5
    assert (folder / "report.html").stat().st_size < 3_000_000
    with page_of(chromium, folder, tmp_path / "home") as visit:
        assert len(visit.marks()) > 1000
        assert "Points: the 3,000 configurations with most sessions" in visit.page.inner_text("body")
        assert_report_is_whole(visit.page, folder)


def test_a_run_of_one_market_opens_as_report_and_as_page(chromium, tmp_path):
    folder = made(tmp_path, world="cascade", searches=20_000, queries=200)
    with page_of(chromium, folder, tmp_path / "home") as visit:
        assert len(visit.marks()) > 100
        assert_report_is_whole(visit.page, folder)


def test_a_run_in_which_nothing_is_judged_opens_and_says_so(chromium, tmp_path):
    judgments = tmp_path / "none.csv"
    judgments.write_text("query,url,grade\nnever asked,u,1\n", encoding="utf-8")
    folder = made(tmp_path, world="cascade", searches=2_000, queries=20, judgments=judgments)
    with page_of(chromium, folder, tmp_path / "home", drawn=False) as visit:
        assert "No configuration of this run is judged in full" in visit.page.inner_text("main")
        assert "sessions_formed" in visit.ask(
            "SELECT count(*) AS sessions_formed FROM funnel WHERE step = 'formed'"
        )
        assert_report_is_whole(visit.page, folder)
