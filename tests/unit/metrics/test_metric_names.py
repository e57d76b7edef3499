"""Names of metrics: what is declared, what is printed, what parses back."""

import ir_measures
import pytest

from clickassay import measures
from clickassay.core.errors import SettingsError
from clickassay.core.settings import Settings
from clickassay.metrics.catalogue import METRICS, report_measures
from clickassay.metrics.editorial import EDITORIAL
from clickassay.metrics.names import MEASURES, parse, parse_measure, parse_measures


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("ERR", "ERR"),
        ("AP(rel=2)", "AP(rel=2)"),
        (" RR( rel = 2 )@5 ", "RR(rel=2)@5"),
        ("RBP(p=.8)@10", "RBP(p=0.8)@10"),
        ("RBP(max_rel=4, p=0.5)", "RBP(p=0.5,max_rel=4)"),
        ("nDCG(dcg='exp-log2')@10", "NDCG@10"),
        ('nDCG(dcg="exp-log2")', "NDCG"),
        ("DCG()@62", "DCG@62"),
    ],
)
def test_a_name_has_one_canonical_form_that_parses_back(text, name):
    measure = parse(text, EDITORIAL)
    assert str(measure) == name
    assert parse(str(measure), EDITORIAL) == measure


@pytest.mark.parametrize("name", ["AP(rel=2)", "RR(rel=2)@5", "RBP(p=0.5)@10", "ERR@20"])
def test_ir_measures_prints_the_same_name(name):
    assert repr(ir_measures.parse_measure(name)) == str(parse(name, EDITORIAL)) == name


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "expected a name like"),
        ("AP(rel=2", "expected a name like"),
        ("ERR@", "expected a name like"),
        ("P@5", r"unknown metric P; did you mean AP\? known are DCG"),
        ("NDCG(rel=2)", "its parameters"),
        ("ERR@0", "1..62"),
        ("ERR@63", "1..62"),
        ("AP(2)", "rel=value"),
        ("AP(rel=2,rel=2)", "once"),
        ("AP(rel=0)", "grade of 1..30"),
        ("AP(rel=2.0)", "grade of 1..30"),
        ("RBP(p=1)", "between 0 and 1"),
        ("RBP(p=nan)", "between 0 and 1"),
        ("DCG(rel=2)", "gains=.value value …."),
    ],
)
def test_a_wrong_name_is_refused_with_what_was_expected(text, complaint):
    with pytest.raises(SettingsError, match=complaint):
        parse(text, EDITORIAL)


def test_a_run_takes_the_names_of_trec_eval_and_the_whole_catalogue_and_prints_ours():
    asked = "ndcg_cut_5 map MAP@5 MRR Rprec F(beta=2)@5 IPrec@0.1 NDCG@3 nDCG(dcg='jk-log2')"
    found = [str(measure) for measure in report_measures(Settings(metric=tuple(asked.split())))]
    assert found[-9:] == [
        "nDCG(dcg='log2')@5", "AP(rel=1)", "AP(rel=1)@5", "RR(rel=1)", "Rprec", "F(beta=2.0)@5",
        "IPrec@0.1", "NDCG@3", "nDCG(dcg='jk-log2')",
    ]  # fmt: skip
    assert found.count("RR") == 1


@pytest.mark.parametrize("name", ["MeanGrade", "MeanGrade@1", "P@1", "P(rel=2)@5"])
def test_the_names_of_baselines_parse_back_among_all_metrics_but_not_among_the_papers(name):
    assert str(parse(name, METRICS)) == name
    with pytest.raises(SettingsError, match="unknown metric"):
        parse(name, EDITORIAL)


@pytest.mark.parametrize(
    ("names", "meaning"),
    [
        (("NDCG@5", "nDCG@5", "ndcg@5", "nDCG(dcg='exp-log2')@5", "nDCG(ideal='judged')@5"), "NDCG@5"),
        (("ERR@5", "err@5", "Err@5"), "ERR@5"),
        (("map", "MAP", "Map"), "AP(rel=1)"),
        (("MRR", "mrr", "recip_rank"), "RR(rel=1)"),
        (("MAP(rel=2)@5", "map(rel=2)@5", "AP(rel=2)@5"), "AP(rel=2)@5"),
        (("ndcg_cut_5", "ndcg_cut.5", "NDCG_CUT_5", "nDCG(dcg='log2')@5"), "nDCG(dcg='log2')@5"),
        (("Bpref", "bpref"), "Bpref"),
        (("F1@5", "f1@5", "F(rel=1)@5"), "F(rel=1)@5"),
        (("hit_rate@5", "HitRate@5", "success_5", "success.5"), "Success(rel=1)@5"),
        (("HR@1", "Hits@1", "Accuracy@1", "hits@1", "accuracy@1"), "Success(rel=1)@1"),
    ],
)
def test_a_name_means_one_thing_in_any_case_in_a_run_and_in_evaluate(names, meaning):
    in_a_run = report_measures(Settings(metric=tuple(names)))
    asked = [one for one in in_a_run if str(one) == meaning]
    assert len(asked) == 1
    own = len(report_measures(Settings()))
    assert len(in_a_run) == own + (meaning not in map(str, report_measures(Settings())))
    assert {str(parse_measure(name)) for name in names} == {meaning}


@pytest.mark.parametrize("name", ["ndcg", "rbp"])
def test_a_name_that_is_another_measure_in_trec_eval_is_refused_with_both(name):
    with pytest.raises(SettingsError, match=r"is ambiguous, as trec_eval defines it differently: .*write"):
        parse_measure(name)
    with pytest.raises(SettingsError, match=r"is ambiguous, as trec_eval defines it differently: .*write"):
        report_measures(Settings(metric=(name,)))


def test_no_two_names_of_the_catalogue_differ_by_case_alone():
    names = [metric.name.lower() for metric in {*METRICS, *MEASURES}]
    assert len(set(names)) == len(names)


def test_several_cuts_after_a_name_are_measures_of_their_own_as_options_of_trec_eval_have_them():
    found = parse_measures("P.5,10 ndcg_cut.10,20, map AP(rel=2)@5")
    assert [str(one) for one in found] == [
        "P(rel=1)@5", "P(rel=1)@10", "nDCG(dcg='log2')@10", "nDCG(dcg='log2')@20", "AP(rel=1)", "AP(rel=2)@5",
    ]  # fmt: skip


def test_python_has_every_name_that_text_has():
    assert str(measures.map @ 5) == "AP(rel=1)@5"
    assert str(measures.ndcg_cut_10) == "nDCG(dcg='log2')@10"
    assert str(measures.f1 @ 10) == "F(rel=1)@10"
    with pytest.raises(AttributeError, match=r"no measure ndcg; .* trec_eval defines it differently"):
        measures.ndcg  # noqa: B018
