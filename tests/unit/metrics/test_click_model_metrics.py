"""Metrics of click models: fitted on some users, evaluated on others; the expected values are those seen."""

import numpy as np
import polars as pl
import pytest

from clickassay.click_models.catalogue import CLICK_MODELS, click_models
from clickassay.click_models.click_log import ClickLog
from clickassay.click_models.expected import expected_mean_rr
from clickassay.core.settings import Settings, load_settings
from clickassay.jobs.analyse import analyse
from clickassay.jobs.inputs import Sources
from clickassay.jobs.patterns import log_to_patterns
from clickassay.metrics.catalogue import METRICS, MODEL_METRICS, editorial_values
from clickassay.metrics.names import parse
from support.logs.small_logs import simulated

NAMES = tuple(metric.name for metric in MODEL_METRICS)
CASCADES = ("CM", "SDBN", "DBN")


def test_each_click_model_that_estimates_examination_is_a_metric_and_no_other():
    names = {kind.name for kind in CLICK_MODELS if kind.estimates_examination and kind.estimates_attraction}
    assert set(NAMES) == names
    assert len(NAMES) == len(names)


def test_a_metric_is_what_its_model_expects_cut_at_its_depth():
    grades = np.array([[3, 0, 2], [1, 1, 1]])
    asked = (parse("DBN", METRICS), parse("UBM@2", METRICS))
    fitted = {"DBN": lambda shown: shown.sum(axis=1) / 10, "UBM": lambda shown: shown[:, -1] / 10}
    names, found = editorial_values(grades, None, Settings(pool="shown"), asked, fitted)
    assert names == ("DBN", "UBM@2")
    assert found.tolist() == [[0.5, 0.0], [0.3, 0.1]]


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    return simulated(
        tmp_path_factory.mktemp("model-metrics") / "log", world="cascade", searches=60_000, queries=60
    )


def run_of(log, **settings):
    options = load_settings(depth=[4], iterations=10, click_models=("NONE",), **settings)
    table = log_to_patterns(Sources(log["searches"], log["clicks"]), options)
    return table, analyse(table, Sources(judgments=log["judgments"]), options)


def test_the_model_is_fitted_on_users_of_fold_0_and_the_metric_tried_on_the_others(log):
    table, found = run_of(log, folds=2, metric=("DBN",))
    rows = found["configurations"]
    grades = dict(zip(rows["configuration_id"], rows["grades"], strict=True))
    fold = table.patterns.filter(pl.col("fold") == 0).join(
        table.configurations.select("configuration_id", "query", "results"), on="configuration_id"
    )
    known = pl.read_parquet(log["judgments"])
    judged = {(query, url): grade for query, url, grade in known.select("query", "url", "grade").iter_rows()}
    lists, masks, sessions = [], [], []
    columns = ("query", "results", "click_mask", "sessions")
    for query, results, mask, times in fold.select(columns).iter_rows():
        shown = [judged.get((query, url)) for url in results[:4]]
        if len(shown) == 4 and None not in shown:
            lists.append(shown)
            masks.append(mask & 15)
            sessions.append(times)
    codes = pl.DataFrame({"grade": range(5)})
    own = ClickLog(np.array(lists), np.arange(len(lists)), np.array(masks), np.array(sessions), codes)
    (kind,) = click_models(["DBN"])
    expected = expected_mean_rr(
        kind.fit(own).model, np.array([grades[one] for one in rows["configuration_id"]])
    )
    assert rows["DBN"].to_numpy() == pytest.approx(expected, abs=1e-6)
    kept = table.patterns.filter(pl.col("fold") == 1)["sessions"].sum()
    assert rows["n_sessions"].sum() <= kept < table.patterns["sessions"].sum()


def test_in_a_world_of_cascades_every_model_of_cascades_predicts_as_well_as_err(log):
    """There ERR is the expected MeanRR exactly: DBN, SDBN and CM have it among their special cases."""
    _, found = run_of(log, folds=2, metric=CASCADES)
    rows = found["configurations"]
    for name in CASCADES:
        assert rows[name].to_numpy() == pytest.approx(rows["ERR"].to_numpy(), abs=0.02), name
    overall = found["correlations"].filter(split="all", click_metric="MeanRR")
    by_name = dict(overall.select("editorial_metric", "correlation").iter_rows())
    for name in CASCADES:
        assert by_name[name] > by_name["ERR"] - 0.01, name
