"""Where few queries have most sessions, a decision over all queries is made with capped weights too."""

from dataclasses import replace

import numpy as np
import pytest

from clickassay.core.records import SampleKey
from clickassay.findings.arrays import graded_sample
from clickassay.findings.draw import draw_findings
from clickassay.findings.influence import MOST_WEIGHT, capped_run, with_capped_weights
from clickassay.findings.run import open_run
from clickassay.report.verdict.decision import advise_run
from support.one_correlation import weighted_correlation
from support.runs.sample_run import sample

NORTH = SampleKey("north", 5, "all")


@pytest.fixture(scope="module")
def run():
    """The sample's run: a few of its queries have most sessions."""
    return open_run(sample())


@pytest.fixture(scope="module")
def north(run):
    return graded_sample(run, NORTH).sample


def asked(run, **settings):
    """The run whose decision is about all queries, with its findings."""
    own = replace(run, settings=run.settings.model_copy(update={"question": "queries", **settings}))
    return own, draw_findings(own, np.random.default_rng(0))


def test_no_query_has_more_than_a_hundredth_of_the_sessions_and_the_others_keep_theirs(north):
    capped = with_capped_weights(north)
    before, after = (np.bincount(north.query_index, one.sessions) for one in (north, capped))
    limit = MOST_WEIGHT * north.sessions.sum()
    lists = np.bincount(north.query_index)
    assert (before > limit).sum() >= 5
    assert (after <= limit + lists).all()  # whole sessions, one at least
    np.testing.assert_array_equal(after[before <= limit], before[before <= limit])
    large = before > limit
    shares = capped.sessions[large[north.query_index]] / north.sessions[large[north.query_index]]
    expected = (limit / before)[north.query_index][large[north.query_index]]
    assert np.abs(shares - expected).max() <= (1 / north.sessions[large[north.query_index]]).max()


def test_correlations_with_capped_weights_are_weighted_so(run, north):
    rows = capped_run(run, NORTH).tables["correlations"]
    capped = with_capped_weights(north)
    click, metric = capped.click_names.index("MeanRR"), capped.editorial_names.index("ERR")
    expected, _ = weighted_correlation(
        capped.editorial_values[:, metric], capped.click_values[:, click], capped.sessions
    )
    found = rows.filter(click_metric="MeanRR", editorial_metric="ERR", split="all")["correlation"]
    assert found.to_list() == [pytest.approx(expected, abs=1e-12)]


def test_where_capped_weights_advise_something_else_it_is_said(run):
    own, findings = asked(run, current="NDCG")
    decision = findings.decision
    assert (decision.question, decision.kind, decision.is_heavy_tailed) == ("queries", "cannot_say", True)
    assert (decision.capped.kind, decision.capped.subject) == ("switch", "ERR")
    assert findings.capped.claims[0].ranking.against("NDCG")["ERR"].is_ahead
    advice = advise_run(own, findings)
    assert advice.caution == (
        "A few frequent queries dominate this log. With each query capped at 1% of the sessions, the result "
        "would be: \u201cSwitch from NDCG to ERR: ERR predicts significantly better which queries are badly "
        "served.\u201d"
    )


def test_where_both_advise_the_same_nothing_is_said_of_heavy_tails(run):
    own, findings = asked(run, current="NDCG", margin=1.0)
    assert (findings.decision.kind, findings.decision.subject) == ("keep", "NDCG")
    assert (findings.decision.is_heavy_tailed, findings.decision.capped) == (False, None)
    assert advise_run(own, findings).caution is None


def test_a_decision_within_queries_needs_no_capped_weights(run):
    findings = draw_findings(run, np.random.default_rng(0))
    assert (findings.decision.question, findings.capped) == ("rankings", None)
