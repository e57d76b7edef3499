"""Systems that are not this one: without the modules that only Unix has, the main jobs run."""

import shlex
import subprocess
import sys

import pytest

from support.logs import tiny

HIDDEN = """
import os, signal, sys
import psutil  # it has other modules elsewhere

for name in ("fcntl", "resource", "pwd", "grp", "termios"):
    sys.modules[name] = None  # an import of it fails
del os.sysconf, signal.SIGHUP
from clickassay.__main__ import start

sys.argv = ["clickassay", *sys.argv[1:]]
start()
"""


def without_unix(folder, line):
    command = [sys.executable, "-c", HIDDEN, *shlex.split(line)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("elsewhere")
    log = tiny.write_log(place)
    (place / "qrels.txt").write_text("q 0 a 3\nq 0 b 1\n")
    (place / "ranking.txt").write_text("q Q0 b 1 2.0 x\nq Q0 a 2 1.0 x\n")
    return log, place


LOG = "--searches {log.searches} --clicks {log.clicks}"
JUDGED = "--judgments {log.judgments} --depth 3 --click-models none --clock 2026-06-30"


JOBS = [
    (f"run {LOG} {JUDGED} --out run", "Report: run"),
    (f"patterns {LOG} --store store --depth 3 --clock 2026-06-30", "1 batch added"),
    ("store verify store", "all files are unchanged"),
    ("evaluate qrels.txt ranking.txt", "nDCG"),
]
"""Command lines, each in the folder that those before it wrote, and what they say."""


def test_the_main_jobs_run_without_what_only_unix_has(folder):
    log, place = folder
    for line, says in JOBS:
        told = without_unix(place, line.format(log=log))
        assert "Traceback" not in told.stderr, told.stderr
        assert told.returncode in {0, 1}, told.stderr
        assert says in told.stdout, line
