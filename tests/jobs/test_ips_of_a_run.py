"""IPS in a run: its law, an oracle in plain Python, its error, where it has none, what it has no part in."""

import math
from collections import defaultdict

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import clickassay as ca
from clickassay.cli.app import app
from clickassay.click_models.position_bias import PositionBias
from clickassay.core.errors import ClickModelError, SettingsError
from clickassay.jobs import strata
from clickassay.judgments.ips import Biases, position_biases
from support.logs import tiny
from support.logs.position_world import position_world

THETA = (1, 0.6, 0.4, 0.3, 0.25)
QUICK = {**tiny.PYTHON, "depth": [5], "iterations": 50, "max_grade": 4, "click_metric": ("MeanRR", "IPS")}
ENDS = ["ci_low", "ci_high", "simultaneous_low", "simultaneous_high"]


def run_of(world, **more):
    return ca.run(world.searches, world.clicks, world.judgments, **{**QUICK, **more})


def page_of(run, folder):
    return (run.save(folder / "run") / "report.md").read_text(encoding="utf-8")


def overall(run, click="IPS"):
    return run.correlations.filter(click_metric=click, split="all")


def test_ips_does_not_depend_on_where_results_stand():
    world = position_world(300_000, seed=1, theta=THETA, same_results=True, queries=40)
    lists = run_of(world).configurations.select("query", "IPS", "QCTR", "n_sessions")
    attraction = {f"q{query}": one.sum() for query, one in zip(world.query, world.attraction, strict=True)}
    planted = lists["query"].replace_strict(attraction)
    by_query = lists.with_columns(planted=planted, weighted=pl.col("IPS") * pl.col("n_sessions"))
    assert np.average(lists["IPS"] - planted, weights=lists["n_sessions"]) == pytest.approx(0, abs=0.05)
    spread = by_query.group_by("query").agg(pl.col("IPS").std().alias("IPS"), pl.col("QCTR").std())
    assert spread["IPS"].mean() < 0.08
    assert spread["QCTR"].mean() > 0.1  # clicks do depend on it


def cascade():
    return position_world(
        40_000, seed=1, theta=[1] * 5, queries=200, per_query=4, same_results=True, cascade=True
    )


def test_it_has_no_value_where_users_stop_at_what_they_found(tmp_path):
    world = cascade()
    run = run_of(world)
    assert run.configurations["IPS"].null_count() == run.configurations.height
    told = "examination does not depend on the position alone: "
    assert overall(run)["reason"].str.starts_with(told).all()
    reasons = run.position_bias.filter(position=5)["reason"]
    assert reasons.str.contains("predicts clicks on unseen rankings").all()
    assert f"IPS has no value: {told}" in page_of(run, tmp_path)
    with pytest.MonkeyPatch.context() as patch:  # what it would say
        patch.setattr(strata, "position_premise", lambda _: None)
        run = run_of(world)
    apart = pl.col("IPS", "NDCG") - pl.col("IPS", "NDCG").mean().over("query")
    assert run.configurations.select(apart).corr()["IPS"][1] < -0.5  # of the same results


def test_a_log_that_does_not_tell_whether_users_stop_has_no_value():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(strata, "held_out", unheard)
        run = run_of(position_world(20_000, seed=5, theta=THETA, per_query=3))
    assert overall(run)["reason"].unique().to_list() == [
        "whether examination depends on position alone is unknown: no rankings to hold out"
    ]
    assert run.configurations["IPS"].null_count() == run.configurations.height


def unheard(*_given, **_more):
    raise ClickModelError("click models: no rankings to hold out")


def test_it_compares_nothing(tmp_path):
    run = run_of(position_world(20_000, seed=3, theta=THETA, per_query=3))
    having = {
        name
        for name, table in run.tables.items()
        if "click_metric" in table.columns and "IPS" in table["click_metric"]
    }
    assert having == {"correlations"}
    assert overall(run)["split"].unique().to_list() == ["all"]
    for refused in (
        lambda: ca.power(run, click_metric="ips", difference=0.1),
        lambda: ca.diff(run, run, click_metric="IPS"),
        lambda: ca.check(run, ["within(ERR, IPS) > 0"]),
    ):
        with pytest.raises(SettingsError, match="IPS has no value within queries and no rank; name another"):
            refused()
    assert "IPS" not in ca.diff(run, run).numbers["click_metric"]
    assert "prefers the worse order" in page_of(run, tmp_path)


def oracle(run):
    """Return IPS of each list, and its variance, from the examination of the other users."""
    theta = defaultdict(dict)
    for row in run.position_bias.iter_rows(named=True):
        theta[row["users"]][row["position"]] = row["examination"]
    values = defaultdict(list)
    for row in run.patterns.iter_rows(named=True):
        other = theta["even" if row["fold"] % 2 else "odd"]
        clicked = [place for place in range(1, 6) if row["click_mask"] >> (place - 1) & 1]
        value = sum(1 / max(other[place], 0.05) for place in clicked)
        values[row["configuration_id"]] += [value] * row["sessions"]
    return {name: math.fsum(own) / len(own) for name, own in values.items()}


@pytest.mark.parametrize(("theta", "sessions"), [(THETA, 40_000), ((1, 0.5, 0.2, 0.04, 0.03), 150_000)])
def test_values_are_those_of_plain_python(theta, sessions):
    run = run_of(position_world(sessions, seed=2, theta=theta, per_query=3))
    assert (run.position_bias["examination"].min() < 0.05) == (theta is not THETA)
    expected = oracle(run)
    lists = run.configurations
    assert lists["IPS"].to_list() == pytest.approx([expected[one] for one in lists["configuration_id"]])


def test_all_else_is_as_without_it():
    world = position_world(20_000, seed=3, theta=THETA, per_query=3)
    run, plain = run_of(world), run_of(world, click_metric=("MeanRR",))
    assert plain.position_bias.is_empty()
    assert run.decision == plain.decision
    for name, table in plain.tables.items():
        own = run.tables[name].drop("IPS", strict=False)
        if "click_metric" in own.columns:
            own = own.filter(pl.col("click_metric") != "IPS")
        assert name == "position_bias" or own.equals(table), name


def test_intervals_contain_the_error_of_examination_and_come_out_the_same_again():
    world = position_world(12_000, seed=4, theta=THETA, per_query=3)
    run = run_of(world)
    assert 0.05 < run.position_bias["log_error"].max() < 0.1
    own, other = overall(run), overall_as_known(world, run.position_bias)
    assert own["correlation"].equals(other["correlation"])
    for low, high in (ENDS[:2], ENDS[2:], ["noise_corrected_low", "noise_corrected_high"]):
        wider = (own[high] - own[low]) / (other[high] - other[low])
        assert wider.min() > 1
        assert wider.max() > 1.05
    assert (own["p_value"] >= other["p_value"]).all()
    assert (own["p_adjusted"] >= own["p_value"]).all()
    first, second = run_of(world), run_of(world)
    assert [name for name, table in first.tables.items() if not table.equals(second.tables[name])] == []


def exactly(rows):
    """Make the position bias of a half as if it were known without error."""
    return PositionBias(rows.sort("position")["examination"].to_numpy(), np.zeros((5, 5)), 1000, 1000, 1000)


def overall_as_known(world, rows):
    """Return the correlations with IPS as if this examination were known without error."""
    halves = {half: exactly(rows.filter(users=half)) for half in ("even", "odd")}
    return overall(run_with(world, Biases({"all": halves})))


def run_with(world, biases):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(strata, "position_biases", lambda *_: biases)
        return run_of(world)


def biases_of(world):
    """Return the position bias of a run, as the table of the run and as it is used."""
    kept = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            strata, "position_biases", lambda *given: kept.append(position_biases(*given)) or kept[0]
        )
        return run_of(world).position_bias, kept[0]


def test_known_examination_gives_the_rows_of_any_other_click_metric():
    # at θ = 1 of all positions IPS is the number of clicks
    world = position_world(20_000, seed=5, theta=THETA, per_query=3)
    run = run_of(world)
    own = overall_as_known(world, run.position_bias.with_columns(examination=1.0))
    for column, expected in overall(run, "QCTR").drop("click_metric").to_dict().items():
        if expected.dtype == pl.Float64:
            assert own[column].to_list() == pytest.approx(expected.to_list(), abs=1e-9), column
        else:
            assert own[column].equals(expected), column


@pytest.mark.thorough
def test_the_error_added_is_the_spread_of_values_over_examinations_of_other_users():
    worlds = [position_world(9_000, seed=100 + one, theta=THETA, per_query=4) for one in range(14)]
    usable = [
        (table, biases)
        for table, biases in map(biases_of, worlds)
        if table["reason"].null_count() == table.height
    ]
    assert len(usable) > 7
    values, further = [], []
    for table, biases in usable:
        own, known = overall(run_with(worlds[0], biases)), overall_as_known(worlds[0], table)
        values.append(own["correlation"].to_numpy())
        squares = [((rows["ci_high"] - rows["correlation"]) / 1.96).to_numpy() ** 2 for rows in (own, known)]
        further.append(squares[0] - squares[1])
    seen, told = np.std(values, axis=0, ddof=1), np.sqrt(np.mean(further, axis=0))
    assert np.median(told / seen) == pytest.approx(1, abs=0.25)


@pytest.mark.thorough
def test_grades_that_mean_nothing_hardly_ever_correlate_with_it():
    alarms = 0
    for seed in range(40):
        world = position_world(10_000, seed=5000 + seed, theta=THETA, per_query=4)
        random = np.random.default_rng(seed).integers(0, 5, world.judgments.height)
        judgments = world.judgments.with_columns(grade=pl.Series(random))
        run = ca.run(world.searches, world.clicks, judgments, **QUICK)
        alarms += bool((overall(run)["p_adjusted"] < 0.05).any())
    assert alarms <= 4  # 5% of 40 are 2


def test_a_log_that_shows_results_at_one_position_has_no_value_and_says_why(tmp_path):
    world = position_world(10_000, seed=6, theta=THETA, per_query=1)
    run = run_of(world)
    assert run.configurations["IPS"].null_count() == run.configurations.height
    rows = overall(run)
    assert rows.height == 11
    assert rows["reason"].str.contains("pairs, 100 needed").all()
    assert "IPS has no value: too few results were seen at two positions (0 pairs" in page_of(run, tmp_path)


def test_markets_have_their_own_examination():
    worlds = [position_world(20_000, seed=7 + one, theta=THETA, per_query=3) for one in range(2)]
    searches = pl.concat(
        [
            world.searches.with_columns(market=pl.lit(name), search_id=pl.col("search_id") + 10**6 * at)
            for at, (name, world) in enumerate(zip(("de", "fr"), worlds, strict=True))
        ]
    )
    clicks = pl.concat(
        [one.clicks.with_columns(search_id=pl.col("search_id") + 10**6 * at) for at, one in enumerate(worlds)]
    )
    judgments = pl.concat(
        [
            one.judgments.with_columns(market=pl.lit(name))
            for name, one in zip(("de", "fr"), worlds, strict=True)
        ]
    )
    run = ca.run(searches, clicks, judgments, **QUICK)
    assert run.position_bias["market"].unique().sort().to_list() == ["de", "fr"]
    for name, world in zip(("de", "fr"), worlds, strict=True):
        alone = overall(run_of(world))["correlation"].to_list()
        assert overall(run).filter(market=name)["correlation"].to_list() == pytest.approx(alone)


def test_one_fold_has_no_other_half():
    run = run_of(position_world(10_000, seed=9, theta=THETA), folds=1)
    assert overall(run)["reason"].str.contains("users of one half only").all()


def test_it_leads_no_verdict_and_has_no_signals():
    world = position_world(3_000, seed=10, theta=THETA, per_query=3)
    for asked in (("IPS",), ("IPS", "MeanRR")):
        with pytest.raises(SettingsError, match=r"name another before it, such as .* MeanRR,IPS"):
            run_of(world, click_metric=asked)
    with pytest.raises(SettingsError, match="metrics of signals are UCTR"):
        run_of(world, click_metric=("MeanRR", "IPS(signal='satisfied')"))


def test_the_command_takes_it(tmp_path):
    log = ca.simulate(tmp_path / "log", 3000, n_queries=60, seed=2, progress=False)
    files = {"--searches": log.searches, "--clicks": log.clicks, "--judgments": log.judgments}
    given = ["run", *(str(one) for pair in files.items() for one in pair), "--out", str(tmp_path / "run")]
    result = CliRunner().invoke(app, [*given, "--click-metric", "meanrr,ips", "--iterations", "50"])
    assert result.exit_code == 0, result.output
    assert ca.open_run(tmp_path / "run").position_bias.height == 40
