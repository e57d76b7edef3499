"""Report and page of a run as large as the paper's."""

import polars as pl
import pytest
from axe_playwright_python.sync_playwright import Axe

from clickassay.core.settings import load_settings
from clickassay.inputs.simulate.simulation import simulate
from clickassay.jobs.inputs import Sources
from clickassay.jobs.run import make_run
from support.runs.explorer_server import server, visited


@pytest.mark.thorough
def test_a_run_as_large_as_the_papers_opens_as_report_and_as_page(chromium, tmp_path):
    simulate("web", n_searches=650_000, n_queries=10_500, seed=3, out=tmp_path / "log")
    given = [str(tmp_path / "log" / f"{name}.parquet") for name in ("searches", "clicks", "judgments")]
    make_run(Sources(*given), load_settings(min_users=1), out=tmp_path / "run")
    statistics = pl.read_parquet(tmp_path / "run" / "statistics.parquet").filter(depth=5)
    assert statistics["n_configurations"].max() > 69_846  # market 1, depth 5
    report = tmp_path / "run" / "report.html"
    assert report.stat().st_size < 3_000_000
    with server(tmp_path / "run", tmp_path / "home") as (address, _), visited(chromium, address) as visit:
        assert len(visit.marks()) > 1000
        assert "Points: the 3,000 configurations with most sessions" in visit.page.inner_text("body")
        visit.page.goto(report.as_uri())
        visit.page.evaluate("document.querySelectorAll('details').forEach(folded => { folded.open = true; })")
        pictures = visit.page.locator(".chart svg:visible")
        boxes = [pictures.nth(place).bounding_box() for place in range(pictures.count())]
        assert boxes
        assert all(box["width"] > 100 and box["height"] > 20 for box in boxes)
        found = Axe().run(visit.page).response["violations"]
        assert [one["id"] for one in found if one["impact"] in ("serious", "critical")] == []
        assert visit.hosts() == {"127.0.0.1", None}  # None: the report, a file
        assert (visit.complaints, visit.popups) == ([], [])
