"""Whether a run keeps its rules: states from numbers written by hand into its tables."""

import polars as pl
import pytest

from clickassay.core.contracts.run import HEALTH_CHECKS, STATISTICS
from clickassay.core.errors import ReportError, SettingsError
from clickassay.core.records import SampleChoice, SampleKey
from clickassay.correlation.uncertainty.intervals import HEAVY_TAIL
from clickassay.findings.run import open_run
from clickassay.findings.run import run_of as read_run
from clickassay.studies.runs_compared.gate.check import DEFAULT_RULES, check_run, judged, state_of
from clickassay.studies.runs_compared.gate.grammar import parse_rule, parse_rules
from clickassay.studies.runs_compared.gate.quantities import RunQuantity
from support.runs.given_runs import ONE, between, changed_table, with_folds
from support.runs.sample_run import copied_run, sample, table

NORTH = {"market": "north", "depth": 5, "judge": "all"}


def outcome(run, text, choice=SampleChoice()):  # noqa: B008 - frozen
    (found,) = check_run(run, [parse_rule(text)], choice)
    return found


# ---- states -----------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("found", "states"),
    [  # of >= 0.3, > 0.3, <= 0.3, < 0.3
        (RunQuantity(0.35, 0.31, 0.40), ("holds", "holds", "broken", "broken")),
        (RunQuantity(0.35, 0.30, 0.40), ("holds", "open", "open", "broken")),
        (RunQuantity(0.30, 0.20, 0.40), ("open", "open", "open", "open")),
        (RunQuantity(0.25, 0.20, 0.30), ("open", "broken", "holds", "open")),
        (RunQuantity(0.20, 0.10, 0.29), ("broken", "broken", "holds", "holds")),
        (RunQuantity(0.29, is_exact=True), ("broken", "broken", "holds", "holds")),
        (RunQuantity(0.3, is_exact=True), ("holds", "broken", "holds", "broken")),
        (RunQuantity(0.31, is_exact=True), ("holds", "holds", "broken", "broken")),
        (RunQuantity(None, reason="no variance"), ("undecided",) * 4),
        (RunQuantity(0.5), ("undecided",) * 4),
        (RunQuantity(0.5, low=0.4), ("undecided",) * 4),
    ],
)
def test_a_rule_is_broken_only_if_its_whole_interval_breaks_it_and_undecided_without_one(found, states):
    assert tuple(state_of(found, sign, 0.3) for sign in (">=", ">", "<=", "<")) == states


# ---- numbers of a run -------------------------------------------------------------------------
def with_correlation(value, low, high, caution=None):
    """The sample's correlations with another overall one of ERR with MeanRR in market north."""
    own = pl.all_horizontal(
        *(pl.col(name) == one for name, one in NORTH.items()),
        pl.col("split") == "all", pl.col("click_metric") == "MeanRR", pl.col("editorial_metric") == "ERR",
    )  # fmt: skip
    given = {"correlation": value, "ci_low": low, "ci_high": high, "caution": caution}
    given["reason"] = "no variance of ERR" if value is None else None
    rows = table("correlations")
    return rows.with_columns(
        pl.when(own).then(pl.lit(one, rows.schema[name])).otherwise(name).alias(name)
        for name, one in given.items()
    )


def test_a_correlation_is_that_of_the_headline_with_its_interval_and_caution(tmp_path):
    run = copied_run(tmp_path / "run", correlations=with_correlation(0.35, 0.28, 0.42, "few queries"))
    found = outcome(run, "correlation(err, MEANRR) >= 0.3")
    assert (found.state, found.sample) == ("open", SampleKey("north", 5, "all"))
    assert found.found == RunQuantity(0.35, 0.28, 0.42, "few queries")
    assert found.reason == "the limit 0.3 lies inside the 95% CI (0.28 to 0.42)"
    assert (
        outcome(run, "correlation(ERR, MeanRR) > 0.42").reason
        == "the whole 95% CI breaks the rule (0.28 to 0.42)"
    )
    assert outcome(run, "correlation(ERR, MeanRR) >= 0.28").reason == (
        "the whole 95% CI satisfies the rule (0.28 to 0.42)"
    )
    data = found.as_data()
    assert (data["value"], data["ci_low"], data["ci_high"], data["caution"]) == (
        0.35,
        0.28,
        0.42,
        "few queries",
    )
    assert {name: data[name] for name in NORTH} == NORTH


def test_a_correlation_of_heavy_tailed_sessions_breaks_a_rule_only_far_beyond_its_interval(tmp_path):
    run = copied_run(tmp_path / "run", correlations=with_correlation(0.35, 0.28, 0.42, HEAVY_TAIL))
    rules = {
        ">= 0.43": "open",  # 0.35 + 3 * 0.07 = 0.56
        ">= 0.55": "open",
        ">= 0.57": "broken",
        "<= 0.27": "open",
        "<= 0.13": "broken",
        ">= 0.27": "holds",
    }
    for rule, state in rules.items():
        found = outcome(run, f"correlation(ERR, MeanRR) {rule}")
        assert (found.state, found.found.high) == (state, 0.42), rule
    assert (
        "the truth may lie 3 times as far out: a few very frequent queries"
        in outcome(run, "correlation(ERR, MeanRR) >= 0.43").reason
    )
    few = copied_run(tmp_path / "few", correlations=with_correlation(0.35, 0.28, 0.42, "few queries"))
    assert outcome(few, "correlation(ERR, MeanRR) >= 0.43").state == "broken"


def test_sizes_are_those_of_the_statistics():
    (row,) = table("statistics").filter(**NORTH).to_dicts()
    expected = {
        "coverage": row["coverage"], "sessions": row["n_sessions"], "all_sessions": row["n_all_sessions"],
        "queries": row["n_queries"], "configurations": row["n_configurations"],
    }  # fmt: skip
    for name, value in expected.items():
        kept, broken = (outcome(sample(), f"{name} {sign} {value!r}") for sign in (">=", "<"))
        assert (kept.state, broken.state) == ("holds", "broken")
        assert kept.found == RunQuantity(value, is_exact=True)
        assert kept.as_data()["ci_low"] is None


def test_correlations_within_queries_are_of_all_markets_unless_one_is_named():
    rows = table("within").filter(split="all", depth=5, editorial_metric="ERR", click_metric="MeanRR")
    by_market = {row["market"]: row for row in rows.to_dicts()}
    for place, market in (("", "all"), (" for market north", "north"), (" for market south", "south")):
        found = outcome(sample(), f"within(ERR, MeanRR) >= 0{place}")
        row = by_market[market]
        assert (found.found.value, found.found.low) == (row["correlation"], row["ci_low"])
        assert found.sample.market == market
    pairs = table("within_comparisons").filter(market="all", depth=5, click_metric="MeanRR")
    (row,) = pairs.filter(metric_a="NDCG", metric_b="ERR").to_dicts()
    found = outcome(sample(), "within_difference(ERR, NDCG, MeanRR) <= 1").found
    assert (found.value, found.high) == (-row["difference"], -row["ci_low"])


@pytest.mark.slow
def test_a_rule_about_the_decision_is_kept_or_broken_by_its_kind(tmp_path):
    for kind, kept in (("switch", "broken"), ("keep", "holds"), ("cannot_say", "holds")):
        rows = table("verdict").with_columns(decision=pl.lit(kind), subject=pl.lit("ERR"))
        run = copied_run(tmp_path / kind, verdict=rows)
        found = outcome(run, 'decision != "switch"')
        assert (found.state, found.reason) == (kept, f"the decision is {kind} (ERR)")
        assert found.as_data()["status"] == kind
    nothing = copied_run(tmp_path / "nothing", verdict=table("verdict").head(0))
    assert outcome(nothing, 'decision == "cannot_decide"').state == "holds"


def test_a_difference_may_be_asked_either_way_round():
    rows = table("comparisons").filter(click_metric="UCTR", **NORTH)
    (row,) = rows.filter(metric_a="DCG", metric_b="NDCG").to_dicts()
    there, back = (
        outcome(sample(), f"difference({pair}, UCTR) >= 0").found for pair in ("DCG, NDCG", "NDCG, DCG")
    )
    assert (there.value, there.low, there.high) == (row["difference"], row["ci_low"], row["ci_high"])
    assert (back.value, back.low, back.high) == (-row["difference"], -row["ci_high"], -row["ci_low"])


def test_a_mean_is_weighted_by_sessions_and_a_closed_form_is_that_of_the_table():
    rows = table("configurations").filter(**NORTH)
    for name in ("ERR", "MeanRR"):
        value = sum(n * x for n, x in rows.select("n_sessions", name).iter_rows()) / rows["n_sessions"].sum()
        found = outcome(sample(), f"mean({name.lower()}) >= 0").found
        assert found.value == pytest.approx(value, rel=1e-12)
        assert found.low < found.value < found.high
    (row,) = table("differences").filter(editorial_metric="ERR", click_metric="UCTR", **NORTH).to_dicts()
    found = outcome(sample(), "closed_form(ERR, UCTR) >= 0").found
    assert (found.value, found.low, found.high) == (row["exact"], row["ci_low"], row["ci_high"])


def test_a_rule_is_about_the_sample_that_it_names_else_that_of_the_options_else_the_headline():
    def chosen(text, **options):
        return outcome(sample(), text, SampleChoice(**options)).sample

    assert chosen("coverage >= 0") == SampleKey("north", 5, "all")
    assert chosen("coverage >= 0", depth=10) == SampleKey("north", 10, "all")
    assert chosen("coverage >= 0 for market south", depth=10) == SampleKey("south", 10, "all")
    assert chosen("coverage >= 0 for depth 5", depth=10, market="south") == SampleKey("south", 5, "all")
    with pytest.raises(ReportError, match=r"rule 'cover.*no judged configurations of market west; it has: "):
        chosen("coverage >= 0 for market west")


def test_the_sample_by_default_is_that_of_the_headline_with_several_judges(tmp_path):
    rows = [
        ("m", 5, judge, 9, 9, kept, 100, kept / 100, None, None) for judge, kept in (("ann", 30), ("bob", 60))
    ]
    rows += [("n", 5, judge, 9, 9, 50, 100, 0.5, None, None) for judge in ("ann", "bob")]
    statistics = pl.DataFrame(rows, schema=STATISTICS.empty().schema, orient="row")
    run = copied_run(tmp_path / "run", statistics=statistics)
    key = open_run(run).key()
    frames = {file.stem: pl.read_parquet(file) for file in run.glob("*.parquet")}
    assert key == read_run(frames, {}).headline == SampleKey("m", 5, "bob")


# ---- health -----------------------------------------------------------------------------------
def with_status(*statuses):
    checks = ("busy_user", "late_clicks", "one_grade")
    rows = [(check, status, 1.0, 0.5, "s", "r", "") for check, status in zip(checks, statuses, strict=False)]
    return pl.DataFrame(rows, schema=HEALTH_CHECKS.empty().schema, orient="row")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("statuses", "is_ok", "no_finding", "status", "reason"),
    [
        (("ok", "ok"), "holds", "holds", "ok", "all data checks passed"),
        (("caution", "ok"), "broken", "holds", "caution", "caution: busy_user"),
        (("caution", "finding", "finding"), "broken", "broken", "finding", "finding: late_clicks, one_grade"),
    ],
)
def test_health_is_the_worst_of_its_checks(tmp_path, statuses, is_ok, no_finding, status, reason):
    run = copied_run(tmp_path / "run", health=with_status(*statuses))
    found = [outcome(run, f"health {words}") for words in ('== "ok"', '!= "finding"')]
    assert [one.state for one in found] == [is_ok, no_finding]
    assert {(one.status, one.reason) for one in found} == {(status, reason)}


# ---- a run that judged nothing ----------------------------------------------------------------
def test_a_run_without_a_judged_list_breaks_rules_about_sizes_and_leaves_others_undecided(tmp_path):
    none = pl.all_horizontal(pl.col(name) >= 0 for name in ("n_queries", "n_sessions"))
    statistics = table("statistics").with_columns(
        *(pl.when(none).then(0).otherwise(name).alias(name) for name in ("n_queries", "n_sessions")),
        coverage=pl.lit(0.0),
    )
    run = copied_run(tmp_path / "run", statistics=statistics)
    rules = ("queries >= 50", "coverage >= 0.1", "correlation(ERR, MeanRR) >= 0", "mean(ERR) >= 0")
    states = [one.state for one in check_run(run, parse_rules(rules))]
    assert states == ["broken", "broken", "undecided", "undecided"]


# ---- what a run does not have -----------------------------------------------------------------
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("correlation(EER, MeanRR) >= 0", "unknown metric EER; did you mean "),
        ("correlation(ERR, MeanR) >= 0", "unknown click metric MeanR; did you mean "),
        ("correlation(MeanRR, ERR) >= 0", "MeanRR is a click metric, and an offline metric was expected"),
        ("correlation(ndcg, MeanRR) >= 0", "trec_eval defines it differently"),
        ("mean(ERR@3) >= 0", "does not have the metric ERR@3; it has AP, AP(rel=2)"),
        ("mean(Bpref) >= 0", "make the run again with --metric 'Bpref'"),
        ("difference(ERR, err, MeanRR) >= 0", "a difference is that of two metrics, and ERR and err are one"),
    ],
)
def test_a_name_that_the_run_does_not_have_is_an_error_and_no_pass(text, words):
    with pytest.raises(SettingsError) as refused:
        outcome(sample(), text)
    assert str(refused.value).startswith(f"rule {text!r}: ")
    assert words in str(refused.value)


@pytest.mark.slow
def test_a_metric_may_be_named_with_the_parameters_that_the_run_gave_it():
    bare, spelled = (outcome(sample(), f"mean({name}) >= 0").found for name in ("AP", "ap(rel=3)"))
    assert bare == spelled
    assert outcome(sample(), "mean(NDCG) >= 0").found == outcome(sample(), "mean(nDCG) >= 0").found


def test_a_pair_that_was_not_computed_is_named(tmp_path):
    run = copied_run(tmp_path / "run", comparisons=table("comparisons").clear())
    with pytest.raises(SettingsError, match="has no difference of ERR and NDCG by MeanRR of market north"):
        outcome(run, "difference(ERR, NDCG, MeanRR) >= 0")


def test_the_default_rules_are_rules_and_the_sample_keeps_them():
    assert {one.state for one in check_run(sample(), parse_rules(DEFAULT_RULES))} == {"holds"}


# ---- another run ------------------------------------------------------------------------------
@pytest.fixture(scope="session")
def fallen(whole, turned):
    """The numbers of ERR and MeanRR, compared with a run of better grades."""
    return between(whole, turned, ONE).numbers


def fell(numbers, rule):
    """The outcome of a rule about them."""
    return judged(
        numbers, parse_rule(f"not worse than it {rule} in ERR, MeanRR"), SampleKey("north", 5, "all")
    )


def test_a_fall_that_may_lie_within_the_margin_breaks_nothing(fallen):
    ends = [row["ci_high"] for row in fell(fallen, "").changes]
    beyond = fell(fallen, f"by {-max(ends) / 2:.6f}")
    assert (beyond.state, len(beyond.changes)) == ("broken", len(ends))
    assert " fell by more than 0." in beyond.reason
    none = fell(fallen, f"by {-min(ends) * 1.01:.6f}")
    assert (none.state, none.changes) == ("holds", ())


def test_a_smaller_alpha_breaks_less_and_a_larger_more(fallen):
    sure = fell(fallen, "")
    assert " of 5 numbers fell significantly or are gone; the clearest: " in sure.reason
    largest = max(row["p_adjusted"] for row in sure.changes)
    below = fell(fallen, f"at {largest / 2:.3g}")
    assert (below.state, len(below.changes)) == ("broken", len(sure.changes) - 1)
    none = fell(fallen, "at 1e-300")
    assert (none.state, none.changes) == ("holds", ())
    assert len(fell(fallen, "by 0 at 0.499").changes) >= len(sure.changes)


def test_what_is_compared_is_narrowed_by_names_and_sample(whole, turned):
    # 11 means of metrics, 7 of click metrics, 77 correlations within queries, 77 over all, 77 closed forms
    assert " of 249 numbers " in outcome(whole, f"not worse than {turned}").reason
    # 3 means, 2 correlations within queries and 2 over all, 2 closed forms
    narrowed = outcome(whole, f"not worse than {turned} in ERR, AP, UCTR for market south")
    assert (narrowed.sample, narrowed.state) == (SampleKey("south", 5, "all"), "holds")
    assert narrowed.reason.startswith("none of 9 numbers fell")


def test_what_is_gone_breaks_the_rule(whole, tmp_path):
    less = changed_table(whole, tmp_path / "less", "correlations", lambda rows: rows.filter(
        ~((pl.col("editorial_metric") == "ERR") & (pl.col("click_metric") == "UCTR"))
    ))  # fmt: skip
    found = outcome(less, f"not worse than {whole}")
    assert found.state == "broken"
    assert [row["status"] for row in found.changes] == ["only in A"]
    assert "has no value in B (not computed)" in found.reason


def test_a_fall_that_cannot_be_tested_leaves_it_undecided(whole, tmp_path):
    def lowered(rows):
        own = (pl.col("editorial_metric") == "ERR") & (pl.col("click_metric") == "UCTR")
        return rows.with_columns(
            pl.when(own).then(pl.col("correlation") - 0.1).otherwise("correlation").alias("correlation"),
            *(pl.when(own).then(None).otherwise(end).alias(end) for end in ("ci_low", "ci_high")),
        )

    found = outcome(
        changed_table(whole, tmp_path / "low", "correlations", lowered), f"not worse than {whole}"
    )
    assert found.state == "undecided"
    assert "1 of 249 numbers fell and could not be tested" in found.reason


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("not worse than {whole}", "is the run itself; name another run"),
        ("not worse than {other} in dwell", "unknown metric dwell"),
        ("not worse than {other} in ERR@2", "does not have the metric ERR@2"),
    ],
)
def test_a_comparison_that_could_never_fail_is_refused(whole, turned, rule, words):
    with pytest.raises(SettingsError, match=words):
        outcome(whole, rule.format(whole=whole, other=turned))


def test_a_sample_that_the_other_run_lacks_is_refused(whole):
    with pytest.raises(SettingsError, match="has no sessions of market north, top 10 to compare with"):
        outcome(sample(), f"not worse than {whole} for depth 10")
    with pytest.raises(ReportError, match=r"no settings\.json in nowhere"):
        outcome(sample(), "not worse than nowhere")


@pytest.mark.slow
@pytest.mark.parametrize(("folds", "state"), [(8, "holds"), (2, "open")])
def test_a_rule_that_an_interval_from_few_folds_cannot_decide_is_not_decided(halves, tmp_path, folds, state):
    one, other = (with_folds(run, tmp_path / run.name, folds) for run in halves)
    less = min(
        (outcome(b, f"not worse than {a} in ERR") for a, b in ((one, other), (other, one))), key=_value
    )
    assert (less.state, less.found.value < 0) == (state, True)
    assert (less.found.low < 0 < less.found.high, less.fails(strict=False)) == (True, False)
    assert less.fails(strict=True) == (state == "open")
    assert ("inconclusive: " in less.reason and "with 16 folds" in less.reason) == (state == "open")
    assert ("users in fewer than 8 folds" in (less.found.caution or "")) == (state == "open")


def _value(found):
    return found.found.value or 0
