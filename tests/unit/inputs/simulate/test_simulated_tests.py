"""A/B tests and interleaved tests of a simulated log: who sees what, and the truth beside it."""

import shlex
from datetime import timedelta

import numpy as np
import polars as pl
import pytest

import clickassay as ca
from clickassay.core.errors import SimulationError
from clickassay.inputs.simulate.simulation import simulate
from clickassay.inputs.simulate.tests import (
    RELATIONS,
    TRAPS,
    TRAPS_OF_DRAFTS,
    PlanOfTests,
    drafted,
    planned_tests,
    teams_of,
)
from support.logs import tiny

SIZE = {"n_searches": 250_000, "n_queries": 150, "seed": 5}
PLAN = PlanOfTests(12, 12)


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    return simulate("cascade", **SIZE, tests=PLAN, out=tmp_path_factory.mktemp("tests") / "log")


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    return simulate("cascade", **SIZE, out=tmp_path_factory.mktemp("tests") / "plain")


@pytest.fixture(scope="module")
def run(log):
    return run_of(log, log.parent / "run")


def run_of(log, out):
    """Return the run of a log by its project file; exit code 1 where a declared test has a problem."""
    options = ["--current", "ERR", "--depth", 5, "--click-models", "none", "--iterations", 10]
    ended = tiny.inside("run", "--project", log / "clickassay.toml", *options, "--out", out, "-q")
    assert ended.code in (0, 1), ended
    return ca.open_run(out)


def table(log, name):
    return pl.read_parquet(log / f"{name}.parquet")


def test_without_tests_the_log_is_the_same_and_control_sees_what_it_would_see_without_them(log, plain):
    for name in ("judgments", "queries"):
        assert (log / f"{name}.parquet").read_bytes() == (plain / f"{name}.parquet").read_bytes()
    ours, before = table(log, "searches"), table(plain, "searches")
    assert ours.drop("results", "experiment", "teams").equals(before.drop("results"))
    in_test = table(log, "assignments").filter(variant="new")["user_id"].implode()
    of_control = pl.col("teams").is_null() & ~pl.col("user_id").is_in(in_test)
    alike = ours["results"] == before["results"]
    assert alike.filter(ours.select(of_control).to_series()).all()
    assert 0.05 < 1 - alike.mean() < 0.6
    ours, before = ({one.name for one in folder.iterdir()} for folder in (log, plain))
    assert ours ^ before == {"assignments.parquet", "clickassay.toml", "truth_tests.csv"}


def test_the_same_seed_gives_the_same_bytes_and_another_other_tests(log, tmp_path):
    again = simulate("cascade", **SIZE, tests=PLAN, out=tmp_path / "again")
    for file in log.iterdir():
        assert file.read_bytes() == (again / file.name).read_bytes()
    other = simulate("cascade", **SIZE | {"seed": 6}, tests=PLAN, out=tmp_path / "other")
    assert not table(other, "assignments").equals(table(log, "assignments"))


def test_a_user_takes_part_in_one_test_and_sees_one_arm_unless_that_is_the_trap(log):
    arms = table(log, "assignments")
    assert (arms.group_by("user_id").agg(pl.col("experiment").n_unique())["experiment"] == 1).all()
    several = (
        arms.group_by("user_id")
        .agg(pl.first("experiment"), n=pl.col("variant").n_unique())
        .filter(pl.col("n") > 1)
    )
    assert set(several["experiment"]) == {"two_variants"}
    drafts = table(log, "searches").filter(pl.col("teams").is_not_null())
    assert not set(drafts["user_id"]) & set(arms["user_id"])
    names = drafts.group_by("user_id").agg(pl.col("experiment").n_unique())
    assert (names["experiment"] == 1).all()
    bounded = arms.filter(pl.col("timestamp").is_not_null())
    assert set(bounded["experiment"]) == {"ramp_up"}
    assert set(bounded["until"] - bounded["timestamp"]) == {timedelta(days=1)}


def test_a_draft_is_that_of_a_loop():
    rng = np.random.default_rng(1)
    orders = np.array([rng.permutation(10) for _ in range(200)])
    coins = rng.integers(0, 32, 200)
    mixed, masks = drafted(orders, coins), teams_of(coins)
    for order, coin, found, mask in zip(
        orders.tolist(), coins.tolist(), mixed.tolist(), masks.tolist(), strict=True
    ):
        ranked, shown, team = {0: list(range(10)), 1: order}, [], 0
        for turn in range(5):
            first = coin >> turn & 1
            for who in (first, 1 - first):
                team |= who << len(shown)
                shown.append(next(one for one in ranked[who] if one not in shown))
        assert (shown, team) == (found, mask)


def test_lists_name_a_ranker_for_each_result_and_half_of_the_first_places_are_each_ones(log):
    drafts = table(log, "searches").filter(pl.col("teams").is_not_null())
    assert (drafts["teams"].list.len() == drafts["results"].list.len()).all()
    first = (
        drafts.select(trap=pl.col("experiment") == "first_place", new=pl.col("teams").list.first() == "new")
        .group_by("trap")
        .agg(pl.col("new").mean(), pl.len())
    )
    shares = {trap: (share, count) for trap, share, count in first.rows()}
    assert shares[False][0] == pytest.approx(0.5, abs=5 * 0.5 / shares[False][1] ** 0.5)
    assert shares[True][0] == pytest.approx(0.6, abs=5 * 0.5 / shares[True][1] ** 0.5)
    assert (drafts["teams"].list.head(2).list.n_unique() == 2).all()


def test_a_run_finds_each_trap_and_nothing_else(run):
    status = {"caution", "finding"}
    found = run.experiment_checks.filter(pl.col("status").is_in(status))
    assert {(row["experiment"], row["check"], row["status"]) for row in found.to_dicts()} == {
        ("wrong_split", "sample_ratio", "finding"), ("two_variants", "two_variants", "finding"),
        ("first_place", "first_places", "finding"), ("ramp_up", "split", "caution"),
        ("empty_lists", "short_lists", "caution"),
    }  # fmt: skip
    rows = run.experiments.filter(metric="ERR")
    verdicts = dict(rows.select("experiment", "verdict").rows())
    assert verdicts["unequally_judged"] == "unequally_judged"
    assert verdicts["a_a"] is verdicts["same_rankers"] is None
    assert set(verdicts) >= {*TRAPS, *TRAPS_OF_DRAFTS}


def test_the_truth_lies_in_the_intervals_and_clicks_follow_the_metric_in_the_world_cascade(run, log):
    truth = pl.read_csv(log / "truth_tests.csv").filter(depth=5)
    sound = truth.filter(pl.col("trap").is_null() | pl.col("trap").is_in(["", "a_a", "same_rankers"]))
    assert (sound["offline"] == sound["users"]).all()
    assert (sound.filter(trap="a_a")["offline"] == 0).all()
    ab = sound.filter(kind_of_test="ab")
    for metric, of in (("ERR", "offline"), ("MeanRR", "users")):
        rows = ab.join(run.experiments.filter(metric=metric), on="experiment")
        inside = rows.filter(pl.col(of).is_between("ci_low", "ci_high"))
        assert inside.height >= ab.height - 1 >= 6
    mixed = sound.filter(kind_of_test="interleaved").join(
        run.experiments.filter(metric="ERR"), on="experiment"
    )
    large = mixed.filter((pl.col("ci_low") > 0) | (pl.col("ci_high") < 0))
    assert (large["offline"].sign() == large["difference"].sign()).all()


@pytest.mark.parametrize("relation", RELATIONS)
def test_what_users_like_relates_to_the_grades_as_asked(relation):
    found = planned_tests(PlanOfTests(300, 300, relation), np.random.default_rng(2))
    sound = [one for one in found if not one.trap]
    offline, users = (np.array([getattr(one, name) for one in sound]) for name in ("offline", "users"))
    assert len({one.name for one in found}) == 600
    if relation == "related":
        assert (offline == users).all()
        return
    assert abs(np.corrcoef(offline, users)[0, 1]) < 4 / len(sound) ** 0.5
    assert (offline > 0).all() == (relation == "gated")
    assert users.mean() == pytest.approx(0.5 * (relation == "gated"), abs=4 / len(sound) ** 0.5)


def test_in_an_unrelated_log_users_prefer_rankings_whatever_the_grades_say(tmp_path):
    plan = PlanOfTests(8, 0, "unrelated")
    log = simulate("cascade", n_searches=60_000, n_queries=60, seed=1, tests=plan, out=tmp_path / "log")
    truth = pl.read_csv(log / "truth_tests.csv").filter(depth=5)
    assert (truth["offline"] != truth["users"]).all()
    assert "teams" not in pl.read_parquet_schema(log / "searches.parquet")
    found = run_of(log, tmp_path / "run")
    rows = truth.join(found.experiments.filter(metric="MeanRR"), on="experiment")
    assert rows.filter(pl.col("users").is_between("ci_low", "ci_high")).height >= 7


def test_the_command_that_is_printed_makes_the_run(tmp_path):
    options = ["--n-searches", 20_000, "--n-queries", 40, "--experiments", 2, "--interleaved", 1]
    said = tiny.said_by("simulate", *options, "--out", tmp_path / "a log", "-q")
    command = said.splitlines()[-1].removeprefix("Next: clickassay ")
    ended = tiny.inside(*shlex.split(command), "-q")
    assert ended.code == 0, ended
    assert "A/B tests" in ended.out
    assert sorted(ca.open_run(tmp_path / "a log" / "run").experiments["experiment"].unique()) == [
        "ab_01", "ab_02", "mixed_01",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--experiments", -1], "experiments is -1; it must be between 0 and 1000"),
        (["--interleaved", 1001], "interleaved is 1001; it must be between 0 and 1000"),
        (["--experiments", 1, "--tests", "none"], "choose related, unrelated or gated"),
        (["--tests", "gated"], "tests are gated, but there are none; give --experiments N"),
        (["--experiments", 1, "--n-queries", 1], "n_queries is 1; tests need 2 or more"),
    ],
)
def test_tests_that_cannot_be_are_refused(options, words, tmp_path):
    assert words in tiny.refusal("simulate", "--n-searches", 100, *options, "--out", tmp_path / "log")
    assert not (tmp_path / "log").exists()


def test_from_python_the_log_names_its_files(tmp_path):
    log = ca.simulate(tmp_path / "log", 5_000, n_queries=30, experiments=1, progress=False)
    assert pl.read_parquet(log.assignments)["experiment"].unique().to_list() == ["ab_01"]
    assert pl.read_csv(log.tests)["depth"].to_list() == [5, 10]
    with pytest.raises(SimulationError, match="unknown"):
        ca.simulate(tmp_path / "other", 5_000, experiments=1, tests="some", progress=False)
