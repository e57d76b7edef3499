"""Names of metrics: what is declared, what is printed, what parses back."""

import ir_measures
import pytest

from clickassay.core.errors import SettingsError
from clickassay.core.settings import Settings
from clickassay.metrics.catalogue import BASELINES, METRICS, report_measures
from clickassay.metrics.clicks import CLICK_METRICS
from clickassay.metrics.definition import Measure
from clickassay.metrics.editorial import EDITORIAL, EDITORIAL_METRICS
from clickassay.metrics.names import parse


def test_the_declared_metrics_are_those_of_the_method_in_its_order():
    assert CLICK_METRICS == ("UCTR", "MaxRR", "MeanRR", "MinRR", "PLC", "SS", "QCTR")
    assert EDITORIAL_METRICS == ("DCG", "NDCG", "AP", "RR", "ERR", "RBP")


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
        ("nDCG@10", r"known are .*nDCG\(dcg='exp-log2'\)"),  # linear gains in ir_measures: not our NDCG
        ("NDCG(dcg='log2')", "its parameters"),
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


def test_the_report_counts_one_more_grade_relevant_in_ap_and_rr_and_has_the_baselines_last():
    assert [str(measure) for measure in report_measures(Settings())] == [
        *EDITORIAL_METRICS,
        "AP(rel=2)",
        "RR(rel=2)",
        *BASELINES,
    ]


def test_a_run_takes_the_names_of_trec_eval_and_the_whole_catalogue_and_prints_ours():
    asked = (
        "ndcg_cut_5",
        "map",
        "MAP@5",
        "MRR",
        "Rprec",
        "F(beta=2)@5",
        "IPrec@0.1",
        "NDCG@3",
        "nDCG(dcg='jk-log2')",
    )
    found = [str(measure) for measure in report_measures(Settings(metric=asked))]
    assert found[-8:] == [
        "nDCG@5", "AP(rel=1)", "AP@5", "Rprec", "F(beta=2.0)@5", "IPrec@0.1", "NDCG@3", "nDCG(dcg='jk-log2')",
    ]  # fmt: skip
    assert found.count("RR") == 1


def test_there_is_no_variant_when_no_grade_lies_below_the_relevant_one():
    settings = Settings(scale=("no", "yes"), relevant_grade=1, success_grade=1)
    assert [str(measure) for measure in report_measures(settings)] == [*EDITORIAL_METRICS, *BASELINES]


@pytest.mark.parametrize("name", ["MeanGrade", "MeanGrade@1", "P@1", "P(rel=2)@5"])
def test_the_names_of_baselines_parse_back_among_all_metrics_but_not_among_the_papers(name):
    assert str(parse(name, METRICS)) == name
    with pytest.raises(SettingsError, match="unknown metric"):
        parse(name, EDITORIAL)


def test_measures_of_the_same_metric_with_other_parameters_differ():
    assert parse("AP(rel=2)", EDITORIAL) != parse("AP", EDITORIAL) != parse("AP@5", EDITORIAL)
    assert parse("AP", EDITORIAL) == Measure(EDITORIAL[2])
