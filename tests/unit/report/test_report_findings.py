"""Headline, findings and caveats, judged on tables whose numbers are written down here."""

import polars as pl
import pytest

from clickassay.core.contracts.form import ContractError
from clickassay.core.errors import ReportError
from clickassay.core.records import SampleKey
from clickassay.report import findings
from clickassay.report.caveats import caveats
from clickassay.report.model import SAMPLES_SHOWN, read_run
from support.reports.report_tables import (
    empty_tables,
    frame_of,
    nothing_kept_tables,
    one_configuration_tables,
    run_info,
    run_tables,
)
from support.reports.report_world import BASELINES

KEY = {"market": "m", "depth": 5, "judge": "j"}


def statistics(*rows):
    """Rows of (market, depth, judge, kept sessions)."""
    return frame_of("statistics", [(*key, 4, 9, kept, 1000, kept / 1000) for *key, kept in rows])


def correlations(values, click_metric="MeanRR", key=None, caution=None):
    """One overall row per editorial metric: (value, low, high)."""
    shared = {
        **(key or KEY),
        "split": "all",
        "class": "all",
        "click_metric": click_metric,
        "n_configurations": 9,
        "n_queries": 4,
        "n_sessions": 50,
        "caution": caution,
    }
    rows = [
        {
            **shared,
            "editorial_metric": name,
            "correlation": value,
            "ci_low": low,
            "ci_high": high,
            "null_correlation": None if value is None else 0.0,
            "reason": None if value is not None else "no variance",
        }
        for name, (value, low, high) in values.items()
    ]
    return frame_of("correlations", rows)


def comparisons(pairs, caution=None):
    """Rows of (metric_a, metric_b): (difference, low, high, adjusted p, queries needed) with MeanRR."""
    rows = [
        (*KEY.values(), "MeanRR", *pair, *ends, 0.0001, p, needed, 4, caution)
        for pair, (*ends, p, needed) in pairs.items()
    ]
    return frame_of("comparisons", rows)


def run_of(**frames):
    tables = {**empty_tables(), "statistics": statistics(("m", 5, "j", 50)), **frames}
    return read_run(tables, run_info())


def headline_and_first_finding(run):
    ranking = findings.rank(run, run.headline)
    return findings.title(run, ranking), findings.first_finding(run, ranking)


CLEAR = {"DCG": (0.22, 0.20, 0.24), "AP": (0.40, 0.36, 0.41), "ERR": (0.48, 0.46, 0.50)}


def test_a_clear_winner_is_named_with_value_lead_and_intervals():
    pairs = {
        ("DCG", "ERR"): (-0.26, -0.30, -0.22, 0.001, 60),
        ("AP", "ERR"): (-0.08, -0.10, -0.05, 0.01, 80),
    }
    title, finding = headline_and_first_finding(
        run_of(correlations=correlations(CLEAR), comparisons=comparisons(pairs))
    )
    assert title == "ERR predicts clicks best"
    assert finding.key == "0.480"
    assert finding.text == (
        "ERR has the highest correlation with MeanRR, 0.480 (95 % interval 0.460 to 0.500). It is 0.080 "
        "above AP, the next (95 % interval 0.050 to 0.100). It is significantly above all others."
    )


TIED = {
    ("DCG", "ERR"): (-0.26, -0.30, -0.22, 0.001, 60),
    ("AP", "ERR"): (-0.08, -0.17, -0.01, 0.051, 1234),
}


def test_metrics_that_do_not_differ_significantly_from_the_best_are_named_with_the_queries_it_would_take():
    title, finding = headline_and_first_finding(
        run_of(correlations=correlations(CLEAR), comparisons=comparisons(TIED))
    )
    assert title == "ERR comes first, but is not significantly different from AP"
    words = "It is 0.260 above DCG, the next that is significantly different (95 % interval 0.220 to 0.300)."
    assert words in finding.text
    assert finding.text.endswith(
        "It is not significantly different from AP; to show a difference from AP would take about 1,200 "
        "judged queries, and there are 4."
    )


@pytest.mark.parametrize("needed", [None, 3e8])
def test_queries_that_nobody_could_judge_are_not_promised(needed):
    pairs = {**TIED, ("AP", "ERR"): (-0.08, -0.17, -0.01, 0.9, needed)}
    _, finding = headline_and_first_finding(
        run_of(correlations=correlations(CLEAR), comparisons=comparisons(pairs))
    )
    assert finding.text.endswith("It is not significantly different from AP.")


def test_the_finding_says_when_its_own_interval_is_not_to_be_relied_on():
    doubtful = correlations(CLEAR, caution="a few influential queries decide")
    _, finding = headline_and_first_finding(run_of(correlations=doubtful, comparisons=comparisons(TIED)))
    words = "0.460 to 0.500). Do not rely on this interval: a few influential queries decide. It is"
    assert words in finding.text


def test_the_finding_says_when_the_interval_of_the_lead_is_not_to_be_relied_on():
    doubtful = comparisons(TIED, caution="fewer than 50 queries")
    _, finding = headline_and_first_finding(run_of(correlations=correlations(CLEAR), comparisons=doubtful))
    assert finding.text.count("Do not rely on this interval") == 1
    assert "0.300). Do not rely on this interval: fewer than 50 queries. It is not" in finding.text


def test_the_finding_says_why_it_has_no_interval():
    none = {name: (value, None, None) for name, (value, _, _) in CLEAR.items()}
    frame = correlations(none, caution="no interval: too few queries vary")
    _, finding = headline_and_first_finding(run_of(correlations=frame))
    assert "0.480 (no interval). It has no interval: too few queries vary." in finding.text


def test_without_a_caution_no_finding_has_one():
    run = run_of(correlations=correlations(CLEAR), comparisons=comparisons(TIED))
    assert "rely" not in headline_and_first_finding(run)[1].text


def test_a_lead_without_interval_is_not_called_a_win():
    title, finding = headline_and_first_finding(run_of(correlations=correlations(CLEAR)))
    assert title == "ERR has the highest correlation with clicks"
    assert finding.text.endswith("Whether it differs from AP and DCG was not tested.")


@pytest.mark.parametrize("top", [(0.05, -0.02, 0.12), (-0.10, -0.2, -0.05)])
def test_a_best_correlation_that_may_be_zero_predicts_nothing(top):
    title, finding = headline_and_first_finding(
        run_of(correlations=correlations({"DCG": (-0.3, -0.4, -0.2), "ERR": top}))
    )
    assert title == "No offline metric can be shown to predict clicks"
    assert finding.text.endswith("which is not significantly above zero.")


def test_a_single_metric_is_reported_without_rivals():
    lone = correlations({"ERR": (0.4, 0.3, 0.5), "AP": (None, None, None)})
    title, finding = headline_and_first_finding(run_of(correlations=lone))
    assert title == "ERR has the highest correlation with clicks"
    assert finding.text.endswith("No other metric has a value.")


def test_without_any_value_the_reason_is_given():
    title, finding = headline_and_first_finding(
        run_of(correlations=correlations({"ERR": (None, None, None)}))
    )
    assert title == "Nothing can be said about metrics and clicks"
    assert finding.text == "There is no correlation with MeanRR to report: no variance."


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([("a", 10, "x", 900), ("a", 5, "x", 20), ("b", 5, "x", 30)], ("b", 5, "x")),
        ([("a", 5, "x", 0), ("a", 10, "x", 9), ("b", 10, "x", 8)], ("a", 10, "x")),
        ([("b", 5, "z", 30), ("b", 5, "y", 10), ("a", 5, "y", 30)], ("a", 5, "y")),
        ([("b", 5, "z", 30), ("b", 5, "y", 10)], ("b", 5, "y")),
    ],
)
def test_the_headline_sample_has_the_smallest_depth_then_most_sessions_then_the_first_judge(rows, expected):
    run = run_of(statistics=statistics(*rows))
    assert run.headline == SampleKey(*expected)
    assert run.shown[0] == run.headline


def test_the_page_shows_a_limited_number_of_samples_with_the_headline_first():
    rows = [(f"m{n:02}", depth, "j", 100 * depth - n) for n in range(20) for depth in (5, 10)]
    run = run_of(statistics=statistics(*rows))
    assert (len(run.shown), run.n_samples) == (SAMPLES_SHOWN, 40)
    assert run.shown[0] == SampleKey("m00", 5, "j")


def differences(values, caution=None):
    """Rows of the metrics: (closed form, sign agreement)."""
    rows = [
        {
            **KEY,
            "click_metric": "MeanRR",
            "editorial_metric": name,
            "exact": exact,
            "ci_low": exact - 0.1,
            "ci_high": exact + 0.1,
            "sign_agreement": sign,
            "caution": caution,
        }
        for name, (exact, sign) in values.items()
    ]
    return frame_of("differences", rows)


def test_the_second_finding_names_the_metric_whose_differences_correlate_best():
    run = run_of(differences=differences({"DCG": (0.187, 0.56), "AP": (0.361, 0.6176), "ERR": (0.3, 0.597)}))
    finding = findings.second_finding(run, None)
    assert finding.key == "61.8 %"
    words = "differences in AP and in MeanRR have a correlation of 0.361 (95 % interval 0.261 to 0.461)"
    assert words in finding.text
    assert "AP and MeanRR then prefer the same ranking in 61.8 % of the cases" in finding.text
    assert "rely" not in finding.text


def test_the_second_finding_says_when_its_interval_is_not_to_be_relied_on():
    run = run_of(differences=differences({"AP": (0.361, 0.6176)}, caution="fewer than 50 queries"))
    finding = findings.second_finding(run, None)
    assert "metrics. Do not rely on this interval: fewer than 50 queries. AP and MeanRR then" in finding.text


def test_the_third_finding_counts_where_the_winner_leads_without_ss_and_qctr():
    other = {"market": "m", "depth": 10, "judge": "j"}
    flipped = {"ERR": (0.1, 0.0, 0.2), "AP": (0.2, 0.1, 0.3)}
    frames = [
        correlations(CLEAR),
        correlations(CLEAR, "UCTR"),
        correlations(CLEAR, key=other),
        correlations(flipped, "UCTR", other),
        correlations(flipped, "SS"),
        correlations(flipped, "QCTR"),
    ]
    run = run_of(correlations=pl.concat(frames))
    finding = findings.third_finding(run, findings.rank(run, run.headline))
    assert finding.key == "3 of 4"
    assert finding.text.startswith("ERR has the highest correlation in 3 of 4 combinations")
    assert finding.text.endswith("in the others, AP does.")


def test_a_run_that_kept_nothing_says_where_its_sessions_went():
    run = read_run(nothing_kept_tables(), run_info())
    makers = (findings.first_finding, findings.second_finding, findings.third_finding)
    texts = [finding(run, None).text for finding in makers]
    assert texts[0] == (
        "There is no correlation to report: no session was kept; most were lost because of: "
        "a result without a grade (880)."
    )
    assert texts[1].startswith("The choice between two rankings cannot be evaluated: no session was kept")
    assert texts[2] == "Of 900 sessions, none has a grade for every result down to the depth."


def test_a_run_of_one_configuration_gives_its_reason():
    run = read_run(one_configuration_tables(), run_info())
    ranking = findings.rank(run, run.headline)
    assert findings.first_finding(run, ranking).text.endswith("to report: one configuration.")
    assert findings.second_finding(run, None).text.endswith("cannot be evaluated: one configuration.")
    assert "at most 12 have a grade" in findings.third_finding(run, ranking).text


def test_the_scope_says_which_numbers_are_the_headline_and_why():
    run = read_run(run_tables(), run_info())
    assert findings.scope(run) == (
        "Headline numbers are for market m1, depth 5, judge editor (the market with the most sessions kept, "
        "the smallest depth and the first judge) and the click metric MeanRR."
    )
    assert findings.scope(run_of()).startswith("Headline numbers are for market m, depth 5, judge j and")


def test_caveats_name_validity_position_bias_coverage_and_ss():
    run = read_run(run_tables(), run_info())
    text = " ".join(caveats(run))
    for words in (
        "Correlation is not validity",
        "Position bias",
        "Coverage",
        "SS uses the grades itself",
    ):
        assert words in text
    coverage = run.headline.rows(run.frames["statistics"])["coverage"][0]
    assert f"{100 * coverage:.1f} % of the sessions are fully judged" in text
    overall = run_tables()["correlations"].filter(market="m1", depth=5, judge="editor", split="all")
    first = overall.filter(click_metric="MeanRR", editorial_metric="MeanGrade@1")["correlation"][0]
    assert f"the grade of the first result alone has a correlation of {first:.3f}." in text
    ss = overall.filter(click_metric="SS").to_dicts()
    null, name = max(
        (row["null_correlation"], row["editorial_metric"])
        for row in ss
        if row["editorial_metric"] not in BASELINES
    )
    assert f"if clicks ignored the grades, its correlation with {name} would still be {null:.3f}." in text


def test_a_missing_table_is_refused_with_what_a_run_has():
    tables = {name: frame for name, frame in empty_tables().items() if name != "funnel"}
    with pytest.raises(ReportError, match="no table funnel to report; a run has statistics, funnel"):
        read_run(tables, run_info())


def test_a_table_without_a_column_of_its_contract_is_refused():
    tables = {**empty_tables(), "statistics": pl.DataFrame({"market": ["m"]})}
    with pytest.raises(ContractError, match="table statistics: missing columns"):
        read_run(tables, run_info())
