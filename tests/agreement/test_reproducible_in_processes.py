"""The same input gives the same bytes in another process, whatever its threads, hash seed and time zone."""

import os
import subprocess
import sys

import pytest

from clickassay.report.build import write_report
from support.places import ROOT
from support.reports.report_runs import drawn
from support.reports.report_tables import run_info, small_tables

THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "POLARS_MAX_THREADS")


def printed(code, more, *arguments):
    """Run code in a process of its own, which finds the helpers of tests; return what it prints."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "tests"), **more}
    return subprocess.check_output([sys.executable, "-c", code, *arguments], env=environment)


TABLES_OF_A_SAMPLE = """
import json
import numpy as np
from support.runs.given_sample import sample_of
from clickassay.correlation.comparisons import comparisons
from clickassay.correlation.tables import correlations, differences
from clickassay.core.records import Split
rng = np.random.default_rng(0)
index = np.sort(rng.integers(0, 3000, 9000)) // 2
_, index = np.unique(index, return_inverse=True)
sessions = rng.integers(1, 90, 9000)
variances = np.where(sessions[:, None] > 1, rng.random((9000, 7)), np.nan)
sample = sample_of(rng.random((9000, 7)), rng.random((9000, 9)), sessions, index, variances)
splits = (Split("half", ("a", "b"), np.arange(len(sample.queries)) % 2),)
tables = (
    correlations(sample, splits),
    differences(sample, iterations=50, rng=np.random.default_rng(1))[0],
    comparisons(sample),
)
print(json.dumps([table.write_json() for table in tables]))
"""


DRAWS_OF_RANKERS = """
import hashlib, json
import numpy as np
from clickassay.correlation.rankers import Within, ranker_differences
rng = np.random.default_rng(0)
sizes = np.full(500, 6)
within = Within(rng.normal(size=(3000, 15)), 7, np.arange(0, 3000, 6), sizes, np.arange(3000))
deltas = ranker_differences(within, iterations=300, rng=np.random.default_rng(2))
print(json.dumps(hashlib.md5(deltas.tobytes()).hexdigest()))
"""


@pytest.mark.parametrize(("code", "threads"), [(TABLES_OF_A_SAMPLE, "125"), (DRAWS_OF_RANKERS, "128")])
def test_the_number_of_threads_does_not_change_a_bit(code, threads):
    found = [printed(code, dict.fromkeys(THREADS, number)) for number in threads]
    assert found[0] == found[1] == found[2]


REPORT_OF_A_RUN = """
import sys
from pathlib import Path
from clickassay.report.build import write_report
from support.reports.report_runs import drawn
from support.reports.report_tables import run_info, small_tables
write_report(*drawn(small_tables(), run_info()), Path(sys.argv[1]))
"""


def test_a_report_has_the_same_bytes_in_another_process(tmp_path):
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    write_report(*drawn(small_tables(), run_info()), here)
    printed(REPORT_OF_A_RUN, {"PYTHONHASHSEED": "77", "TZ": "Asia/Tokyo"}, str(there))
    first, second = (
        {path.name: path.read_bytes() for path in folder.rglob("*.*")} for folder in (here, there)
    )
    assert first == second
    assert "report.html" in first
