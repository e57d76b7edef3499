"""A run read back from its folder: what is missing, broken or asked for in vain is named."""

import json
from collections import Counter

import numpy as np
import polars as pl
import pytest

from clickassay.core.contracts.run import LAYOUT, STATISTICS
from clickassay.core.errors import ActiveError, ReportError
from clickassay.core.records import SampleChoice, SampleKey
from clickassay.findings.arrays import graded_sample, without_fold
from clickassay.findings.ranking import rank
from clickassay.findings.run import open_run, run_of
from clickassay.studies.labelling.plan_folder import propose_judgments
from support.runs.sample_run import copied_run, sample

INFO = {"inputs": {}, "layout": LAYOUT, "settings": {}, "versions": {}}


@pytest.mark.slow
def test_the_largest_sample_that_fits_a_choice_is_taken():
    run = open_run(sample())
    assert run.key() == SampleKey("north", 5, "all")
    assert run.key(SampleChoice(market="south", depth=10)) == SampleKey("south", 10, "all")
    with pytest.raises(ReportError, match=r"no judged configurations of market west, depth 5; it has: \('no"):
        run.key(SampleChoice("west", 5))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, r"no settings\.json in .*: give a folder that `clickassay run` made"),
        ("{", r"settings\.json is broken \(.*\); make the run again"),
        ("[]", r"settings\.json is broken \(it is not a JSON object\)"),
        ("{}", r"is broken"),
        ("[" * 100_000, r"settings\.json is broken"),
        ('{"inputs": [], "settings": {}, "versions": {}}', r"is broken"),
        (json.dumps({**INFO, "settings": {"scale": ["a"], "max_grade": "x"}}), r"settings\.json is broken"),
        (json.dumps({**INFO, "settings": {"scale": ["a", "b"], "max_grade": 1, "depth": [0]}}), "is broken"),
    ],
)
def test_settings_that_cannot_be_read_are_named(tmp_path, text, message):
    if text is not None:
        (tmp_path / "settings.json").write_text(text)
    with pytest.raises(ReportError, match=message):
        _ = open_run(tmp_path).settings


@pytest.mark.slow
@pytest.mark.parametrize("layout", [None, 1, LAYOUT + 1])
@pytest.mark.parametrize("read", [lambda run: run.settings, lambda run: run.tables[STATISTICS.name]])
def test_a_run_of_another_layout_is_refused_with_what_to_run(tmp_path, layout, read):
    copied_run(tmp_path / "run")
    (tmp_path / "run" / "settings.json").write_text(json.dumps({**INFO, "layout": layout}))
    with pytest.raises(ReportError, match=r"made by another version .* `clickassay run` or `clickassay rep"):
        read(open_run(tmp_path / "run"))


def test_a_sheet_to_label_that_cannot_be_made_says_why():
    with pytest.raises(ActiveError, match="has no results to propose for coverage of market west"):
        propose_judgments(sample(), "coverage", 100, SampleChoice(market="west"))
    for budget in (float("nan"), float("inf"), -1, 0):
        with pytest.raises(ActiveError, match="buys no label: give a number above 0"):
            propose_judgments(sample(), "coverage", budget)
    with pytest.raises(ActiveError, match=r"a budget of 0\.5 labels is below the \d+ of the first query"):
        propose_judgments(sample(), "coverage", 0.5)


def test_a_run_from_its_folder_and_from_its_tables_is_the_same():
    folder = open_run(sample())
    frames = run_of({name: folder.tables[name] for name in folder.tables}, folder.info)
    assert (frames.samples, frames.settings) == (folder.samples, folder.settings)
    assert (frames.editorial, frames.clicks, frames.counted) == (
        folder.editorial, folder.clicks, folder.counted,
    )  # fmt: skip
    assert rank(frames, frames.headline) == rank(folder, folder.headline)
    assert frames.labels.rule == folder.labels.rule


@pytest.mark.slow
@pytest.mark.parametrize("folds", [2, 16])
def test_without_a_fold_of_users_a_sample_has_the_lists_and_the_clicks_of_the_others(folds):
    run = open_run(sample())
    key = run.key()
    whole = graded_sample(run, key, folds).sample
    left = without_fold(whole, 1)
    patterns = run.tables["patterns"].filter(pl.col("fold") % folds != 1)
    sessions, clicks = Counter(), Counter()
    for name, mask, number in patterns.select("configuration_id", "click_mask", "sessions").iter_rows():
        sessions[name] += number
        clicks[name] += number * mask.bit_count()
    ids = [name for name in whole.configuration_ids if name in sessions]
    assert len(ids) < len(whole.sessions) or folds > 2
    assert left.configuration_ids.to_list() == ids
    assert left.sessions.tolist() == [sessions[name] for name in ids]
    np.testing.assert_allclose(
        left.click_values[:, left.click_names.index("QCTR")],
        [clicks[name] / sessions[name] for name in ids],
        rtol=1e-12,
        atol=1e-12,
    )
    queries = run.tables["configurations"].filter(**key.columns).select("configuration_id", "query")
    of_id = dict(queries.iter_rows())
    assert [left.queries[index] for index in left.query_index] == [of_id[name] for name in ids]
