"""What the page on method says of correlations within queries, against the committed result."""

import re

import polars as pl
import pytest

from support.places import ROOT

BENCHMARKS = "benchmarks.promises"
RESULT = ROOT / "reports" / "calibration" / "verdict.csv"


@pytest.fixture(scope="module")
def table():
    return pl.read_csv(RESULT)


def test_the_method_states_the_figures_of_the_committed_result(table):
    text = " ".join((ROOT / "docs/explanation/method.md").read_text(encoding="utf-8").split())
    (stated,) = re.findall(
        r"In (\d+) simulated samples each of twelve kinds of logs and 60, 200 and 1,000 queries, intervals "
        r"held the true value in ([\d.]+) to ([\d.]+)%, and all ten simultaneous intervals of differences "
        r"in "
        r"([\d.]+) to ([\d.]+)%. It found ([\d.]+) times as many significant differences as the closed "
        r"form; any was found in ([\d.]+)% where there was none .of one kind and size in up to ([\d.]+)%.. "
        r".*? at most ([\d.]+)% were .switch. to a worse metric, ([\d.]+)% .keep. where .*? "
        r".up to ([\d.]+)% if .keep. needed .*? and ([\d.]+)% .depends on the click metric.*? "
        r"among the best in ([\d.]+)% or more",
        text,
    )
    assert table.height == 12 * 3
    assert table["samples"].unique().to_list() == [int(stated[0])]
    shares = [
        *(100 * end for name in ("held", "jointly") for end in (table[name].min(), table[name].max())),
        table["pairs"].sum() / table["pairs_closed_form"].sum(),
        100 * table["any_of_none"].mean(),
        100 * table["any_of_none"].max(),
    ]
    assert list(stated[1:8]) == [f"{share:.1f}" for share in shares]
    wrong = [100 * table[name].max() for name in ("switch_wrong", "keep_wrong", "depends_wrong")]
    assert [stated[8], stated[9], stated[11]] == [f"{share:.2f}" for share in wrong]
    assert stated[10] == f"{100 * table['keep_wrong_untested'].max():.1f}"
    assert stated[12] == f"{100 * with_a_best(table)['best_among'].min():.1f}"


def test_the_method_states_the_power_that_other_queries_have():
    table = pl.read_csv(ROOT / "reports" / "calibration" / "promised_power.csv")
    text = " ".join((ROOT / "docs/explanation/method.md").read_text(encoding="utf-8").split())
    (stated,) = re.findall(
        r"In six kinds of logs.*? pilots of 60 to 1,000 queries, .*? 80% gave other queries .*?"
        r"([\d.]+) to ([\d.]+)% within queries; over all queries ([\d.]+) to ([\d.]+)% where sessions per "
        r"query are lognormal, ([\d.]+) to ([\d.]+)% where they follow a Pareto law, which",
        text,
    )
    is_within, is_heavy = pl.col("correlation") == "within queries", pl.col("log").str.starts_with("Pareto")
    parts = [table.filter(kept) for kept in (is_within, ~is_within & ~is_heavy, ~is_within & is_heavy)]
    ends = [100 * end for part in parts for end in (part["power"].min(), part["power"].max())]
    assert list(stated) == [f"{end:.1f}" for end in ends]
    assert table.height == 6 * 2 * 3
    assert parts[0]["power"].is_between(0.7, 0.9).all()
    assert (parts[2]["said"] > 0.65).all()
    assert (table["power"] >= table["power_by_estimate"]).all()


@pytest.fixture(scope="module")
def limits():
    return pl.read_csv(ROOT / "reports" / "calibration" / "limits.csv")


def test_the_page_on_check_states_how_often_rules_break_by_chance(limits):
    text = " ".join((ROOT / "docs/reference/check.md").read_text(encoding="utf-8").split())
    is_heavy = pl.col("log").str.starts_with("Pareto")
    heavy, others = limits.filter(is_heavy), limits.filter(~is_heavy)
    (stated,) = re.findall(
        r"`within` ([\d.]+) to ([\d.]+)% by kind of log, `correlation` ([\d.]+) to ([\d.]+)%.*?the truth is "
        r"above a correlation's interval in (\d+) to (\d+)% of samples.*?breaks it \(([\d.]+) to ([\d.]+)"
        r"%; with 60 queries, whose tail is not always visible, ([\d.]+) and ([\d.]+)%\)",
        text,
    )
    few, more = heavy.filter(queries=60), heavy.filter(pl.col("queries") > 60)
    columns = [
        limits["within"], others["correlation"], heavy["above"], more["correlation"], few["correlation"],
    ]  # fmt: skip
    digits = [1, 1, 0, 1, 1]
    ends = [
        f"{100 * end:.{places}f}"
        for column, places in zip(columns, digits, strict=True)
        for end in (column.min(), column.max())
    ]
    assert list(stated) == ends
    (broken,) = re.findall(
        r"in ([\d.]+)% of simulated pairs of nights on average, at most ([\d.]+)% of a kind", text
    )
    nights = 50 * (limits["same_lists"] + limits["other_queries"])
    assert list(broken) == [f"{nights.mean():.1f}", f"{nights.max():.1f}"]


def test_small_promises_have_a_row_for_each_sample_or_pilot(benchmark_module):
    limits, power = benchmark_module("limits"), benchmark_module("promised_power")
    rows = limits.of_task(limits.Task(limits.KINDS[0], 60, 0, 2, seed=1))
    assert rows.height == 2
    assert rows["within"].is_between(0, 1).all()
    found = power.of_task(power.Task(power.KINDS[0], True, 12, seed=1))
    assert found["pilot"].to_list() == [60, 200, 1000]
    assert found["power"].is_between(0, 1).all()


def with_a_best(table):
    """Logs in which a metric truly predicts clicks."""
    return table.filter(~pl.col("log").is_in(["null", "reversed"]))


def test_the_promises_are_kept(table):
    assert table["jointly"].min() >= 0.93
    assert table["held"].is_between(0.93, 0.97).all()
    assert table["any_of_none"].mean() <= 0.05
    assert table.filter(pl.col("queries") == 1000)["any_of_none"].max() <= 0.06
    assert table["switch_wrong"].max() <= 0.01
    assert table["keep_wrong"].max() <= 0.05
    assert table["depends_wrong"].max() <= 0.02
    assert with_a_best(table)["best_among"].min() >= 0.95
    large = with_a_best(table).filter(queries=1000)
    assert (large["pairs"] > large["pairs_closed_form"]).all()
    assert large["pairs"].sum() > 1.5 * large["pairs_closed_form"].sum()


def test_samples_of_a_small_world_have_a_row_each(benchmark_module):
    verdict = benchmark_module("verdict.pools")
    rows = verdict.of_task(verdict.Task(verdict.KINDS[0], 60, 0, 2, seed=1))
    assert rows.height == 2
    assert rows["held"].is_between(0, 1).all()
    truth = verdict.true_values(verdict.KINDS[0].pool(1))
    assert ((truth > 0) & (truth < 1)).all()


def test_a_log_whose_queries_share_a_sale_has_a_row(benchmark_module):
    shared = benchmark_module("verdict.shared")
    task = shared.Task(shared.WORLDS[0], 60, 0, 2, 2, 1)
    rows = shared.of_task(task)
    assert rows.height == 2
    assert rows["one_change"].to_list() == [1, 1]
    assert rows["moments"].is_between(1, 2).all()
    assert rows["beside"].is_between(0, 0.5).all()
