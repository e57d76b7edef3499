"""The pages on metrics and on reasons against the code, other tools, and arithmetic done here."""

import itertools
import math
import re
import shutil
from functools import cache
from statistics import fmean as mean

import ir_measures
import numpy as np
import polars as pl
import pytest
import pytrec_eval
from scipy import stats

from clickassay.core.settings import Settings
from clickassay.correlation.rankers import exact_correlations, query_covariances, within_queries
from clickassay.metrics.catalogue import BASELINES, METRICS, editorial_values, report_measures
from clickassay.metrics.clicks import CLICK_METRICS, CLICKS, click_values
from clickassay.metrics.editorial import EDITORIAL_METRICS
from clickassay.metrics.names import parse
from support.one_correlation import weighted_correlation
from support.oracle.oracle_metrics import err as err_of
from support.pages import parts
from support.places import ROOT
from support.runs.given_sample import sample_of
from support.runs.sample_run import table

PAGE, WHY = (
    (ROOT / "docs" / name).read_text(encoding="utf-8").replace("\N{MINUS SIGN}", "-")
    for name in ("reference/metrics.md", "explanation/why.md")
)
VARIANTS = ("AP(rel=2)", "RR(rel=2)")
SETTINGS = Settings()
DEPTH = 5

# the example of the page
SHOWN = [2, 4, 0, 3, 1]
JUDGED = [*SHOWN, 4, 2]
CLICKED = [()] * 3 + [(2,)] * 3 + [(3,)] + [(1, 4)] * 2 + [(2, 5)]
SOME = [clicked for clicked in CLICKED if clicked]


def rows(text):
    """Return the cells of the rows of pipe tables, rules left out."""
    lines = [line.strip().strip("|").split("|") for line in text.splitlines() if line.startswith("|")]
    stripped = [[cell.strip() for cell in line] for line in lines]
    return [row for row in stripped if set("".join(row)) - set("-:")]


CHAPTERS = parts(PAGE)
SECTIONS = {
    name: text
    for chapter in ("Click metrics", "Offline metrics", "Baselines")
    for name, text in parts(CHAPTERS[chapter], "###").items()
}


FACTS = ("formula", "range", "settings", "from judgments", "edge cases", "example", "source")
NEEDED = {"formula", "range", "edge cases", "example"}


def facts(name):
    """Return the list of facts of a metric: {what: text}."""
    lines = re.findall(rf"^- \*({'|'.join(FACTS)})\* (.+)$", SECTIONS[name], flags=re.MULTILINE)
    return dict(lines)


def other_tools(name):
    """Return the rows of the second table of a metric: (tool, number, why)."""
    return [tuple(row) for row in rows("| other tools" + SECTIONS[name].split("| other tools")[1])[1:]]


def ours(name, grades=None, judged=None):
    """The metrics of the package for one list, or for the sessions of the example."""
    if name in CLICK_METRICS:
        return of_clicks([sum(1 << (place - 1) for place in clicked) for clicked in CLICKED])[name]
    pool = np.bincount(JUDGED if judged is None else judged, minlength=5)[None]
    return of_grades(SHOWN if grades is None else grades, pool, SETTINGS)[name]


def of_grades(grades, pool, *settings):
    names, found = editorial_values(np.array([grades], dtype=np.int8), pool, *settings)
    return dict(zip(names, found[0], strict=True))


def of_clicks(masks):
    good = sum(1 << place for place, grade in enumerate(SHOWN) if grade >= SETTINGS.success_grade)
    zeros, ones = np.zeros(len(masks), dtype=np.int64), np.ones(len(masks), dtype=np.int64)
    found = click_values(zeros, np.array(masks, dtype=np.int64), ones, np.array([good]), depth=DEPTH)
    return dict(zip(CLICK_METRICS, found.means[0], strict=True))


# ---- arithmetic written out on the pages --------------------------------------------------------
SPELLINGS = {"·": "*", "log₂": "log2", "√": "sqrt", "π": "pi", "²": "**2"}


def calculated(text):
    """Compute an expression of numbers, + - · / ², brackets, log₂(), √() and asin()."""
    for sign, spelling in SPELLINGS.items():
        text = text.replace(sign, spelling)
    names = {name: getattr(math, name) for name in ("log2", "sqrt", "asin", "pi")}
    return eval(text, {"__builtins__": {}}, names)  # noqa: S307 - our own page


def worked(text):
    """Return the expression and the bold result of a worked example; words before a colon are left out."""
    expression, result = re.fullmatch(r"(?:.*: )?([^:]+) = \*\*([\d.]+)\*\*", text).groups()
    return calculated(expression), float(result)


# ---- docs/reference/metrics.md: what there is -------------------------------------------------
def test_the_page_has_every_metric_of_a_run_in_the_order_of_reports():
    assert tuple(SECTIONS) == (*CLICK_METRICS, *EDITORIAL_METRICS, *VARIANTS, *BASELINES)
    assert tuple(SECTIONS)[len(CLICK_METRICS) :] == tuple(map(str, report_measures(SETTINGS)))


def test_the_overview_names_every_metric_once():
    named = re.findall(r"`([^`]+)`", " ".join(row[0] for row in rows(PAGE.split("\n## ")[0])[1:]))
    assert sorted(named) == sorted(SECTIONS)


@pytest.mark.parametrize("name", SECTIONS)
def test_every_metric_says_the_same_things_in_the_same_order(name):
    assert list(facts(name)) == [fact for fact in FACTS if fact in facts(name)]
    assert set(facts(name)) >= NEEDED
    assert SECTIONS[name].count("\n- ") == len(facts(name))


def declared(name):
    return next(metric for metric in (*CLICKS, *METRICS) if metric.name == re.split(r"[(@]", name)[0])


@pytest.mark.parametrize("name", SECTIONS)
def test_settings_and_source_of_a_metric_are_those_it_declares(name):
    metric, said = declared(name), facts(name)
    (chapter,) = (text for text in CHAPTERS.values() if f"### {name}\n" in text)
    assert metric.source in said.get("source", chapter.split("###")[0])
    expected = {parameter.setting for parameter in metric.parameters} - {None}
    expected |= {"pool"} if "pool" in metric.needs else set()
    expected |= {"success_grade"} if "good" in metric.needs else set()
    assert expected == set(re.findall(r"`(\w+)`", said.get("settings", ""))).intersection(
        Settings.model_fields
    )
    for setting in expected - {"pool"}:
        assert f"`{setting}` ({getattr(SETTINGS, setting)})" in said["settings"]


@cache
def values_of_all_lists():
    lists = np.array(list(itertools.product(range(5), repeat=DEPTH)), dtype=np.int8)
    names, values = editorial_values(lists, None, Settings(pool="shown"))
    clicks = [of_clicks([mask]) for mask in range(1 << DEPTH)]
    return dict(zip(names, values.T.tolist(), strict=True)) | {
        name: [one[name] for one in clicks] for name in CLICK_METRICS
    }


@pytest.mark.parametrize("name", SECTIONS)
def test_the_range_is_that_of_all_lists_and_all_sessions_at_depth_5(name):
    low, high = re.match(r"(\d) … ([\d.]+)", facts(name)["range"]).groups()
    found = values_of_all_lists()[name]
    assert min(found) == float(low)
    assert max(found) == pytest.approx(float(high), abs=5e-5)


# ---- docs/reference/metrics.md: worked examples -----------------------------------------------
def test_the_example_on_the_page_is_the_example_of_these_tests():
    said = dict(rows(CHAPTERS["One example for all"])[1:])
    numbers = {what: [int(number) for number in re.findall(r"\d+", text)] for what, text in said.items()}
    assert numbers.pop("grades of its results, first to fifth") == SHOWN
    more = numbers.pop("two more judged results of the query, which this configuration does not show")
    assert SHOWN + more == JUDGED
    sessions = []
    for what, (count,) in numbers.items():
        sessions += [tuple(map(int, re.findall(r"\d", what)))] * count
    assert sessions == CLICKED


@pytest.mark.parametrize("name", SECTIONS)
def test_the_worked_example_is_what_its_arithmetic_gives_and_what_the_package_computes(name):
    by_hand, said = worked(facts(name)["example"])
    assert said == pytest.approx(by_hand, abs=5e-5)
    assert ours(name) == pytest.approx(by_hand, abs=1e-12)


def test_edge_cases_with_numbers_hold():
    assert "1 and 4 give 0.625" in facts("MeanRR")["edge cases"]
    assert of_clicks([0b1001])["MeanRR"] == 0.625
    assert "g_max 5 the example has 0.3348" in facts("ERR")["edge cases"]
    assert ours_with(scale=tuple("abcdef"))["ERR"] == pytest.approx(0.3348, abs=5e-5)
    assert "p = 0.9 the example has 0.1391" in facts("RBP")["edge cases"]
    assert ours_with(persistence=0.9)["RBP"] == pytest.approx(0.1391, abs=5e-5)


def ours_with(**settings):
    return of_grades(SHOWN, None, Settings(pool="shown", **settings))


def test_without_a_relevant_result_nothing_is_nan_and_the_page_says_0():
    for name in (*EDITORIAL_METRICS, *VARIANTS):
        assert ours(name, [0] * DEPTH, [0] * 7) == 0
        assert name in VARIANTS or re.search(r"\b0\b", facts(name)["edge cases"])


def test_the_variants_follow_the_settings_as_the_page_says():
    assert list(map(str, report_measures(Settings(relevant_grade=2))))[6:8] == ["AP(rel=1)", "RR(rel=1)"]
    assert list(map(str, report_measures(Settings(relevant_grade=1))))[6:] == list(BASELINES)


OWN = dict(row for row in rows(CHAPTERS["Values of your own"]) if row[0].startswith("`") and len(row) == 2)


def test_every_parameter_of_values_has_an_example():
    assert {re.match(r"`(\w+)", name)[1] for name in OWN} == {"ERR", "RBP", "DCG", "nDCG"}
    assert any("utilities" in name for name in OWN)


@pytest.mark.parametrize("name", OWN)
def test_the_example_of_values_of_your_own_is_what_the_package_computes(name):
    by_hand, said = worked(OWN[name])
    pool, measure = np.bincount(JUDGED, minlength=5)[None], parse(name.strip("`"), METRICS)
    (found,) = of_grades(SHOWN, pool, SETTINGS, (measure,)).values()
    assert said == pytest.approx(by_hand, abs=5e-5)
    assert found == pytest.approx(by_hand, abs=1e-12)


def test_linear_gains_are_those_of_the_tools_that_the_page_names():
    _, linear = worked(OWN["`nDCG(gains='0 1 2 3 4')`"])
    by_trec_eval = pytrec_eval.RelevanceEvaluator(qrels(), {"ndcg_cut_5"}).evaluate(run())["1"]
    for found in (by_trec_eval["ndcg_cut_5"], by_ir_measures("nDCG@5")):
        assert found == pytest.approx(linear, abs=5e-5)


# ---- docs/reference/metrics.md: other tools ---------------------------------------------------
def by_ir_measures(measure):
    needs_perl = measure.startswith("ERR") or "exp" in measure
    if needs_perl and shutil.which("perl") is None:
        pytest.skip("gdeval is a Perl script")
    found = [item.value for item in ir_measures.parse_measure(measure).iter_calc(qrels(), run())]
    return found[0]


def qrels():
    return {"1": {f"d{place}": grade for place, grade in enumerate(JUDGED)}}


def run():
    return {"1": {f"d{place}": float(-place) for place in range(DEPTH)}}


BY_RULE = {
    ("UCTR", "abandonment rate"): CLICKED.count(()) / len(CLICKED),
    ("UCTR", "click-through rate per result"): sum(map(len, CLICKED)) / (len(CLICKED) * DEPTH),
    ("MaxRR", "mean reciprocal rank of clicked sessions"): mean(1 / min(places) for places in SOME),
    ("MaxRR", "mean rank of the highest click"): mean(min(places) for places in SOME),
    ("MeanRR", "mean reciprocal rank of clicked sessions"): mean(
        mean(1 / place for place in places) for places in SOME
    ),
    ("MeanRR", "mean reciprocal rank of clicks"): mean(1 / place for places in SOME for place in places),
    ("MinRR", "mean reciprocal rank of clicked sessions"): mean(1 / max(places) for places in SOME),
    ("MinRR", "mean rank of the lowest click"): mean(max(places) for places in SOME),
    ("PLC", "skip rate"): sum(max(places) - len(places) for places in SOME) / sum(map(max, SOME)),
    ("PLC", "PLC of clicked sessions"): mean(len(places) / max(places) for places in SOME),
    ("SS", "success of clicked sessions"): mean(
        any(SHOWN[place - 1] >= SETTINGS.success_grade for place in places) for places in SOME
    ),
    ("QCTR", "click-through rate per result"): sum(map(len, CLICKED)) / (len(CLICKED) * DEPTH),
}
"""What metrics of similar names give for the example, by their descriptions."""

NUMBERS = [(name, other, text) for name in CLICK_METRICS for other, text, _ in other_tools(name) if text]


def test_every_number_beside_a_click_metric_is_checked():
    assert {(name, other) for name, other, _ in NUMBERS} == set(BY_RULE)


@pytest.mark.parametrize(("name", "other", "text"), NUMBERS)
def test_the_number_beside_a_click_metric_follows_from_its_description(name, other, text):
    assert float(text) == pytest.approx(BY_RULE[name, other], abs=5.5e-5)
    assert float(text) != pytest.approx(ours(name), abs=6e-5)


def test_the_names_for_ir_measures_give_our_values():
    table = [row for row in rows(CHAPTERS["Before numbers are compared with another tool"]) if len(row) == 3]
    named = [row for row in table if row[1].startswith("`") and row[0].startswith("`")]
    assert len(named) == 7
    for name, theirs, _ in named:
        found = by_ir_measures(theirs.strip("`").replace("@k", f"@{DEPTH}"))
        assert found == pytest.approx(ours(name.strip("`")), abs=6e-6)


# ---- docs/explanation/why.md: made-up examples ------------------------------------------------
REASONS = parts(WHY)


def reason(word):
    """Return the text of the one section whose heading has `word`."""
    (text,) = [text for heading, text in REASONS.items() if word in heading]
    return text


def tables(text):
    """Return the pipe tables of a text: each a list of rows of numbers, words left as they are."""
    blocks = re.findall(r"(?:^\|.*\n?)+", text, flags=re.MULTILINE)
    return [[[number_or(cell) for cell in row] for row in rows(block)[1:]] for block in blocks]


def number_or(cell):
    try:
        return float(cell)
    except ValueError:
        return cell


def plain_correlation(x, y, weights=None):
    """The weighted Pearson correlation, by NumPy's weighted covariances."""
    covariances = np.cov(x, y, aweights=weights)
    return covariances[0, 1] / np.sqrt(covariances[0, 0] * covariances[1, 1])


def bold(text):
    return [float(number) for number in re.findall(r"\*\*(-?[\d.]*\d)\*\*", text)]


def test_every_calculation_on_the_page_gives_its_bold_result():
    found = re.findall(r"([\d√(][\d\s.·+\-/²√()]*) = \*\*([\d.]+)\*\*", " ".join(WHY.split()))
    assert len(found) == 6
    for expression, result in found:
        digits = len(result.partition(".")[2])
        assert calculated(expression) == pytest.approx(float(result), abs=0.501 * 10**-digits), expression


def test_configurations_tell_the_metrics_apart_and_means_over_queries_do_not():
    lists, found = tables(reason("configurations"))
    for _, grades, err, mean_grade, _ in lists:
        levels = [int(grade) for grade in grades.split(",")]
        assert err == pytest.approx(err_of(levels, 4), abs=5e-5)
        assert err == pytest.approx(ours("ERR", levels), abs=5e-5)
        assert mean_grade == mean(levels)
    columns = [[row[column] for row in lists] for column in (2, 3, 4)]
    averaged = [[mean(column[first : first + 2]) for first in (0, 2, 4)] for column in columns]
    for (_, of_err, of_mean), (err, mean_grade, clicks) in zip(found, (columns, averaged), strict=True):
        assert of_err == pytest.approx(plain_correlation(err, clicks), abs=1e-4)
        assert of_mean == pytest.approx(plain_correlation(mean_grade, clicks), abs=1e-4)


def test_weights_keep_single_sessions_from_outvoting_thousands():
    text = reason("weighted")
    err, clicks, sessions = map(np.array, zip(*tables(text)[0], strict=True))
    one, many, weighted, unweighted = bold(text)
    assert one == pytest.approx(math.sqrt(0.6 * 0.4), abs=5e-5)
    assert many == pytest.approx(math.sqrt(0.6 * 0.4 / 900), abs=5e-5)
    assert weighted == pytest.approx(plain_correlation(err, clicks, sessions), abs=5e-5)
    assert weighted == pytest.approx(weighted_correlation(err, clicks, sessions)[0], abs=5e-5)
    assert unweighted == pytest.approx(plain_correlation(err, clicks), abs=5e-5)


def test_intervals_that_assume_independent_configurations_cover_the_true_value_as_rarely_as_the_page_says():
    assert "covers the true value in 72%" in reason("excluded")
    assert 2 * stats.norm.cdf(1.96 / math.sqrt(3.25)) - 1 == pytest.approx(0.72, abs=0.005)


def test_the_twelve_draws_of_two_rankers_have_the_correlation_of_the_closed_form():
    text = reason("closed form")
    (table,) = tables(text)
    lists = [[row[1:] for row in table if row[0] == name] for name in ("first", "second")]
    pairs = [list(itertools.permutations(each, 2)) for each in lists]
    draws = list(itertools.product(*pairs))
    assert len(draws) == 12
    d_e, d_c = ([sum(a[axis] - b[axis] for a, b in draw) / len(draw) for draw in draws] for axis in (0, 1))
    enumerated = plain_correlation(d_e, d_c)
    assert bold(text)[1:] == pytest.approx([enumerated] * 2, abs=5e-5)
    within = within_queries(
        sample_of([row[2:] for row in table], [row[1:2] for row in table], query_index=[0, 0, 1, 1, 1])
    )
    closed = exact_correlations(query_covariances(within).sum(axis=0), 1)[0, 0]
    assert closed == pytest.approx(enumerated, abs=1e-12)


def test_noise_lowers_the_correlation_of_a_perfect_metric_as_the_page_says():
    for sessions, added, real, correlation in tables(reason("noise"))[0]:
        assert added == pytest.approx(0.24 / sessions, abs=5e-5)
        assert real == pytest.approx(0.01 / (0.01 + 0.24 / sessions), abs=5e-5)
        assert correlation == pytest.approx(math.sqrt(0.01 / (0.01 + 0.24 / sessions)), abs=5e-5)


def test_normal_differences_have_the_same_sign_as_often_as_the_page_says():
    pairs = re.findall(r"(0\.\d{4}) at \u03c1 = (0\.\d)", reason("sign"))
    assert len(pairs) == 2
    for same, correlation in (map(float, pair) for pair in pairs):
        both = stats.multivariate_normal(cov=[[1, correlation], [correlation, 1]]).cdf([0, 0])
        assert same == pytest.approx(2 * both, abs=5e-5)


def test_one_of_two_differences_is_significant_and_small_and_one_neither():
    found = re.findall(r"(0\.\d+) \((?:95% CI )?(\S+) to (\S+)\)", reason("intervals"))
    for difference, low, high in (map(number_or, one) for one in found):
        assert (low + high) / 2 == pytest.approx(difference, abs=1e-4)
    (_, low, _), (_, below, _) = (map(number_or, one) for one in found)
    assert below < 0 < low


def test_there_are_55_pairs_as_the_page_says():
    assert math.comb(len(report_measures(SETTINGS)), 2) == 55


def test_clicks_fall_as_quality_rises_when_the_page_answers():
    text = reason("validity")
    (table,) = tables(text)
    for _, answered, click, clicks in table:
        assert clicks == pytest.approx((1 - answered) * click, abs=5e-5)
    quality, _, _, clicks = zip(*table, strict=True)
    assert bold(text) == [pytest.approx(plain_correlation(quality, clicks), abs=5e-5)]


# ---- docs/explanation/why.md: the sample run --------------------------------------------------
def sample_rows(name, **where):
    """Return the rows of the sample run that the page speaks of."""
    found = table(name)
    chosen = {"market": "north", "depth": 5, "split": "all", "click_metric": "MeanRR"} | where
    return found.filter(**{column: value for column, value in chosen.items() if column in found.columns})


def one(name, column, **where):
    return sample_rows(name, **where)[column].item()


def said(pattern, word):
    """Return the numbers that a section says in words, in the groups of a pattern."""
    found = re.search(pattern, re.sub(r"\s+", " ", reason(word)))
    assert found, pattern
    return [float(number) for number in found.groups()]


def test_the_page_says_how_sessions_lie_in_the_sample_run():
    table = sample_rows("configurations")
    few = table.filter(pl.col("n_sessions") <= 3)
    shares = [100 * few.height / table.height, 100 * few["n_sessions"].sum() / table["n_sessions"].sum()]
    pattern = r"(\d+)% of the configurations have at most 3 sessions; together they have (\d+)%"
    assert said(pattern, "weighted") == pytest.approx(shares, abs=0.5)
    queries = table.group_by("query").agg(pl.col("n_sessions").sum()).sort("n_sessions", descending=True)
    count, share = said(r"the (\d+) queries with most sessions, a tenth, have (\d+)%", "weighted")
    assert count == round(queries.height / 10)
    top = queries["n_sessions"].head(int(count)).sum() / queries["n_sessions"].sum()
    assert share == pytest.approx(100 * top, abs=0.51)


def test_the_page_says_what_the_two_rankers_of_the_sample_run_gave():
    drawn, limit, apart = said(
        r"DCG has ([\d.]+) by 1000 draws and ([\d.]+) in the limit, "
        r"and the limits of DCG and ERR differ by ([\d.]+),",
        "closed form",
    )
    dcg, err = (one("differences", "exact", editorial_metric=name) for name in ("DCG", "ERR"))
    assert drawn == pytest.approx(one("differences", "monte_carlo", editorial_metric="DCG"), abs=5e-4)
    assert (limit, apart) == (pytest.approx(dcg, abs=5e-4), pytest.approx(abs(dcg - err), abs=5e-4))
    correlation, agreement = said(r"DCG has ([\d.]+): ([\d.]+)%", "sign")
    assert correlation == pytest.approx(dcg, abs=5e-4)
    assert agreement == pytest.approx(50 + 100 * math.asin(dcg) / math.pi, abs=0.05)


def test_the_page_says_what_the_correction_of_the_sample_run_gave():
    plain, corrected = said(r"ERR has ([\d.]+), and ([\d.]+) corrected", "noise")
    assert plain == pytest.approx(one("correlations", "correlation", editorial_metric="ERR"), abs=5e-4)
    of_err = one("correlations", "noise_corrected", editorial_metric="ERR")
    assert corrected == pytest.approx(of_err, abs=5e-4)
    ends = sample_rows("differences").select("noise_corrected_low", "noise_corrected_high")
    assert ends.drop_nulls().is_empty()
    table = sample_rows("correlations")
    assert (table["noise_corrected"] / table["correlation"]).std() < 1e-9


def test_the_page_says_what_the_comparison_of_err_and_dcg_in_the_sample_run_gave():
    row = sample_rows("comparisons", metric_a="DCG", metric_b="ERR").row(0, named=True)
    found = said(r"ERR differs from DCG by ([\d.]+), p = ([\d.]+) alone and ([\d.]+) among 55", "intervals")
    assert found == pytest.approx([-row["difference"], row["p_value"], row["p_adjusted"]], abs=5e-4)
    assert sample_rows("comparisons").height == 55


def test_the_page_says_what_baselines_and_the_null_of_success_are_in_the_sample_run():
    first, err = said(r"the top result's grade has ([\d.]+), ERR ([\d.]+)\.", "validity")
    for told, name in ((first, "MeanGrade@1"), (err, "ERR")):
        assert told == pytest.approx(one("correlations", "correlation", editorial_metric=name), abs=5e-4)
    success, null = said(r"has ([\d.]+) with RR\(rel=2\), and it would have ([\d.]+)", "validity")
    where = {"click_metric": "SS", "editorial_metric": "RR(rel=2)"}
    assert success == pytest.approx(one("correlations", "correlation", **where), abs=5e-4)
    assert null == pytest.approx(one("correlations", "null_correlation", **where), abs=5e-4)
