"""Signals and outcomes from a log to a report: planted worlds, null worlds, what is refused and said."""

from dataclasses import replace

import numpy as np
import polars as pl
import polars.testing
import pytest
from typer.testing import CliRunner

import clickassay as ca
from clickassay.cli.app import app
from clickassay.report.sections.overview import facts
from support.logs import tiny
from support.logs.signal_world import START_MS, alarms_of_signals, signal_world

QUICK = {**tiny.PYTHON, "depth": [5], "iterations": 50}
SATISFIED = "MeanRR(signal='satisfied')"


def correlation(run, click, editorial="ERR"):
    rows = run.correlations.filter(split="all", click_metric=click, editorial_metric=editorial)
    return rows.row(0, named=True)


def run_of(world, **more):
    return ca.run(world.searches, world.clicks, world.judgments, **{**QUICK, **more})


def test_satisfied_clicks_keep_err_where_short_clicks_spoil_all_clicks():
    world = signal_world(150_000, seed=1, noise=0.7, bought=0.25)
    run = run_of(world, signal=["auto", "satisfied"])
    assert correlation(run, SATISFIED)["correlation"] > 0.97
    assert correlation(run, "MeanRR")["correlation"] < 0.96
    lists = run.configurations
    stops = dict(zip(map(tuple, world.lists.tolist()), world.stops, strict=True))
    planted = np.array([stops[tuple(one)] for one in lists["grades"].to_list()])
    error = 4 * np.sqrt(0.25 * planted * (1 - 0.25 * planted) / lists["n_sessions"].to_numpy())
    bought = lists["UCTR(signal='purchase')"].to_numpy()
    assert (np.abs(bought - 0.25 * planted) < error + 1e-9).mean() > 0.99


def test_without_noise_satisfied_clicks_are_the_clicks_to_the_digit():
    world = signal_world(20_000, seed=2)
    run = run_of(world, signal=["satisfied"])
    for name in ("MeanRR", "UCTR", "PLC", "MinRR", "MaxRR", "QCTR"):
        assert run.configurations[f"{name}(signal='satisfied')"].equals(run.configurations[name])
    one, other = correlation(run, SATISFIED), correlation(run, "MeanRR")
    names = ("correlation", "ci_low", "ci_high", "noise_corrected", "p_value", "p_adjusted")
    assert [one[name] for name in names] == [other[name] for name in names]
    pair = run.signal_correlations.row(0, named=True)
    assert (pair["signal_a"], pair["signal_b"], pair["correlation"]) == (
        "click",
        "satisfied",
        pytest.approx(1),
    )


def test_clicks_alone_have_the_numbers_of_the_run_with_signals_and_no_section(tmp_path):
    world = signal_world(20_000, seed=3, noise=0.2, bought=0.5)
    clicks = world.clicks.filter(action="click").select("search_id", "timestamp", "url")
    plain = ca.run(world.searches, clicks, world.judgments, **QUICK)
    run = run_of(world, signal=["auto", "satisfied"])
    assert plain.signals.is_empty()
    assert "Which signal?" not in (plain.save(tmp_path / "run") / "report.md").read_text(encoding="utf-8")
    for name in ("patterns", "ranking", "verdict", "draws", "influence", "comparisons"):
        own, other = (one.tables[name] for one in (run, plain))
        if "click_metric" in own.columns:
            own = own.filter(~pl.col("click_metric").str.contains("signal"))
        assert own.equals(other), name
    assert replace(run.decision, signals=plain.decision.signals) == plain.decision


@pytest.mark.thorough
def test_signals_that_are_noise_seldom_alarm():
    worlds = 40
    assert alarms_of_signals(worlds) <= 0.06 * worlds + 2 * np.sqrt(0.05 * 0.95 * worlds)


def actions(world, names):
    clicks = world.clicks
    parts = [clicks.head(40).with_columns(action=pl.lit(name)) for name in names]
    return pl.concat([clicks, *parts])


@pytest.mark.parametrize(
    ("change", "settings", "words"),
    [
        (lambda w: actions(w, [f"a{n}" for n in range(9)]), {}, r"10 .* at most.*'a0' \(40\).*`signal`"),
        (lambda w: actions(w, ["it's"]), {}, 'action "it\'s" cannot be a signal'),
        (lambda w: w.clicks, {"click_metric": "UCTR(signal='cart')"}, "no signal cart; it has: "),
        (lambda w: w.clicks, {"click_metric": "SS(signal='satisfied')"}, "metrics of signals are UCTR"),
        (lambda w: w.clicks, {"signal": "click"}, "clicks always count"),
        (lambda w: w.clicks, {"signal": "satisfied if followed"}, "ask for satisfied"),
        (
            lambda w: w.clicks,
            {"signal": "satisfied", "click_metric": "UCTR(signal='satisfied if followed')"},
            "it has: satisfied; it is computed only",
        ),
        (lambda w: w.clicks, {"signal": "none,purchase"}, "give none alone"),
        (lambda w: w.clicks, {"outcome": "revenue"}, "outcome"),
    ],
)
def test_what_cannot_be_counted_is_refused_in_one_line(change, settings, words):
    world = signal_world(4000, seed=5, bought=0.2)
    with pytest.raises(ca.ClickassayError, match=words) as caught:
        ca.run(world.searches, change(world), world.judgments, **{**QUICK, **settings})
    assert "\n" not in str(caught.value)


def test_satisfied_clicks_that_nothing_follows_lead_no_headline(tmp_path):
    log = ca.simulate(tmp_path / "log", 4000, n_queries=50, seed=2, progress=False)
    more = {**QUICK, "signal": "satisfied"}
    with pytest.raises(ca.ClickassayError, match=r"5\d% of the .* cannot be the headline") as caught:
        ca.run(log.searches, log.clicks, log.judgments, **more, click_metric=SATISFIED)
    assert "\n" not in str(caught.value)
    for settings in (
        {"click_metric": [SATISFIED], "last_click": "unsatisfied"},
        {"click_metric": ["MeanRR", SATISFIED]},
    ):
        found = ca.run(log.searches, log.clicks, log.judgments, **{**more, **settings})
        assert found.summary
    given = signal_world(4000, seed=6)
    assert run_of(given, signal="satisfied", click_metric=SATISFIED).summary


def test_satisfied_clicks_that_mostly_rest_on_a_convention_are_shown_both_ways(tmp_path):
    log = ca.simulate(tmp_path / "log", 4000, n_queries=50, seed=2, progress=False)
    both, other = (
        ca.run(log.searches, log.clicks, log.judgments, **QUICK, signal="satisfied", last_click=choice)
        for choice in ("satisfied", "unsatisfied")
    )
    assert set(both.signals["signal"]) == {"satisfied", "satisfied if followed"}
    assert set(other.signals["signal"]) == {"satisfied"}
    for name in ("UCTR", "MeanRR", "PLC"):
        followed = both.configurations[f"{name}(signal='satisfied if followed')"]
        assert followed.equals(other.configurations[f"{name}(signal='satisfied')"], null_equal=True)
        assert not followed.equals(both.configurations[f"{name}(signal='satisfied')"])
    page = (both.save(tmp_path / "run") / "report.md").read_text(encoding="utf-8")
    assert "so it is shown both ways" in page
    assert "| satisfied if followed |" in page
    rare = run_of(signal_world(4000, seed=5), signal="satisfied")
    assert set(rare.signals["signal"]) == {"satisfied"}


def test_a_clock_that_is_too_coarse_is_refused_for_satisfied_clicks():
    times = [START_MS, START_MS, START_MS + 1000 * 60]
    searches = pl.DataFrame(
        {
            "search_id": range(3), "user_id": [1, 1, 1], "query": ["a", "b", "c"], "timestamp": times,
            "results": [["x", "y"]] * 3,
        }
    )  # fmt: skip
    clicks = pl.DataFrame({"search_id": [0, 1], "timestamp": times[:2], "url": ["x", "y"]})
    with pytest.raises(ca.ClickassayError, match=r"100% of the clicks share their time.*too coarse"):
        ca.pattern_table(searches, clicks, depth=2, signal="satisfied", progress=False)
    given = clicks.with_columns(dwell_seconds=pl.Series([40.0, 1.0]))
    table = ca.pattern_table(searches, given, depth=2, signal="satisfied", progress=False)
    assert table.signals.filter(signal="satisfied")["sessions"].sum() == 1


def test_the_report_says_what_each_signal_prefers_and_what_it_cannot_tell(tmp_path):
    world = signal_world(30_000, seed=6, noise=0.3, bought=0.3)
    for name in ("searches", "clicks", "judgments"):
        getattr(world, name).write_parquet(tmp_path / f"{name}.parquet")
    ids = world.searches["search_id"].head(2000)
    outcomes = pl.DataFrame({"search_id": ids, "name": "revenue", "value": np.arange(2000) / 7})
    outcomes.write_csv(tmp_path / "outcomes.csv")
    options = [
        *("--depth", "5", "--click-models", "none", "--signal", "auto,satisfied", "--outcome", "abandoned"),
        *("--click-metric", "MeanRR,UCTR(signal='purchase')", "--health-limit", "busy_user=off", "--quiet"),
    ]
    inputs = [f"--{name}={tmp_path / name}.parquet" for name in ("searches", "clicks", "judgments")]
    out = ["--outcomes", str(tmp_path / "outcomes.csv"), "--out", str(tmp_path / "run")]
    result = CliRunner().invoke(app, ["run", *inputs, *options, *out])
    assert result.exit_code == 0, result.output
    page = (tmp_path / "run" / "report.md").read_text(encoding="utf-8")
    section = page[page.index("## Which signal?") :].split("\n## ")[0]
    for words in (
        "| purchase |", "| satisfied |", "depend on the result itself", "Correlation between signals over "
        "rankings",
        "| revenue |", "| abandoned |",
    ):  # fmt: skip
        assert words in section
    opened = ca.open_run(tmp_path / "run")
    assert opened.outcomes.filter(outcome="revenue")["sessions"].sum() == 2000
    assert set(opened.signals["signal"]) == {"purchase", "satisfied"}


def revenue_of(world, values, repeats=1):
    """Make outcomes of the first searches: some of them in two rows."""
    ids = world.searches["search_id"].head(len(values)).to_list()
    rows = [(search, "revenue", value / repeats) for search, value in zip(ids, values, strict=True)]
    return pl.DataFrame(rows * repeats, schema=["search_id", "name", "value"], orient="row")


def section_of(run, folder):
    page = (run.save(folder) / "report.md").read_text(encoding="utf-8")
    return page[page.index("Outcomes of sessions") :].split("\n## ")[0]


@pytest.mark.parametrize("engine", ["arrays", "duckdb"])
def test_a_few_large_values_of_an_outcome_are_told_and_the_mean_without_them(engine, tmp_path):
    world = signal_world(4000, seed=5)
    values = np.round(np.random.default_rng(1).pareto(1.05, 2500) * 8, 2) + 1
    run = run_of(world, outcomes=revenue_of(world, values, 2), engine=engine)
    found = run.found_run.info["outcome_values"]["revenue"]
    cut = np.quantile(values, 0.999, method="inverted_cdf")
    assert found["searches"] == 2500
    assert found["mean"] == pytest.approx(values.mean(), rel=1e-6)
    assert found["largest"] == pytest.approx(np.sort(values)[-10:].sum() / values.sum(), rel=1e-6)
    assert found["quantile"] == pytest.approx(cut, rel=1e-6)
    assert found["mean_cut"] == pytest.approx(np.minimum(values, cut).mean(), rel=1e-6)
    assert found["largest"] > 0.25
    text = section_of(run, tmp_path / "run")
    assert f"the 10 largest values make up {100 * found['largest']:.1f}%: a few values decide" in text
    assert "with values cut at their 99.9% quantile" in text


def test_values_alike_have_no_caution_refunds_count_by_size_and_lists_tell_where_values_are_not_kept(
    tmp_path,
):
    world = signal_world(4000, seed=5)
    run = run_of(world, outcomes=revenue_of(world, [5.0] * 3000))
    assert "a few" not in section_of(run, tmp_path / "alike")
    back = run_of(world, outcomes=revenue_of(world, [1.0] * 2000 + [-400.0] * 5))
    assert back.found_run.info["outcome_values"]["revenue"]["largest"] == pytest.approx(2005 / 4000)
    values = [10_000.0] * 3 + [1.0] * 2000
    for name in ("searches", "clicks"):
        getattr(world, name).write_parquet(tmp_path / f"{name}.parquet")
    revenue_of(world, values).write_parquet(tmp_path / "outcomes.parquet")
    world.judgments.write_parquet(tmp_path / "judgments.parquet")
    files = {name: str(tmp_path / f"{name}.parquet") for name in ("searches", "clicks", "outcomes")}
    given = [part for name, place in files.items() for part in (f"--{name}", place)]
    store = CliRunner().invoke(app, ["patterns", *given, "--store", str(tmp_path / "store"), "--depth", "5"])
    assert store.exit_code == 0, store.output
    made = [
        "report", "--patterns", str(tmp_path / "store"), "--judgments", str(tmp_path / "judgments.parquet"),
    ]  # fmt: skip
    CliRunner().invoke(app, [*made, "--out", str(tmp_path / "run"), "--click-models", "none", "--depth", "5"])
    page = (tmp_path / "run" / "report.md").read_text(encoding="utf-8")
    assert "10 rankings contain" in page


RATED = {"periods": "none", "click_metric": "stars", **QUICK}


@pytest.fixture(scope="module")
def two_runs():
    """Return a run in which few sessions rated, and one of the log of these sessions alone, of a sum.

    Without days: shares by period are those of all sessions of a list.
    """
    world, rng = signal_world(20_000, seed=4, noise=0.2, bought=0.5), np.random.default_rng(4)
    is_rated = pl.Series(rng.random(world.searches.height) < 0.1)
    searches = world.searches.filter(is_rated)
    stars = searches.select("search_id", name=pl.lit("stars"), value=rng.integers(-1, 6, searches.height))
    every = run_of(world, outcomes=stars, outcome_kind={"stars": "rating"}, **RATED)
    clicks = world.clicks.filter(pl.col("search_id").is_in(searches["search_id"].implode()))
    return every, ca.run(searches, clicks, world.judgments, outcomes=stars, **RATED), stars


def test_a_rating_has_the_numbers_of_a_log_of_the_sessions_that_rated(two_runs):
    for name in (
        *("correlations", "within", "comparisons", "within_comparisons", "differences", "influence"),
        *("difference_comparisons", "within_influence", "ranking", "claims"),
    ):
        own, other = (run.tables[name].filter(click_metric="stars") for run in two_runs[:2])
        if "split" in own.columns:  # classes of queries are those of all sessions
            own, other = (rows.filter(split="all") for rows in (own, other))
        assert own.height
        pl.testing.assert_frame_equal(own, other, rel_tol=1e-9, abs_tol=1e-12)


def test_studies_of_a_rating_count_the_sessions_that_rated(two_runs):
    every, alone, stars = two_runs
    changes = ca.diff(every, alone, click_metric="Stars").numbers.filter(pl.col("click_metric") == "stars")
    assert set(changes["table"]) == {"means", "within", "correlations", "differences"}
    assert set(changes["status"]) == {"same"}
    mean = changes.row(0, named=True)
    assert mean["a"] == pytest.approx(stars["value"].mean(), rel=1e-12)
    for study in (
        lambda run: ca.power(run, difference=0.1, click_metric="stars", comparisons=1).required,
        lambda run: ca.learn(run, click_metric="stars").tables["learned_gain"],
    ):
        pl.testing.assert_frame_equal(study(every), study(alone), rel_tol=1e-9)


def test_sessions_without_a_rating_are_excluded_and_counted(two_runs):
    every, _, stars = two_runs
    counted = dict(every.funnel.filter(source="ratings", reason="stars").select("step", "rows").iter_rows())
    kept = every.funnel.filter(source="sessions", step="kept")["rows"].sum()
    assert counted == {"rated": stars.height, "not rated": kept - stars.height}
    assert every.found_run.settings.outcome_kind == ("stars=rating",)
    assert "stars" not in every.draws.columns
    share = f"({100 * stars.height / kept:.1f}%)."
    assert dict(facts(every.found_run, every._findings))["Users measured by"] == (
        f"stars. Mean of a rating over the sessions that have one {share}"
    )


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"click_metric": "purchase"}, r"UCTR\(signal='purchase'\) .* or Mean\(outcome='purch"),
        ({"click_metric": "abandoned", "outcome": "abandoned"}, "abandoned: lower is better"),
        ({"click_metric": "purchas"}, "did you mean purchase"),
        ({"outcome_kind": ["purchases=rating"]}, "no outcome purchases; did you mean purchase"),
    ],
)
def test_a_name_that_means_two_things_or_nothing_is_refused(given, words):
    world = signal_world(2_000, seed=4, bought=0.5)
    bought = world.searches.select("search_id", name=pl.lit("purchase"), value=pl.lit(1.0)).head(500)
    with pytest.raises(ca.SettingsError, match=words):
        run_of(world, outcomes=bought, **given)


def test_an_action_and_an_outcome_lead_by_their_names():
    world = signal_world(2_000, seed=4, bought=0.5)
    bought = world.searches.select("search_id", name=pl.lit("purchase"), value=pl.lit(1.0)).head(500)
    assert run_of(world, click_metric="purchase").found_run.click == "UCTR(signal='purchase')"
    run = run_of(world, outcomes=bought, click_metric=["Mean(outcome='purchase')", "MeanRR"])
    assert run.found_run.counted == ("purchase", "MeanRR")
    assert run.ranking["click_metric"].unique().sort().to_list()[-1] == "purchase"
