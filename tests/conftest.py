"""Settings that all tests share, and the one browser of a process."""

import shutil

import pytest
from hypothesis import settings
from playwright.sync_api import sync_playwright

# a busy machine is no failure; the same cases on each run, so that a commit is green or is not
settings.register_profile("repeatable", deadline=None, derandomize=True)
# new cases on each run: pytest --hypothesis-profile=search
settings.register_profile("search", deadline=None, print_blob=True)
settings.load_profile("repeatable")

CHROMIUM = shutil.which("chromium")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--disable-quic",
]


@pytest.fixture(scope="session")
def chromium():
    if CHROMIUM is None:
        pytest.skip("no Chromium to open pages in: install Debian's package chromium, as .ci/run does")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()
