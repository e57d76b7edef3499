"""Limits of the machine, as batch systems set them: an ornament never ends a run."""

import resource
import shutil
import subprocess
from functools import partial

import pytest

from clickassay.report.charts.artist import Artist
from support.logs import tiny

GB = 1_000_000_000


def limited(log, kind, amount, *more):
    """Run the command line under a limit of its own."""
    return subprocess.run(
        [*tiny.started_with(*log.options()), *more],
        check=False,
        capture_output=True,
        text=True,
        env=tiny.environment() | {"POLARS_MAX_THREADS": "2"},
        preexec_fn=partial(resource.setrlimit, kind, (amount, amount)),
    )


@pytest.mark.parametrize("gigabytes", [4, 40])
def test_a_run_under_a_limit_of_addresses_is_published_and_says_that_it_has_no_pictures(tmp_path, gigabytes):
    log = tiny.write_log(tmp_path)
    done = limited(log, resource.RLIMIT_AS, gigabytes * GB)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[-2:] == [f"Report: {log.out / 'report.html'}", "status: ok"]
    has_pictures = (log.out / "summary.png").exists()
    assert any(line.startswith("Note: the report has no pictures: ") for line in lines) != has_pictures
    page = (log.out / "report.html").read_text(encoding="utf-8")
    assert ("could not be drawn where the page was made" in page) != has_pictures
    assert [path.name for path in log.out.parent.iterdir()] == ["run"]


def test_a_run_with_few_open_files_is_published(tmp_path):
    log = tiny.write_log(tmp_path)
    done = limited(log, resource.RLIMIT_NOFILE, 24)
    assert done.returncode in {0, 2}, done.stderr
    assert "Traceback" not in done.stderr
    if done.returncode == 0:
        assert (log.out / "report.html").exists()


def test_one_who_draws_is_asked_once_and_no_more(monkeypatch):
    artist = Artist()
    monkeypatch.setattr("sys.executable", shutil.which("false"))
    for _ in range(2):
        with pytest.raises(Exception, match="pictures cannot be drawn here: the process"):
            artist.draw("png", {}, "6.4")
    assert artist._process is None  # nothing is left behind
