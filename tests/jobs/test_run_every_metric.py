"""Every name of the catalogue may be asked for, one at a time and all at once: no label stands for two."""

import json
import re

import polars as pl
import pytest

from clickassay.core.contracts.run import RUN_TABLES
from clickassay.metrics.catalogue import METRICS, named_measure
from clickassay.metrics.names import OTHER_NAMES, TREC
from clickassay.report.charts.artist import Artist
from clickassay.report.writers.tables import latex_table
from support.logs import tiny
from support.reports.report_runs import report_of

OF_TREC = [pattern.replace(r"(\d+)", "2").replace(r"([01]\.\d+)", "0.5") for pattern, _ in TREC]
THRESHOLDS = [f"{name}(rel={grade})" for name in ("AP", "RR", "P") for grade in (1, 2, 3, 4)]
NAMES = ["map", "mrr", *THRESHOLDS, *(metric.name for metric in METRICS), *OF_TREC, *OTHER_NAMES]
"""Names of other tools may stand for a metric that is there under its own name too."""

FORMS = {re.sub(r"\w+", "x", label): label for label in (str(named_measure(name)) for name in NAMES)}
"""A label of each form: with a cut, a parameter, a value in quotes."""

PLAIN = {"DCG", "NDCG", "AP", "RR", "ERR", "RBP", "AP(rel=2)", "RR(rel=2)", "MeanGrade", "MeanGrade@1", "P@1"}
"""What every run has."""


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """The tables and settings of a run of two depths that was asked for all names."""
    log = tiny.write_log(tmp_path_factory.mktemp("log"))
    asked = [option for name in NAMES for option in ("--metric", name)]
    tiny.said_by(*log.options(), "--depth", "2,3", "--folds", "2", "--quiet", *asked)
    tables = {table.name: pl.read_parquet(log.out / f"{table.name}.parquet") for table in RUN_TABLES}
    return tables, json.loads((log.out / "settings.json").read_text(encoding="utf-8"))


def test_a_run_has_a_correlation_for_every_name_asked_for_at_once(ran):
    found = set(ran[0]["correlations"]["editorial_metric"])
    assert found == PLAIN | {str(named_measure(name)) for name in NAMES}


@pytest.mark.parametrize("name", FORMS.values())
def test_every_table_is_written_for_a_name_of_each_form_asked_for_alone(ran, name, monkeypatch):
    monkeypatch.setattr(Artist, "draw", lambda *_, **__: b"<svg></svg>")  # all are drawn above
    tables, info = ran
    wanted = PLAIN | {name}
    report = report_of({key: of_metrics(frame, wanted) for key, frame in tables.items()}, info)
    for table in report.tables:
        assert table.csv_lines
        assert latex_table(table)


def of_metrics(frame, names):
    """The rows of a table that concern these offline metrics only."""
    columns = {"editorial_metric", "metric_a", "metric_b"} & set(frame.columns)
    return frame.filter(pl.all_horizontal(pl.lit(True), *(pl.col(column).is_in(names) for column in columns)))
