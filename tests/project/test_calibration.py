"""The simulations behind promises at small sizes, and the pages that state their committed results."""

import sys

import polars as pl
import pytest

from support.places import ROOT
from support.processes import ran

BENCHMARKS = "benchmarks.promises"


def calibrated(out, *options):
    """Run the command from the root of the checkout."""
    done = ran(sys.executable, "-m", f"{BENCHMARKS}.calibration", *options, "--out", out, cwd=ROOT)
    assert done.stderr == ""


@pytest.fixture(scope="module")
def coverage_of_two_worlds(tmp_path_factory):
    """Return the folder that the command writes for two worlds of each kind and size."""
    out = tmp_path_factory.mktemp("calibration")
    calibrated(out, "--only", "coverage", "--worlds", 2)
    return out


def test_calibration_writes_a_row_for_each_kind_of_world_size_and_statistic(coverage_of_two_worlds):
    rows = pl.read_csv(coverage_of_two_worlds / "coverage.csv")
    assert rows.height == 5 * 3 * 6
    assert set(rows["worlds"]) == {2}
    assert set(rows["coverage"].drop_nulls()) <= {0.0, 0.5, 1.0}
    # a third of 50 queries have one configuration, so the closed form rests on fewer than 50
    small = rows.filter(queries=50, statistic="closed form", configurations="few")
    assert small["labelled"].to_list() == [1.0, 1.0]
    assert (rows.filter(queries=5000)["median_width"] < 2).all()
    assert (coverage_of_two_worlds / "coverage.svg").read_text(encoding="utf-8").startswith("<svg")


def test_the_page_of_calibration_has_the_tables_made_and_says_which_are_not(coverage_of_two_worlds):
    page = (coverage_of_two_worlds / "README.md").read_text(encoding="utf-8")
    assert page.count("\n| lognormal 1.15 | few | 50 | 2 |") == 6
    assert page.count("Not made yet.") == 10
    assert "$" not in page


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["tails", "methods", "alarms", "judges", "rankers", "recovery", "cost"])
def test_each_part_of_calibration_writes_its_table(name, tmp_path):
    calibrated(tmp_path, "--only", name, "--worlds", 2)
    assert pl.read_csv(tmp_path / f"{name}.csv").height > 0


@pytest.mark.thorough
def test_plans_of_a_small_pool_are_measured_and_written_down(benchmark_module, tmp_path):
    worth, savings = benchmark_module("labelling.worth"), benchmark_module("labelling.savings")
    errors = savings.averaged(worth.of_pool(worth.Task("simulated", 0, 100, 3, seed=4)))
    worth.write(errors, pl.DataFrame({"from": [0.5, 0.6], "queries": [60, 40]}), tmp_path)
    assert set(pl.read_csv(tmp_path / "errors.csv")["repetitions"]) == {3}
    assert pl.read_csv(tmp_path / "saved.csv").height == 7 * 2 * 4  # comparisons, measures, plans


def test_the_pages_have_the_figures_of_the_committed_tables():
    folder = ROOT / "reports" / "calibration"
    users = pl.read_csv(folder / "users.csv").to_dicts()
    shares = {(row["searches"], row["numbers"], row["folds"]): f"{100 * row['alarms']:.1f}" for row in users}
    page = (folder / "README.md").read_text(encoding="utf-8")
    for searches, numbers in {key[:2] for key in shares}:
        cells = [searches, numbers, "60", *(shares[searches, numbers, folds] for folds in (1, 2, 16))]
        assert f"| {' | '.join(cells)} |" in page
    of_16, without = (
        {
            kind: [float(share) for key, share in shares.items() if key[1:] == (kind, folds)]
            for _, kind, _ in shares
        }
        for folds in (16, 1)
    )
    told = (ROOT / "docs" / "reference" / "diff.md").read_text(encoding="utf-8")
    for kind, found in of_16.items():
        named = kind.replace("editorial", "offline")  # families of `diff` have names of their own
        assert f"in {min(found)} to {max(found)}% for {named}" in told
    kinds = ("means of click metrics", "means of editorial metrics", "weighted correlations")
    first, second, third = (max(without[kind]) for kind in kinds)
    assert f"in up to {first}%, {second}% and {third}%" in told
    for row in pl.read_csv(folder / "judges.csv").to_dicts():
        assert f"| {row['world']} | {row['judges']} | {row['trials']} | {row['pairs']:.0f} |" in page


def test_cautions_find_the_worlds_whose_intervals_are_too_short():
    rows = pl.read_csv(ROOT / "reports" / "calibration" / "tails.csv")
    short = rows.filter(pl.col("coverage") < 0.9)
    assert short.height > 0
    assert (short["labelled"] > 0.8).all()
    lognormal = rows.filter(pl.col("weights").str.starts_with("lognormal"))
    assert (lognormal["labelled"] < 0.1).all()
    trusted = rows.filter(pl.col("labelled") < 0.5)["coverage_unlabelled"]
    assert ((trusted > 0.93) & (trusted < 0.981)).all()
