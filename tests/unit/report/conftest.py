"""Reports of the runs of `report_runs`, each written when it is first asked for."""

import pytest

from clickassay.report.build import build_report, write_report
from support.reports.report_runs import RUNS, page_of, run_of
from support.reports.report_tables import run_info, run_tables


class Made(dict):
    """What a function makes of each name, when it is first asked for."""

    def __init__(self, make):
        super().__init__()
        self.make = make

    def __missing__(self, name):
        self[name] = self.make(name)
        return self[name]


@pytest.fixture(scope="session")
def tables():
    """The tables of the full run; they are shared."""
    return run_tables()


@pytest.fixture(scope="session")
def run(tables):
    return run_of(tables)


@pytest.fixture(scope="session")
def report(tables):
    return build_report(tables, run_info())


@pytest.fixture(scope="session")
def reports(tmp_path_factory):
    """Each run's folder and findings by name."""

    def written(name):
        tables, info = RUNS[name]
        folder = tmp_path_factory.mktemp("run")
        report = write_report(tables(), info(), folder)
        return folder, [finding.text for finding in report.findings]

    return Made(written)


@pytest.fixture(scope="session")
def pages(reports):
    """The page of each run, read once."""
    return Made(lambda name: page_of(reports[name][0]))
