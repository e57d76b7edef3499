"""Pages state what committed results show: each figure of a sentence is computed again from its file."""

import json
import re

import polars as pl
import pytest

from clickassay.findings.ranking import prefers_the_same
from support.places import ROOT
from support.runs.sample_run import shop

COVERAGE = pl.read_csv(ROOT / "reports" / "calibration" / "coverage.csv")
TAILS = pl.read_csv(ROOT / "reports" / "calibration" / "tails.csv")
POWER = pl.read_csv(ROOT / "reports" / "calibration" / "power.csv")
ALARMS = pl.read_csv(ROOT / "reports" / "calibration" / "alarms.csv")
RECOVERY = pl.read_csv(ROOT / "reports" / "calibration" / "recovery.csv")
LEARNED = pl.read_csv(ROOT / "reports" / "calibration" / "learn.csv")
METHODS = pl.read_csv(ROOT / "reports" / "calibration" / "methods.csv")
SAVED = pl.read_csv(ROOT / "reports" / "active" / "saved.csv")
COSTS = (ROOT / "benchmarks" / "RESULTS.md").read_text(encoding="utf-8")
D = r"(\d\.\d+)"
LOGNORMAL = COVERAGE.filter(pl.col("weights").str.starts_with("lognormal"), pl.col("queries") >= 500)
OUTSIDE = LOGNORMAL.filter((pl.col("coverage") < 0.93) | (pl.col("coverage") > 0.97))["coverage"].sort()


def page(name):
    return (ROOT / name).read_text(encoding="utf-8")


def numbers(pattern, text):
    """Return the numbers of the sentence that a pattern describes."""
    (found,) = re.findall(pattern, text)
    return [float(one.replace(",", "")) for one in ([found] if isinstance(found, str) else found)]


@pytest.mark.parametrize("name", ["README.md", "docs/explanation/trust.md"])
def test_what_intervals_hold_is_what_the_calibration_found(name):
    pattern = (
        r"In (\d+,\d+) simulated samples.*?(\d+)\u2013(\d+)% of the time at (\d+) and (\d+) queries"
        r".*?in (\d+) of (\d+) kinds of samples; (?:in )?the others (?:have )?(\d+\.\d) and (\d+\.\d)"
    )
    samples, low, high, fewer, more, inside, kinds, lowest, highest = numbers(pattern, page(name))
    assert (low, high) == (93, 97)
    assert LOGNORMAL["queries"].unique().sort().to_list() == [fewer, more]
    assert LOGNORMAL.height == kinds
    assert LOGNORMAL.height - OUTSIDE.len() == inside
    assert (OUTSIDE * 100).round(1).to_list() == [lowest, highest]
    samples_of = LOGNORMAL.unique(["weights", "configurations", "queries"])["worlds"]
    assert samples_of.sum() == samples


@pytest.mark.parametrize("name", ["README.md", "docs/explanation/trust.md"])
def test_heavier_tails_are_admitted_where_they_are_found(name):
    text = page(name)
    assert re.search(r"heavier tails.*?(?:below|less than) 80%", text)
    heavy = COVERAGE.filter(~pl.col("weights").str.starts_with("lognormal"))
    assert min(heavy["coverage"].min(), TAILS["coverage"].min()) < 0.8
    short = TAILS.filter(pl.col("coverage") < 0.8)
    assert (short["labelled"] > 0.9).all()


def test_false_alarms_and_claims_are_those_of_the_calibration():
    pattern = (
        r"found significantly different in (\d)\u2013(\d)% of tests at 5%, and in (\d+) runs on logs with "
        r"a planted metric each of (\d+) claims that a metric is best names it"
    )
    trusted = ALARMS.filter(pl.col("queries") >= 500, pl.col("weights").str.starts_with("lognormal"))
    planted = RECOVERY.filter(pl.col("world") != "null")
    claims, right = ((planted[name] * planted["runs"]).sum() for name in ("claims", "right"))
    expected = [*ends(trusted["alarms"] * 100, 0), planted["runs"].sum(), round(claims)]
    assert numbers(pattern, " ".join(page("docs/explanation/trust.md").split())) == expected
    assert round(right) == round(claims)


def ends(values, digits):
    """Return the least and the greatest, rounded."""
    return [round(values.min(), digits), round(values.max(), digits)]


def test_what_power_promises_of_longer_logs_is_what_thinned_logs_found():
    pattern = (
        r"held what the same queries need in the whole one for (\d+\.\d) to (\d+\.\d)% of the differences "
        r"\((\d+\.\d) on average\), and what other queries of such logs need for (\d+\.\d) to "
        r"(\d+\.\d)%; the ratio of a difference to its error grew by a factor of (\d\.\d\d) to "
        r"(\d\.\d\d) of that promised"
    )
    same, others = (POWER[f"in_range_{name}"] * 100 for name in ("same", "others"))
    growth = POWER["growth_found"] / POWER["growth_promised"]
    expected = [*ends(same, 1), round(same.mean(), 1), *ends(others, 1), *ends(growth, 2)]
    text = " ".join(page("docs/explanation/method.md").split())
    assert numbers(pattern, text) == expected
    assert same.mean() > 95


def test_other_intervals_cover_as_often_as_the_method_says():
    pattern = (
        r"in ([\d,]+) simulated samples of 500 and 5000 queries its intervals held the true value in "
        r"(\d+\.\d)% of cases on average, those of a studentised bootstrap in (\d+\.\d), of the percentile "
        r"bootstrap in (\d+\.\d) and of BCa in (\d+\.\d) "
    )
    larger = METHODS.filter(pl.col("queries") >= 500)
    samples = larger.unique(["weights", "configurations", "queries"])["worlds"].sum()
    names = ("leave one out, t", "studentised, symmetric", "percentile", "BCa")
    means = [round(100 * larger.filter(method=name)["coverage"].mean(), 1) for name in names]
    assert numbers(pattern, page("docs/explanation/method.md")) == [samples, *means]


def learned(world, queries):
    return LEARNED.filter(world=world, queries=queries)


def test_what_learn_gains_without_a_gain_is_what_the_calibration_found():
    pattern = (
        r"in (\d+) studies of simulated logs of 60 queries whose clicks ignore the grades, the gain on "
        rf"held-out queries is {D} to {D} on average, and none is found; (\d+) of them says that the log "
        r"tells what grades are worth\. On the queries learned from, the learned values seem better by "
        rf"{D} to {D}\."
    )
    null = learned("clicks ignore grades", 60)
    tell = round((null["tells"] * null["logs"]).sum())
    expected = [null["logs"].sum(), *ends(null["gain"], 3), tell, *ends(null["apparent"], 3)]
    assert numbers(pattern, page("docs/reference/learn.md")) == expected
    assert null["gain_claimed"].max() == 0


def test_what_learning_costs_and_finds_is_what_the_calibration_found():
    pattern = (
        rf"learning costs: {D} to {D} on held-out queries with 60 queries, {D} to {D} with 300\. "
        rf"Where others are right, a gain of {D} to {D} is found in (\d+) to (\d+)% of logs of 60 queries, "
        r"and in (\d+) to (\d+)% of logs of 300"
    )
    costs = [end for size in (60, 300) for end in ends(-learned("ERR is right", size)["gain"], 3)]
    small, large = (learned("other values are right", size) for size in (60, 300))
    found = [end for one in (small, large) for end in ends(one["gain_claimed"] * 100, 0)]
    expected = [*costs, *ends(small["gain"], 3), *found]
    assert numbers(pattern, page("docs/reference/learn.md")) == expected


def test_labels_saved_are_those_of_the_experiments():
    pattern = (
        r"plans saved (\d+) to (\d+)% of the labels for one ranking.*?(\d+) to (\d+)% for comparing two "
        r"rankings.*?(\d+) to (\d+)% for an index update"
    )
    found = numbers(pattern, page("docs/reference/labelling.md"))
    rows = SAVED.filter(measure="ERR", variant="active", defensive_share=0.0)
    kinds = (
        rows.filter(pl.col("comparison").is_in(["forest", "ordered logit"])),
        rows.filter(criterion="selection_error"),
        rows.filter(comparison="index update"),
    )
    saved = [round(100 * end) for kind in kinds for end in (kind["saved"].min(), kind["saved"].max())]
    assert saved == found


def cell(start, column):
    """Return a cell of the first row of the costs that starts so."""
    row = next(line for line in COSTS.splitlines() if line.startswith(f"| {start}"))
    return row.split("|")[column].strip()


def test_what_the_readme_says_of_costs_is_what_was_measured():
    text = page("README.md")
    million, low, high, least, most, minutes, more, gb, gbs, report = numbers(
        r"a million searches to a report in (\d+) CPU seconds; 20 million searches to a pattern table in "
        r"(\d+) to (\d+) seconds with (\d\.\d) to (\d\.\d) GB of memory, 187 million in (\d) to (\d) minutes "
        r"with (\d) to (\d) GB; a report on 70,000 configurations in (\d+) CPU seconds",
        text,
    )
    assert million == round(float(re.search(r"\((.*?)\)", cell("`run`, 1 million", 2))[1]))
    small = [[float(cell(f"`patterns`, 20 million {start}", at).split()[0]) for at in (3, 4)]
             for start in ("searches of `cascade`", "searches and")]  # fmt: skip
    assert low <= min(wall for wall, _ in small) <= max(wall for wall, _ in small) <= high
    assert [least, most] == sorted(memory for _, memory in small)
    large = [
        [float(cell(f"`patterns`, {start}", at).split()[0]) for at in (3, 4)] for start in ("187", "186")
    ]
    assert [round(wall / 60) for wall, _ in sorted(large)] == [minutes, more]
    assert [round(memory) for _, memory in sorted(large)] == [gb, gbs]
    assert report == round(float(cell("`report`, 70,000", 2)))


def test_what_a_million_searches_cost_beside_spark_is_what_was_measured():
    pattern = r"the default engine needs (\d\.\d) to (\d\.\d) CPU seconds for a million searches"
    rows = re.findall(
        r"^\| `patterns`, ([\d,]+)( million)? searches.*?\| (\d+) \|", COSTS, flags=re.MULTILINE
    )
    million = [
        float(cpu) / (float(searches.replace(",", "")) / (1 if word else 1e6)) for searches, word, cpu in rows
    ]
    assert numbers(pattern, page("docs/how-to/spark.md")) == ends(pl.Series(million), 1)


def test_what_counts_of_health_cost_is_what_was_measured():
    (stated,) = numbers(
        r"The counts take (\d)% of the CPU time of `patterns`", page("docs/reference/health.md")
    )
    low, high = numbers(r"take \*\*(\d\.\d) to (\d\.\d)%\*\* of the CPU time of `patterns`", COSTS)
    assert round(low) == round(high) == stated


def test_what_ten_measures_cost_is_what_was_measured():
    pattern = r"take about (\d\.\d) CPU s, three quarters of pytrec_eval's time"
    ours = float(cell("clickassay, dicts", 2).strip("*"))
    assert "without ranx, everything is a third faster" in COSTS
    assert numbers(pattern, page("docs/reference/evaluate.md")) == [round(ours * 2 / 3, 1)]
    low, high = numbers(r"the ratio to pytrec_eval (0\.\d\d) to (0\.\d\d)", COSTS)
    assert low <= 0.75 <= high


def test_what_heavy_tails_do_to_decisions_is_what_was_found():
    pattern = (
        r"intervals of correlations covered (\d+) to (\d+)%, "
        r"intervals of differences between metrics covered (\d+) to (\d+)%"
    )
    found = numbers(pattern, page("docs/explanation/decisions.md"))
    heavy = TAILS.filter(pl.col("weights").is_in(["pareto 1.5", "pareto 1.2"]))
    kinds = (
        heavy.filter(statistic="correlation"),
        heavy.filter(pl.col("statistic").str.starts_with("difference")),
    )
    assert [
        round(100 * end) for kind in kinds for end in (kind["coverage"].min(), kind["coverage"].max())
    ] == found


def test_false_examples_of_the_cascade_effect_are_as_rare_as_the_method_says():
    found = pl.read_csv(ROOT / "reports" / "calibration" / "cascade_effects.csv")
    none, there = (found.filter(effect=effect) for effect in (False, True))
    pattern = (
        r"Of ([\d,]+) simulated logs without the effect, ([\d.]+)% have a row, at most ([\d.]+)% of a kind"
        r"; pairs without the test of all queries would give one in ([\d.]+) to ([\d.]+)%\. "
        r"With the effect, ([\d.]+) to ([\d.]+)% of logs of 100 queries have one, ([\d.]+) to ([\d.]+)% of "
        r"20\."
    )
    large, small = (there.filter(queries=size)["any_example"] * 100 for size in (100, 20))
    logs, alarms = none["logs"].sum(), (none["any_example"] * none["logs"]).sum()
    most = round(100 * none["any_example"].max(), 1)
    expected = [logs, round(100 * alarms / logs, 1), most, *ends(none["any_pair"] * 100, 1)]
    text = " ".join(page("docs/explanation/method.md").split())
    assert numbers(pattern, text) == [*expected, *ends(large, 1), *ends(small, 1)]
    assert alarms <= 0.04 * logs


def test_corrected_means_hold_as_often_as_the_page_on_evaluation_says():
    pattern = (
        r"In (\d,\d{3}) simulated worlds for each of (\d+) kinds, [^.]*, they contained the truth in "
        r"(\d+\.\d)\u2013(\d+\.\d)% of cases, the intervals of the model alone in (\d+)% on average; "
        r"they were at most (\d\.\d\d) times as wide as people's alone, and (\d+) to (\d+) queries were "
        r"worth up to (\d\.\d) times as many, (\d\.\d) times on average"
    )
    found = pl.read_csv(ROOT / "reports" / "calibration" / "corrected.csv")
    some = found.filter(pl.col("both").is_in([40, 100]))["worth"]
    assert numbers(pattern, page("docs/reference/evaluate.md")) == [
        found["worlds"].unique().item(),
        found.height,
        *ends(found["corrected"] * 100, 1),
        round(100 * found["by_judge"].mean()),
        round(found["width"].max(), 2),
        40,
        100,
        round(some.max(), 1),
        round(some.mean(), 1),
    ]
    rare = found.filter(pl.col("judge").str.contains(r" in (1|2|5|10)%"))
    assert rare["judge"].n_unique() == 12
    assert found["alarms"].max() <= 0.065


def test_intervals_of_agreement_hold_as_often_as_the_page_on_judges_says():
    pattern = (
        r"With (\d+) queries or more, their intervals contained the truth in (\d+\.\d)\u2013(\d+\.\d)% of "
        r"\[simulated worlds\]\([^)]*\); with (\d+) \(with a caution\) in (\d+\.\d)\u2013(\d+\.\d)%"
    )
    found = pl.read_csv(ROOT / "reports" / "calibration" / "agreement.csv")
    assert found["alarms"].max() <= 0.06
    # kappa with a judge of one grade is 0 in every world: its interval cannot miss
    always = (pl.col("judge") == "constant") & pl.col("measure").str.starts_with("kappa")
    many, few = (found.filter(~always, pl.col("queries").is_between(*span)) for span in ((50, 9999), (0, 49)))
    assert numbers(pattern, page("docs/how-to/llm-judges.md")) == [
        50, *ends(many["held"] * 100, 1), 20, *ends(few["held"] * 100, 1),
    ]  # fmt: skip
    assert many["relied_on"].min() == 1
    assert few["relied_on"].max() == 0


def test_what_a_difference_in_correlation_is_in_pairs_is_what_the_package_shows():
    pattern = (
        r"A difference of 0\.05 in correlation is (\d\.\d) of 100 pairs at r = 0 and (\d\.\d) at r = 0\.6\."
    )
    pairs = [round(100 * (prefers_the_same(r + 0.05) - prefers_the_same(r)), 1) for r in (0, 0.6)]
    assert numbers(pattern, page("docs/explanation/method.md")) == pairs


def test_what_jq_prints_of_the_sample_is_what_its_summary_says():
    ((path, shown),) = re.findall(
        r"^    \$ jq -r (\S+) reports/sample/summary\.json\n    (\S+)$",
        page("docs/reference/summary.md"),
        flags=re.MULTILINE,
    )
    found = json.loads((shop() / "summary.json").read_text(encoding="utf-8"))
    for key in path.removeprefix(".").split("."):
        found = found[key]
    assert found == shown
