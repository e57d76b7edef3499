"""`clickassay check` as its users meet it: exit codes, what it prints, JSON, and what it refuses."""

import json
import re

import polars as pl
import pytest

from clickassay.api.studies.check import SCHEMA
from clickassay.studies.runs_compared.gate.check import DEFAULT_RULES, RuleState
from clickassay.studies.runs_compared.gate.grammar import HEALTH
from clickassay.studies.runs_compared.gate.quantities import QUANTITIES
from support.logs import tiny
from support.places import ROOT
from support.runs.given_runs import changed_table, judgments, made
from support.runs.sample_run import sample

HOSTILE = "\x1b[31mred\x1b[0m\u202e[bold]"
PAGE = ROOT / "docs" / "reference" / "check.md"
PAST_TESTS = ROOT / "data_samples" / "past_tests.csv"


def checked(*arguments):
    return tiny.inside("check", *arguments)


def with_rules(*texts):
    return [part for text in texts for part in ("--rule", text)]


@pytest.mark.parametrize(
    ("rule", "code", "strict"),
    [
        ("correlation(ERR, MeanRR) >= 0.2", 0, 0),  # 0.366, interval 0.304 to 0.424
        ("correlation(ERR, MeanRR) >= 0.35", 0, 1),
        ("correlation(ERR, MeanRR) >= 0.6", 1, 1),
        ("coverage >= 0.9", 0, 0),
        ("coverage >= 0.95", 1, 1),
        ('health == "ok"', 0, 0),
        ('health == "finding"', 1, 1),
    ],
)
def test_a_rule_decides_the_exit_code(rule, code, strict):
    assert checked(sample(), "--rule", rule).code == code
    assert checked(sample(), "--rule", rule, "--strict").code == strict


def test_a_value_that_is_missing_ends_with_1(whole, tmp_path):
    none = changed_table(whole, tmp_path / "none", "correlations", lambda rows: rows.with_columns(
        correlation=None, ci_low=None, ci_high=None, reason=pl.lit("no variance"),
    ).cast({"correlation": float, "ci_low": float, "ci_high": float}))  # fmt: skip
    ended = checked(none, "--rule", "correlation(ERR, MeanRR) >= -1")
    assert ended.code == 1
    assert "UNDECIDED correlation(ERR, MeanRR) >= -1: no value: no variance" in ended.out


def test_two_judges_of_a_run_must_agree(tmp_path):
    higher = pl.when(pl.int_range(pl.len()) % 3 == 0).then(1).otherwise(0)
    by_model = judgments().with_columns(grade=(pl.col("grade") + higher).clip(0, 4), judge=pl.lit("gpt 5"))
    both = pl.concat([judgments().with_columns(judge=pl.lit("people")), by_model], how="vertical_relaxed")
    run = made(tmp_path / "run", both)
    table = pl.read_parquet(run / "agreement.parquet").filter(measure="kappa_quadratic")
    row = table.row(0, named=True)
    assert 0.5 < row["ci_low"] < row["value"] < 1
    rule = with_rules('agreement(people, "gpt 5") >= 0.4')
    told = json.loads(checked(run, *rule, "--json").out)["rules"][0]
    assert (told["state"], told["value"]) == ("holds", row["value"])
    assert (told["ci_low"], told["ci_high"]) == (row["ci_low"], row["ci_high"])
    assert checked(run, *with_rules("agreement(gpt 5, people) >= 0.999")).code == 1
    assert (
        "has no judge 'ann' to compare; it has gpt 5 and people"
        in checked(run, *with_rules("agreement(people, ann) >= 0.4")).err
    )
    assert checked(sample(), *with_rules("agreement(a, b) >= 0.4")).err.endswith("it has one judge\n")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--rule", "coverage"], "rule 'coverage': expected a rule such as"),
        (["--rule", "correlation(EER, MeanRR) >= 0"], "unknown metric EER; did you mean "),
        (["--rule", "mean(ERR@2) >= 0"], "does not have the metric ERR@2; it has "),
        (["--rule", "coverage >= 0.8 for depth 7"], "has no judged configurations of depth 7; it has: "),
        (["--market", HOSTILE], "has no judged configurations of market "),
        (["--rule", "not worse than nowhere"], "no settings.json in nowhere: give a folder that"),
        (["--rule", f"not worse than {HOSTILE} >= 2"], "expected not worse than PATH"),
    ],
)
def test_what_cannot_be_checked_is_refused_with_2_and_one_line(whole, arguments, words):
    assert words in tiny.refusal("check", whole, *arguments)


def test_without_rules_the_default_ones_are_checked_which_help_names():
    told = json.loads(tiny.said_by("check", sample(), "--json"))
    assert [one["rule"] for one in told["rules"]] == list(DEFAULT_RULES)
    shown = checked("--help").out
    assert [rule for rule in DEFAULT_RULES if rule not in shown] == []


def test_rules_of_a_file_come_before_those_of_options_and_take_the_place_of_the_default_ones(tmp_path):
    file = tmp_path / "rules.toml"
    file.write_text("rules = ['coverage >= 0.8', 'health == \"ok\"']\n")
    ended = checked(
        sample(), "--rules", file, "--rule", "queries >= 1", "--rule", "coverage >= 0.8", "--json"
    )
    rules = [one["rule"] for one in json.loads(ended.out)["rules"]]
    assert rules == ["coverage >= 0.8", 'health == "ok"', "queries >= 1"]


RULES = with_rules(
    "correlation(ERR, MeanRR) >= 0.6", "correlation(ERR, MeanRR) >= 0.35", "coverage >= 0.8", 'health == "ok"'
)


def test_a_table_shows_values_and_states_and_lines_say_why():
    lines = checked(sample(), *RULES).out.splitlines()
    rows = [re.split(r"\s{2,}", line.strip()) for line in lines]
    place = "market north, top 5"
    assert ["correlation(ERR, MeanRR) >= 0.6", "broken", place, "0.3656", "0.304 to 0.424"] in rows
    assert ["coverage >= 0.8", "holds", place, "0.91583"] in rows
    assert ['health == "ok"', "holds", "ok"] in rows
    assert lines[0] == (
        "1 of 4 rules is broken: correlation(ERR, MeanRR) >= 0.6; "
        "1 is inconclusive (passes unless --strict): correlation(ERR, MeanRR) >= 0.35."
    )
    broken, open_, caution, verdict = lines[-4:]
    assert broken == (
        "BROKEN correlation(ERR, MeanRR) >= 0.6: the whole 95% CI breaks the rule (0.304 to 0.424)"
    )
    assert open_ == (
        "INCONCLUSIVE correlation(ERR, MeanRR) >= 0.35: "
        "the limit 0.35 lies inside the 95% CI (0.304 to 0.424)"
    )
    assert caution.startswith("Caution, 2 intervals: a few very frequent queries dominate")
    assert verdict == "status: problem found"
    passed = checked(sample(), *RULES[2:]).out.splitlines()[0]
    assert passed.startswith("1 of 3 rules is inconclusive (passes unless --strict): ")
    assert checked(sample(), *RULES[4:]).out.splitlines()[0] == "All 2 rules hold."


def test_json_has_every_rule_with_its_value_interval_limit_and_reason():
    ended = checked(sample(), *RULES, "--json")
    told = json.loads(ended.out)
    assert (ended.code, ended.err) == (1, "status: problem found\n")
    assert told["run"] == str(sample())
    assert (told["schema"], told["passed"], told["strict"]) == (SCHEMA, False, False)
    broken, open_, size, health = told["rules"]
    row = pl.read_parquet(sample() / "correlations.parquet").row(
        by_predicate=(pl.col("market") == "north") & (pl.col("depth") == 5) & (pl.col("split") == "all")
        & (pl.col("click_metric") == "MeanRR") & (pl.col("editorial_metric") == "ERR"),
        named=True,
    )  # fmt: skip
    assert (broken["value"], broken["ci_low"], broken["ci_high"]) == (
        *(row["correlation"], row["ci_low"], row["ci_high"]),
    )
    assert (broken["comparison"], broken["limit"], broken["caution"]) == (">=", 0.6, row["caution"])
    assert [one["state"] for one in told["rules"]] == ["broken", "open", "holds", "holds"]
    assert (open_["market"], open_["depth"], open_["judge"]) == ("north", 5, "all")
    assert size["ci_low"] is None
    assert (health["status"], health["value"], health["market"]) == ("ok", None, None)


def test_a_run_that_is_worse_than_another_ends_with_1_and_json_has_what_fell(whole, turned):
    assert checked(whole, "--rule", f"not worse than {turned} in ERR, MeanRR").code == 0
    ended = checked(turned, "--rule", f"not worse than {whole} in ERR", "--json")
    assert ended.code == 1
    (rule,) = json.loads(ended.out)["rules"]
    assert rule["changes"]
    assert all(row["b"] < row["a"] and row["status"] == "beyond noise" for row in rule["changes"])
    assert rule["value"] == min(rule["changes"], key=lambda row: row["p_adjusted"])["change"]


def test_the_page_names_every_quantity_state_option_default_and_key_of_the_document():
    page = PAGE.read_text(encoding="utf-8")
    forms = [one.form for one in QUANTITIES.values()]
    assert [form for form in [*forms, HEALTH, *RuleState, *DEFAULT_RULES] if f"`{form}`" not in page] == []
    meanings = [one.meaning for one in QUANTITIES.values()]
    assert [meaning for meaning in meanings if f"| {meaning}" not in page] == []
    options = set(re.findall(r"--[a-z][a-z-]+", checked("--help").out)) - {"--help"}
    assert sorted(option for option in options if f"`{option}" not in page) == []
    told = json.loads(checked(sample(), "--json").out)
    keys = [*told, *told["rules"][0]]
    assert [key for key in keys if f"`{key}`" not in page] == []


@pytest.mark.parametrize(
    ("rule", "code", "state"),
    [
        ("tests(NDCG) >= 0.6", 0, "holds"),  # 0.770, interval 0.635 to 0.906
        ("tests(NDCG) >= 0.7", 0, "open"),
        ("tests(changed) >= 0.7", 1, "broken"),  # 0.498, interval 0.343 to 0.653
    ],
)
def test_a_rule_on_past_tests_is_judged_by_its_interval(whole, rule, code, state):
    ended = checked(whole, *with_rules(rule), "--past-tests", PAST_TESTS, "--json")
    assert ended.code == code
    assert [one["state"] for one in json.loads(ended.out)["rules"]] == [state]


def test_a_rule_on_past_tests_needs_them_and_a_metric_of_theirs(whole, tmp_path, monkeypatch):
    assert "give --past-tests FILE" in tiny.refusal("check", whole, *with_rules("tests(NDCG) >= 0.6"))
    line = tiny.refusal("check", whole, *with_rules("tests(NDGC) >= 0.6"), "--past-tests", PAST_TESTS)
    assert "past tests have no metric NDGC; did you mean NDCG" in line
    few = tmp_path / "few.csv"
    few.write_text("experiment,difference,NDCG\na,1,1\nb,2,2\n")
    ended = checked(whole, *with_rules("tests(NDCG) >= 0.6"), "--past-tests", few)
    assert ended.code == 1
    assert "fewer than 10 groups of tests" in ended.out
    (tmp_path / "clickassay.toml").write_text(f'[inputs]\npast_tests = "{PAST_TESTS}"\n')
    monkeypatch.chdir(tmp_path)
    assert checked(whole, *with_rules("tests(NDCG) >= 0.6")).code == 0
