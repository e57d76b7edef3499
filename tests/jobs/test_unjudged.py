"""Results without a judgment: what each rule gives them; clicks never both make and evaluate a number."""

import json

import numpy as np
import polars as pl
import pytest

from clickassay.core.contracts.columns import EVERY
from clickassay.core.contracts.run import ANALYSED_TABLES
from clickassay.core.errors import JudgmentError, SettingsError
from clickassay.core.settings import load_settings
from clickassay.inputs.columns import JUDGMENTS
from clickassay.inputs.normalise import normalise_query, normalise_url
from clickassay.inputs.tables import collected, read_input
from clickassay.jobs.analyse import analyse
from clickassay.jobs.inputs import Sources
from clickassay.jobs.patterns import log_to_patterns
from clickassay.jobs.strata import UserSplit, judgments_by_rule, split_users
from clickassay.judgments.prepare import prepare_judgments
from clickassay.judgments.unjudged import MIN_DONORS, fill_unjudged, hot_deck_from_clicks, unjudged_results
from clickassay.patterns.lists import log_lists
from support.logs import tiny
from support.logs.small_logs import simulated
from support.logs.tiny_table import GRADES, judgment_rows, prepared, table_of

QUICK = {"iterations": 10, "click_models": ("NONE",)}


def test_each_judge_has_holes_of_its_own():
    rows = judgment_rows([("q", "a", 3), ("q", "b", 3), ("r", "x", 2)], judge=["j", "k", "k"])
    found = unjudged_results(log_lists(table_of().staged()), prepared(rows=rows), deepest=2)
    assert found.rows() == [("j", "all", "q", "b"), ("k", "all", "q", "a"), ("k", "all", "r", "y")]


def test_judgments_of_a_market_are_filled_in_that_market_alone():
    table = table_of([("n", "q", "ab"), ("s", "q", "ac")], [{0: 1}, {0: 1}])
    rows = judgment_rows([("q", "a", 3)], market=["n"])
    found = unjudged_results(log_lists(table.staged()), prepared(table, rows, by_market=True), deepest=2)
    assert found.rows() == [("all", "n", "q", "b")]


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    """Return paths of a log, judgments of four results in five, and the judgments that `zero` would add."""
    folder = tmp_path_factory.mktemp("unjudged")
    paths = simulated(folder / "log", searches=3_000, queries=25)
    whole = pl.read_parquet(paths["judgments"])
    kept = whole.filter(pl.Series(np.random.default_rng(0).random(whole.height) < 0.8))
    kept.write_parquet(folder / "some.parquet")
    return {**paths, "some": folder / "some.parquet", "folder": folder}


def table(log, **settings):
    return log_to_patterns(Sources(log["searches"], log["clicks"]), load_settings(**QUICK, **settings))


def analysed(log, judgments, **settings):
    options = load_settings(**QUICK, **settings)
    return analyse(
        table(log, **{k: v for k, v in settings.items() if k == "folds"}),
        Sources(judgments=judgments),
        options,
    )


def once(log, judgments=None, made={}, **settings):  # noqa: B006
    """Return a run of the judgments that many tests ask for, which is made once."""
    key = str(judgments), str(settings)
    if key not in made:
        made[key] = analysed(log, log["some"] if judgments is None else judgments, **settings)
    return made[key]


def judgments_in_full(log, grade):
    """Write down a judgment for each shown result that has none; the queries are all judged."""
    known = pl.read_parquet(log["some"]).with_columns(
        pl.col("query").map_elements(normalise_query, pl.String),
        pl.col("url").map_elements(normalise_url, pl.String),
    )
    shown = (
        table(log).configurations.select("query", pl.col("results").list.head(10).alias("url")).explode("url")
    )
    shown = shown.unique().join(known, on=["query", "url"], how="anti")
    shown = shown.join(known, on="query", how="semi").with_columns(grade=pl.lit(grade, known.schema["grade"]))
    path = log["folder"] / f"full{grade}.parquet"
    pl.concat([known, shown.select(known.columns)]).write_parquet(path)
    return path


def test_zero_is_as_if_every_hole_had_been_judged_the_worst(log):
    found = once(log, unjudged="zero")
    expected = analysed(log, judgments_in_full(log, 0))
    for name in ("statistics", "configurations", "correlations", "differences", "comparisons", "influence"):
        assert found[name].equals(expected[name]), name
    own = found["unjudged"]
    assert own["rule"].unique().sort().to_list() == ["drop", "zero"]
    assert own.filter(rule="zero")["filled"].min() > 0.1
    assert own.filter(rule="drop")["filled"].max() == 0
    assert own.filter(rule="drop")["coverage"].max() < 0.6 < own.filter(rule="zero")["coverage"].min()


def test_extremes_are_the_two_cases_besides_the_numbers_of_a_run_without_them(log):
    found = once(log, unjudged="extremes")
    plain = once(log)
    for one in ANALYSED_TABLES:
        if one.name != "unjudged":
            assert found[one.name].equals(plain[one.name]), one.name
    for rule, grade in (("zero", 0), ("best", 4)):
        expected = analysed(log, judgments_in_full(log, grade))["correlations"].filter(split=EVERY)
        own = found["unjudged"].filter(rule=rule)
        columns = [
            "market", "depth", "judge", "click_metric", "editorial_metric", "correlation", "ci_low",
            "ci_high",
        ]  # fmt: skip
        assert own.select(columns).equals(expected.select(columns))
    assert plain["unjudged"].is_empty()


def test_collapses_are_never_of_filled_grades(log):
    assert once(log, unjudged="zero")["cascade_effects"].equals(once(log)["cascade_effects"])


def test_what_is_measured_is_the_log_of_the_users_that_no_grade_is_drawn_from(log):
    whole_judged = judgments_in_full(log, 0)  # nothing is left to fill
    found = analysed(log, whole_judged, unjudged="model", folds=2)
    whole = table(log, folds=2)
    other = whole.patterns.filter(pl.col("fold") == 1)
    kept = whole.configurations.join(other, on="configuration_id", how="semi")
    funnel = other.join(kept, on="configuration_id").group_by("market").agg(pl.col("sessions").sum())
    formed = {row[0]: row[1] for row in funnel.iter_rows()}
    rows = pl.col("market").replace_strict(formed, default=0, return_dtype=pl.Int64)
    is_formed = (pl.col("source") == "sessions") & (pl.col("step") == "formed")
    alone = type(whole)(
        configurations=kept, patterns=other, queries=whole.queries, info=whole.info,
        funnel=whole.funnel.with_columns(pl.when(is_formed).then(rows).otherwise("rows").alias("rows")),
    )  # fmt: skip
    expected = analyse(alone, Sources(judgments=whole_judged), load_settings(**QUICK))
    for name in ("statistics", "configurations", "patterns", "correlations", "differences"):
        # the pattern table of the half has no counts of days
        own, other = (one[name].drop("first_day", "last_day", strict=False) for one in (found, expected))
        assert own.equals(other), name


def test_of_16_folds_the_even_ones_are_the_half_that_2_folds_set_apart(log):
    two, sixteen = (once(log, unjudged="model", folds=folds) for folds in (2, 16))
    assert set(sixteen["patterns"]["fold"]) == {*range(1, 16, 2)}
    for name in ("funnel", "statistics", "correlations", "differences", "unjudged"):
        assert sixteen[name].equals(two[name]), name


def test_the_funnel_counts_what_is_set_apart_and_still_adds_up(log):
    funnel = once(log, unjudged="model", folds=2)["funnel"].filter(source="sessions")
    (formed,) = funnel.filter(step="formed").group_by("source").agg(pl.col("rows").sum())["rows"]
    for depth in (5, 10):
        own = funnel.filter(depth=depth)
        assert own["rows"].sum() == formed
        assert 0.3 < own.filter(step="set apart")["rows"].sum() / formed < 0.7
        assert own.filter(step="not judged").is_empty()


def test_drawn_grades_follow_the_seed_and_those_of_judged_results(log):
    both = [analysed(log, log["some"], unjudged="model", folds=2, seed=seed) for seed in (1, 1, 2)]
    assert both[0]["unjudged"].equals(both[1]["unjudged"])
    assert not both[0]["unjudged"].equals(both[2]["unjudged"])
    own = both[0]["unjudged"].filter(rule="model")
    assert own["coverage"].min() == 1
    assert own["filled"].min() > 0.1


def parts_and_judgments(log, judgments):
    options = load_settings(**QUICK, unjudged="model")
    whole = table(log, folds=2)
    read = read_input("judgments", judgments, JUDGMENTS)
    graded = prepare_judgments(collected(read), whole.queries, options, by_market=False)
    return split_users(whole.staged(), None, options), graded, options


def test_a_result_gets_the_grade_of_one_that_clicks_show_alike(log):
    """Where grades are what clicks say, drawn grades are near them; shuffled grades are not."""
    split, graded, _ = parts_and_judgments(log, log["judgments"])
    rng = np.random.default_rng(5)
    keys = ["judge", "market", "query", "url"]
    clicked = graded.grades.sort(keys)
    hidden = pl.Series(rng.random(clicked.height) < 0.3)
    clicked_there = pl.col("click_mask") // 2 ** pl.col("place").cast(pl.Int64) % 2
    clicks = split.fitting.patterns_by_id.join(split.fitting.configurations, on="configuration_id")
    rate = (
        clicks.select("query", pl.col("results").list.head(10).alias("url"), "click_mask", "sessions")
        .with_columns(place=pl.int_ranges(pl.col("url").list.len()))
        .explode("url", "place")
        .group_by("query", "url")
        .agg((clicked_there * pl.col("sessions")).sum().alias("clicks"), pl.col("sessions").sum())
        .select("query", "url", rate=pl.col("clicks") / pl.col("sessions"))
    )  # fmt: skip
    graded_by_clicks = clicked.join(
        rate, on=["query", "url"], how="left", maintain_order="left"
    ).with_columns(
        (pl.col("rate").fill_null(0).rank("ordinal") * 5 / (clicked.height + 1))
        .floor()
        .cast(pl.Int8)
        .alias("grade")
    )
    known = type(graded)(graded_by_clicks.filter(~hidden).drop("rate"), by_market=False, funnel=graded.funnel)
    given = hot_deck_from_clicks(split.fitting, known, deepest=10, rng=rng)(
        clicked.filter(hidden).select(keys)
    )
    truth = graded_by_clicks.filter(hidden)["grade"].to_numpy()
    near = np.corrcoef(given.to_numpy(), truth)[0, 1]
    assert near > 0.5
    assert abs(given.mean() - truth.mean()) < 0.3
    assert abs(given.std() - truth.std()) < 0.3


@pytest.mark.parametrize("asked", [{"unjudged": "model"}, {"metric": ("DBN",)}, {"metric": ("UBM@3",)}])
def test_without_folds_nothing_is_fitted_on_clicks(log, asked):
    with pytest.raises(SettingsError, match="--folds 2"):
        analysed(log, log["some"], folds=1, **asked)


def test_without_the_lists_of_every_query_nothing_is_set_apart(log):
    options = load_settings(**QUICK, only_judged=True, unjudged="model")
    kept = log_to_patterns(Sources(log["searches"], log["clicks"], judgments=log["some"]), options)
    with pytest.raises(SettingsError, match="--only-judged"):
        analyse(kept, Sources(judgments=log["some"]), options)


def test_too_few_judged_results_give_no_grades():
    lists = log_lists(table_of().staged())
    assert len(GRADES) < MIN_DONORS
    given = hot_deck_from_clicks(lists, prepared(), deepest=3, rng=np.random.default_rng(0))
    with pytest.raises(JudgmentError, match="judged 4 results"):
        fill_unjudged(prepared(), unjudged_results(lists, prepared(), deepest=3), given)


def test_without_a_rule_nothing_is_filled(log):
    split, graded, _ = parts_and_judgments(log, log["some"])
    assert judgments_by_rule(UserSplit(split.evaluation, None), graded, load_settings()) == {"drop": graded}


def test_the_report_says_what_was_filled_in_and_by_whom(log, tmp_path):
    inputs = [f"--searches={log['searches']}", f"--clicks={log['clicks']}", f"--judgments={log['some']}"]
    quick = ("--iterations=10", "--depth=5", "--quiet", "--click-models=none")
    tiny.said_by("run", *inputs, *quick, "--unjudged=model", f"--out={tmp_path / 'run'}")
    page = (tmp_path / "run" / "report.md").read_text()
    assert "Results without a judgment" in page
    assert "of these grades are not judgments but filled in" in page
    assert "set apart" in page
    assert json.loads((tmp_path / "run" / "settings.json").read_text())["settings"]["unjudged"] == "model"
    ended = tiny.inside("run", *inputs, *quick, "--folds=1", "--unjudged=model", f"--out={tmp_path / 'none'}")
    assert (ended.code, "--folds 2" in ended.err) == (2, True)
    assert not (tmp_path / "none").exists()
