"""Reports of the runs of `report_runs`, each written when it is first asked for."""

import pytest

from clickassay.report.build import write_report
from support.reports.report_runs import RUNS, page_of


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
