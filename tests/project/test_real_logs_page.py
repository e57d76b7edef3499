"""The page about real logs is what runs on them give, and stops where one of its statements does not hold."""

import re
import sys

import pytest

from support.places import DATA, ROOT
from support.processes import ran

BENCHMARKS = "benchmarks.promises.real_logs"
PAGE = ROOT / "reports" / "real-logs.md"
NEEDED = [DATA / name for name in ("clara2_naver", "trec_session_2012_2013")]


@pytest.fixture
def page(benchmark_module):
    return benchmark_module("page")


@pytest.mark.thorough
@pytest.mark.skipif(not all(place.exists() for place in NEEDED), reason="no real logs beside the checkout")
def test_runs_on_the_real_logs_write_the_page_again(tmp_path):
    command = ["-m", "benchmarks.promises.real_logs", "--data", DATA, "--out", tmp_path / "page.md"]
    ran(sys.executable, *command, cwd=ROOT)
    assert (tmp_path / "page.md").read_text(encoding="utf-8") == PAGE.read_text(encoding="utf-8")


def test_a_statement_that_does_not_hold_is_refused(page):
    assert page.holds(True, "Two is more than one.") == "Two is more than one."
    with pytest.raises(page.StatementError, match="Two is less"):
        page.holds(not True, "Two is less than one.")


def test_the_gallery_quotes_decisions_of_the_sample_the_tutorial_and_the_real_logs():
    gallery = (ROOT / "reports" / "gallery" / "README.md").read_text(encoding="utf-8")
    quoted = re.findall(r"\): \*(.+?)\*$", gallery, re.MULTILINE)
    places = ("docs/sample/report.md", "docs/tutorial.md", "reports/real-logs.md", "reports/real-logs.md")
    assert len(quoted) == len(places)
    for sentence, place in zip(quoted, places, strict=True):
        assert sentence in (ROOT / place).read_text(encoding="utf-8")
