"""CPU time that a browser takes to open a report, and to show all of it.

    python -m benchmarks.cost.page_cost [REPORT.html] [--runs N]

Without a report, one is made at the size of the paper: a log of two markets, 140,000 configurations at
depth 5 and about as many at depth 10, so four samples as in the paper's tables. Opened in headless
Chromium: until the page is loaded and at rest; then with every fold open and every table sorted. Seconds
are of the page's main thread (parsing, style, layout, script) as Chromium counts them.
"""

import argparse
import shutil
from pathlib import Path

import polars as pl
from playwright.sync_api import CDPSession, Page, sync_playwright

from benchmarks.lib.measuring import WORK, clickassay, machine, measured

FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update")
SHOW_ALL = """async () => {
    document.querySelectorAll('details').forEach(folded => { folded.open = true; });
    for (const table of document.querySelectorAll('table.sortable')) {
        table.scrollIntoView();
        await new Promise(done => setTimeout(done, 60));
        table.querySelector('.dt-column-order')?.click();
    }
}"""


def main() -> None:
    """Print one row for each run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("report", type=Path, nargs="?")
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    report = options.report or paper_sized()
    print(machine())
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        for _ in range(options.runs):
            page = browser.new_page(viewport={"width": 1280, "height": 900})
            print_row(page, report)
            page.close()
        browser.close()


def print_row(page: Page, report: Path) -> None:
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")
    page.goto(report.resolve().as_uri())
    page.wait_for_timeout(1500)
    opened = seconds(session)
    page.evaluate(SHOW_ALL)
    page.wait_for_timeout(500)
    tables = page.locator("table.dataTable").count()
    print(f"page    {opened:5.2f} CPU s to open, {seconds(session) - opened:5.2f} to unfold all and sort "
          f"{tables} tables   {report.stat().st_size / 1e6:.2f} MB, {page.locator('svg').count()} pictures "
          f"  check {page.locator('td').count():,} cells")  # fmt: skip


def seconds(session: CDPSession) -> float:
    found = {one["name"]: one["value"] for one in session.send("Performance.getMetrics")["metrics"]}
    return float(found["TaskDuration"])


def paper_sized() -> Path:
    """Make a run of two markets, of the paper's number of configurations each, unless it is there."""
    out = WORK / "page"
    if not (out / "report.html").exists():
        log = WORK / "page-log"
        if not log.exists():
            measured(clickassay("simulate", "--world", "web", "--n-searches", 1_500_000,
                                "--n-queries", 24_000, "--seed", 3, "--out", log, "--quiet"))  # fmt: skip
        measured(clickassay("run", "--searches", log / "searches.parquet", "--clicks", log / "clicks.parquet",
                            "--judgments", log / "judgments.parquet", "--queries", log / "queries.parquet",
                            "--out", out, "--quiet"))  # fmt: skip
    sizes = pl.read_parquet(out / "statistics.parquet").select(
        "market", "depth", "n_queries", "n_configurations"
    )
    print(*sizes.iter_rows(), sep="\n")
    return out / "report.html"


if __name__ == "__main__":
    main()
