"""Reports of the runs of `report_runs`, each written when it is first asked for."""

import pytest

from clickassay.report.build import build_report, write_report
from support.reports.report_runs import RUNS, page_of, run_of
from support.reports.report_tables import run_info, run_tables


class Written(dict):
    """Each run's folder and findings by name."""

    def __init__(self, factory):
        super().__init__()
        self.factory = factory

    def __missing__(self, name):
        tables, info = RUNS[name]
        folder = self.factory.mktemp("run")
        self[name] = (folder, write_report(tables(), info(), folder))
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
    return Written(tmp_path_factory)


@pytest.fixture(scope="session")
def pages(reports):
    """The page of each run, read once."""

    class Pages(dict):
        def __missing__(self, name):
            self[name] = page_of(reports[name][0])
            return self[name]

    return Pages()
