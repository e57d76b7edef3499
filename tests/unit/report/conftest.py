"""Reports of the runs of `report_runs`, each written when it is first asked for."""

import pytest

from clickassay.report.build import write_report
from support.reports.report_runs import RUNS, drawn, page_of, report_of, run_of, settings_with
from support.reports.report_tables import run_info, run_tables


class Made(dict):
    """What a function makes of each name, when it is first asked for."""

    def __init__(self, make):
        self.make = make

    def __missing__(self, name):
        return self.setdefault(name, self.make(name))


@pytest.fixture(scope="session")
def tables():
    """The tables of the full run; they are shared."""
    return run_tables()


@pytest.fixture(scope="session")
def run(tables):
    return run_of(tables)


@pytest.fixture(scope="session")
def report(tables):
    return report_of(tables, run_info())


@pytest.fixture(scope="session")
def written(tmp_path_factory):
    """Each run's report and folder by name."""

    def write(name):
        tables, info = RUNS[name]
        folder = tmp_path_factory.mktemp("run")
        return write_report(*drawn(tables(), info()), folder), folder

    return Made(write)


@pytest.fixture(scope="session")
def made(written):
    """Each run's report by name."""
    return Made(lambda name: written[name][0])


@pytest.fixture(scope="session")
def reports(written):
    """Each run's folder by name."""
    return Made(lambda name: written[name][1])


@pytest.fixture(scope="session")
def full_page(tmp_path_factory):
    """The page of the full run with everything unfolded."""
    folder = tmp_path_factory.mktemp("run")
    write_report(*drawn(run_tables(), settings_with(full=True)), folder)
    return page_of(folder)


@pytest.fixture(scope="session")
def pages(reports):
    """The page of each run, read once."""
    return Made(lambda name: page_of(reports[name]))
