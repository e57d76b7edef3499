"""The one browser of a process, and pages to look at: the sample run, and runs that pages break on."""

import shutil
from contextlib import contextmanager

import polars as pl
import pytest
from playwright.sync_api import sync_playwright

from clickassay.core.settings import load_settings
from clickassay.jobs.inputs import Sources
from clickassay.jobs.run import make_run
from clickassay.report.build import write_report
from clickassay.studies.runs_compared.compare import compare_runs
from clickassay.studies.runs_compared.report import build_comparison, write_comparison
from support.places import SAMPLE
from support.reports.report_runs import drawn, hostile_info, hostile_tables
from support.reports.report_tables import nothing_kept_tables, run_info, run_tables
from support.runs.given_runs import changed_table
from support.runs.sample_run import sample

CHROMIUM = shutil.which("chromium")
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--no-first-run", "--disable-quic",
]  # fmt: skip


@pytest.fixture(scope="session")
def chromium():
    if CHROMIUM is None:
        pytest.skip("no Chromium to open pages in: install Debian's package chromium, as .ci/run does")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def run_folders(tmp_path_factory):
    """Folders with a report each; `full` has eight samples, twice as many as the paper; one of two runs."""
    made = {}
    given = {
        "full": (run_tables, run_info()),
        "hostile": (hostile_tables, hostile_info()),
        "nothing kept": (nothing_kept_tables, run_info()),
    }
    for name, (tables, info) in given.items():
        made[name] = tmp_path_factory.mktemp("page")
        write_report(*drawn(tables(), info), made[name])
    place = tmp_path_factory.mktemp("compared")
    lower = changed_table(sample(), place / "lower", "correlations", lambda rows: rows.with_columns(
        pl.col("correlation", "ci_low", "ci_high") - 0.25
    ))  # fmt: skip
    report = build_comparison(compare_runs(sample(), lower), "clickassay diff")
    return made | {"comparison": write_comparison(report, place / "out", force=False).parent}


@pytest.fixture(scope="session")
def sample_run(tmp_path_factory):
    """The run on `data_samples`, made anew."""
    out = tmp_path_factory.mktemp("sample") / "run"
    make_run(Sources(*SAMPLE.values()), load_settings(), out=out, command="clickassay run")
    return out


class Opened:
    """A page with its messages and requests."""

    def __init__(self, page):
        self.page, self.messages, self.requests = page, [], []
        page.on("console", lambda message: self.messages.append(message.text))
        page.on("pageerror", lambda error: self.messages.append(str(error)))
        page.on("dialog", lambda dialog: (self.messages.append(dialog.message), dialog.dismiss()))
        page.on("request", lambda request: self.requests.append(request.url))


@pytest.fixture
def opened(chromium):
    """Open the report of a folder; at the end, the console has no message and no network was used."""

    @contextmanager
    def open_(folder, **options):
        context = chromium.new_context(reduced_motion="reduce", **options)
        try:
            seen = Opened(context.new_page())
            seen.page.goto((folder / "report.html").as_uri())
            yield seen.page
            assert seen.messages == []
            strange = [url for url in seen.requests if not url.startswith(("file:", "blob:", "data:"))]
            assert strange == []
        finally:
            context.close()

    return open_
