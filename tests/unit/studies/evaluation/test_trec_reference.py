"""Every number that trec_eval expects of its own test files, for each measure that both have."""

from collections import defaultdict

import pytest

from clickassay.core.errors import SettingsError
from clickassay.core.settings import Settings
from clickassay.inputs.text.trec import read_qrels, read_run
from clickassay.metrics.lists import measure_values
from clickassay.metrics.names import parse_measure
from clickassay.studies.evaluation.lists import ranked_lists
from support.places import ROOT

TREC = ROOT / "../shared/data/trec_eval_test"
pytestmark = pytest.mark.skipif(not TREC.exists(), reason="the reference files are not here")

NOT_OURS = {
    *("runid", "num_q", "num_ret", "num_rel", "num_rel_ret", "num_nonrel_judged_ret", "relstring"),
    *("gm_map", "gm_bpref", "G", "binG", "Rndcg", "ndcg_rel", "utility", "set_map", "set_relative_P"),
    *("rbp", "rbp_resid", *(f"unj_{cut}" for cut in (5, 10, 20))),
    *(f"relative_P_{cut}" for cut in (5, 10, 15, 20, 30, 100, 200, 500, 1000)),
    *(f"Rprec_mult_{tenths / 5:.2f}" for tenths in range(1, 11)),
}


def expected(name):
    values = defaultdict(dict)
    for line in (TREC / name).read_text(encoding="utf-8").splitlines():
        measure, query, value = line.split()
        values[measure][query] = value
    return values


@pytest.mark.parametrize("outputs", ["out.test", "out.test.a", "out.test.aq"])
def test_every_measure_that_both_have_has_trec_evals_value_for_each_query_and_on_average(outputs):
    qrels, run = read_qrels(TREC / "qrels.test"), read_run(TREC / "results.test")
    lists = ranked_lists(run, qrels, ("301", "302", "303"), max_grade=4)
    compared = 0
    for name, by_query in expected(outputs).items():
        if name in NOT_OURS:
            continue
        ours = "nDCG(dcg='log2')" if name == "ndcg" else name
        values = measure_values(parse_measure(ours), lists, Settings(relevant_grade=1))
        found = dict(zip(lists.queries, values, strict=True)) | {"all": values.mean()}
        for query, value in by_query.items():
            assert found[query] == pytest.approx(float(value), abs=0.5000001e-4), (name, query)
            compared += 1
    assert compared >= {"out.test": 24, "out.test.a": 60, "out.test.aq": 240}[outputs]


@pytest.mark.parametrize("name", sorted(NOT_OURS))
def test_what_we_do_not_have_is_refused_not_guessed(name):
    with pytest.raises(SettingsError):
        parse_measure(name)
