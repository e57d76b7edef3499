"""Tests of a log, from the tables of its arms, against plain loops over sessions."""

from collections import Counter, defaultdict
from dataclasses import replace
from datetime import date, timedelta

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from scipy.stats import kendalltau
from scipy.stats import t as t_law
from statsmodels.stats.multitest import multipletests

from clickassay.core.contracts.patterns import ARM_OUTCOMES, ARM_PATTERNS, ARM_USERS, ARMS
from clickassay.core.errors import SettingsError
from clickassay.core.settings import load_settings
from clickassay.core.settings.of_tests import DeclaredTest
from clickassay.metrics.clicks import mean_rr
from clickassay.patterns.arms import ArmTables
from clickassay.patterns.table import ARM_TABLES, smallest_digests, sum_by_key
from clickassay.studies.experiments.arms import Rankings
from clickassay.studies.experiments.log import experiments_of_log, past_tests
from clickassay.studies.experiments.order import experiment_order, joined
from clickassay.studies.experiments.parts import LogOptions
from support.one_correlation import jackknife

DEPTH, FOLDS = 3, 8
OPTIONS = LogOptions("M", "UCTR", min_users=1)


def world(seed, users=160, queries=30, arms=("control", "new"), effect=0.0):
    """Return sessions of a log, each a dict: its user, arm, day, ranking, mask and outcome."""
    rng = np.random.default_rng(seed)
    sessions = []
    for user in range(users):
        arm = arms[rng.integers(len(arms))]
        for _ in range(rng.integers(1, 6)):
            query = int(rng.integers(queries) * rng.random())
            ranking = f"q{query}/{arm}" if rng.random() < 0.5 else f"q{query}/both"
            clicks = rng.random(DEPTH) < 0.3 + effect * (arm == "new")
            sessions.append({
                "user": user, "fold": user % FOLDS, "variant": arm, "query": f"q{query}",
                "day": date(2026, 1, 1) + timedelta(int(rng.integers(4))) if rng.random() < 0.9 else None,
                "configuration_id": None if rng.random() < 0.05 else ranking,  # None: an empty ranking
                "mask": int(clicks @ (1 << np.arange(DEPTH))), "bought": bool(rng.random() < 0.2),
                "spent": int(rng.integers(0, 5000)) if rng.random() < 0.3 else None,
            })  # fmt: skip
    return sessions


def counted(rows, form, more=None):
    """Return rows (dicts by key) counted into the form of a table; `more` adds up other columns."""
    sums = defaultdict(Counter)
    for row in rows:
        sums[tuple(row[name] for name in form.key)].update({"sessions": 1} | (more(row) if more else {}))
    found = [dict(zip(form.key, key, strict=True)) | dict(sums) for key, sums in sums.items()]
    return form.canonical(pl.DataFrame(found, schema={one.name: one.dtype for one in form.columns}))


def tables(sessions, experiment="t"):
    """Return the tables of the arms of sessions."""
    rows = []
    for one in sessions:
        own = one | {"experiment": experiment, "click_mask": one["mask"] if one["configuration_id"] else 0}
        rows.append(own | {"signal": "click"})
        if one["bought"] and own["click_mask"]:
            rows.append(own | {"signal": "purchase"})
    listed = [row for row in rows if row["configuration_id"]]
    spent = [
        row | {"outcome": "spent"} for row in rows if row["signal"] == "click" and row["spent"] is not None
    ]
    users = {(one["variant"], one["user"]) for one in sessions}
    digests = [(experiment, variant, 7919 * user + 1) for variant, user in users]
    return ArmTables(
        counted(rows, ARMS),
        counted(
            spent, ARM_OUTCOMES, lambda row: {"total": row["spent"], "total_of_squares": row["spent"] ** 2}
        ),
        counted(listed, ARM_PATTERNS),
        ARM_USERS.canonical(pl.DataFrame(digests, schema=["experiment", "variant", "digest"], orient="row")),
    )


def rankings(sessions, judges=("human",), unjudged=0.2, seed=0):
    """Return all rankings of sessions, and grades of some of them."""
    lists = sorted({(one["configuration_id"], one["query"]) for one in sessions if one["configuration_id"]})
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame([(name, "all", query, query) for name, query in lists],
                         schema=["configuration_id", "market", "query", "unit"], orient="row")  # fmt: skip
    judged = {}
    for judge in judges:
        own = frame.select("configuration_id").with_columns(
            good=pl.Series(rng.integers(0, 1 << DEPTH, frame.height)), M=pl.Series(rng.random(frame.height)),
            N=pl.Series(rng.random(frame.height)),
        )  # fmt: skip
        judged[judge] = own.filter(pl.Series(rng.random(frame.height) >= unjudged))
    return Rankings(DEPTH, frame, judged)


def row_of(found, metric):
    """Return the row of a metric."""
    return found.experiments.row(by_predicate=pl.col("metric") == metric, named=True)


# ---- by plain loops ------------------------------------------------------------------------------


def by_cell(sessions, cell, value):
    """Return the weighted difference of means by its definition, over the cells that both arms have."""
    values = defaultdict(lambda: ([], []))
    for one in sessions:
        values[cell(one)][one["variant"] == "new"].append(value(one))
    top = bottom = 0.0
    for control, new in values.values():
        if control and new:
            weight = len(control) * len(new) / (len(control) + len(new))
            top += weight * (np.mean(new) - np.mean(control))
            bottom += weight
    return top / bottom if bottom else np.nan


def left_out(sessions, units, statistic):
    """Return the error by leaving out each unit."""
    names = sorted({units(one) for one in sessions})
    return jackknife([statistic([one for one in sessions if units(one) != name]) for name in names])[0]


def clicked(one):
    """Return the mask of a session; an empty ranking has none."""
    return one["mask"] if one["configuration_id"] else 0


METRIC = {
    "UCTR": lambda one: float(clicked(one) > 0),
    "MeanRR": lambda one: float(mean_rr(np.array([clicked(one)]))[0]),
    "UCTR(signal='purchase')": lambda one: float(one["bought"] and clicked(one) > 0),
    "spent": lambda one: (one["spent"] or 0) / 1000,
}  # fmt: skip


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("metric", METRIC)
def test_effects_on_users_are_those_of_plain_loops_over_days_and_folds(seed, metric):
    sessions = world(seed)
    found = experiments_of_log(tables(sessions), rankings(sessions), {}, OPTIONS).experiments
    row = found.row(by_predicate=pl.col("metric") == metric, named=True)

    def effect(some):
        return by_cell(some, lambda one: one["day"], METRIC[metric])

    assert row["difference"] == pytest.approx(effect(sessions), abs=1e-12)
    assert row["difference"] == pytest.approx(row["mean"] - row["mean_control"])
    assert row["error"] == pytest.approx(left_out(sessions, lambda one: one["fold"], effect))
    arms = Counter(one["variant"] for one in sessions)
    assert (row["sessions_control"], row["sessions"]) == (arms["control"], arms["new"])
    users = Counter(variant for variant, _ in {(one["variant"], one["user"]) for one in sessions})
    assert (row["users_control"], row["users"]) == (users["control"], users["new"])


@pytest.mark.parametrize("seed", range(4))
def test_offline_and_matched_effects_are_those_of_plain_loops_over_queries(seed):
    sessions = world(seed)
    own = rankings(sessions)
    found = experiments_of_log(tables(sessions), own, {}, OPTIONS).experiments
    offline = found.row(by_predicate=pl.col("metric") == "M", named=True)
    users = found.row(by_predicate=pl.col("metric") == "UCTR", named=True)
    values = dict(own.judged["human"].select("configuration_id", "M").iter_rows())
    good = dict(own.judged["human"].select("configuration_id", "good").iter_rows())
    judged = [one for one in sessions if one["configuration_id"] in values]

    def effect(some, value):
        return by_cell(some, lambda one: one["query"], value)

    assert offline["difference"] == pytest.approx(effect(judged, lambda one: values[one["configuration_id"]]))
    assert users["matched"] == pytest.approx(effect(judged, METRIC["UCTR"]))
    ss = found.row(by_predicate=pl.col("metric") == "SS", named=True)
    assert ss["difference"] is None
    assert ss["matched"] == pytest.approx(
        effect(judged, lambda one: float(one["mask"] & good[one["configuration_id"]] > 0))
    )
    listed = [one for one in sessions if one["configuration_id"]]
    share = effect(listed, lambda one: float(one["configuration_id"] in values))
    assert offline["judged_share"] - offline["judged_share_control"] == pytest.approx(share, abs=1e-12)


def weights_of(sessions):
    """Return the weight of each query that both arms have, in the order of its name."""
    counts = defaultdict(lambda: [0, 0])
    for one in sessions:
        counts[one["query"]][one["variant"] == "new"] += 1
    return np.array([a * b / (a + b) for _, (a, b) in sorted(counts.items()) if a and b])


@pytest.mark.parametrize("seed", range(3))
def test_intervals_of_offline_metrics_leave_out_queries_and_have_the_degrees_of_their_weights(seed):
    sessions = world(seed)
    own = rankings(sessions)
    row = row_of(experiments_of_log(tables(sessions), own, {}, OPTIONS), "M")
    values = dict(own.judged["human"].select("configuration_id", "M").iter_rows())
    judged = [one for one in sessions if one["configuration_id"] in values]

    def effect(some):
        return by_cell(some, lambda one: one["query"], lambda one: values[one["configuration_id"]])

    both = {name for name in {one["query"] for one in judged}
            if len({one["variant"] for one in judged if one["query"] == name}) == 2}  # fmt: skip
    error, degrees = jackknife([effect([one for one in judged if one["query"] != name]) for name in both])
    w = weights_of(judged) ** 2
    degrees = min(degrees, w.sum() ** 2 / (w**2).sum())
    half = t_law.ppf(0.975, degrees) * error
    assert (row["ci_low"], row["ci_high"]) == pytest.approx(
        (row["difference"] - half, row["difference"] + half)
    )
    assert row["p_value"] == pytest.approx(2 * t_law.sf(abs(row["difference"]) / error, degrees))


def test_matched_intervals_add_what_users_do_beyond_chance():
    sessions = world(5, effect=0.2)
    for one in sessions:  # habits of users in one fold of each arm
        one["mask"] = 7 if one["fold"] == (3 if one["variant"] == "new" else 5) else one["mask"] & 1
    own = rankings(sessions, unjudged=0.0)
    row = row_of(experiments_of_log(tables(sessions), own, {}, OPTIONS), "UCTR")
    listed = [one for one in sessions if one["configuration_id"]]

    def effect(some):
        return by_cell(some, lambda one: one["query"], METRIC["UCTR"])

    def without(fold=None, query=None):
        return effect([one for one in listed if not (
            (fold is None or one["fold"] == fold) and (query is None or one["query"] == query)
        )])  # fmt: skip

    by_fold = np.array([without(fold) for fold in range(FOLDS)])
    between = (FOLDS - 1) / FOLDS * ((by_fold - by_fold.mean()) ** 2).sum()
    queries = sorted({one["query"] for one in listed})
    cells = np.array([[without(fold, query) for query in queries] for fold in range(FOLDS)])
    chance = FOLDS / (FOLDS - 1) * ((cells - cells.mean(axis=0)) ** 2).sum()
    assert between > 1.5 * chance
    by_query = np.array([without(query=query) for query in queries])
    n = len(weights_of(listed))
    square = (n - 1) / n * ((by_query - by_query.mean()) ** 2).sum()
    half = (row["matched_high"] - row["matched_low"]) / 2
    error = np.sqrt(square + between - chance)
    assert t_law.ppf(0.975, 200) * error < half < t_law.ppf(0.975, 3) * error
    assert row["matched"] == pytest.approx(effect(listed))


# ---- laws ----------------------------------------------------------------------------------------

NUMBERS = ["difference", "error", "ci_low", "ci_high", "matched", "matched_low", "matched_high", "p_value"]


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 10_000))
def test_exchanging_the_arms_turns_the_signs(seed):
    sessions = world(seed, users=60, queries=8)
    there, back = (
        experiments_of_log(tables(sessions), rankings(sessions), {"t": DeclaredTest(control=name)}, OPTIONS)
        .experiments.filter(pl.col("kind") != "baseline").select("kind", "metric", *NUMBERS)
        for name in ("control", "new")
    )  # fmt: skip
    turned = back.with_columns(
        *(-pl.col(name) for name in ("difference", "matched")),
        ci_low=-pl.col("ci_high"), ci_high=-pl.col("ci_low"),
        matched_low=-pl.col("matched_high"), matched_high=-pl.col("matched_low"),
    )  # fmt: skip
    assert_frame_equal(there, turned, abs_tol=1e-9)


def added_arms(parts):
    """Return the tables of a log from those of its parts, added as pattern tables are."""
    every = {name: pl.concat([getattr(part, name) for part in parts]) for name in vars(parts[0])}
    *sums, users = zip(ARM_TABLES.values(), every.values(), strict=True)
    return ArmTables(
        *(form.canonical(sum_by_key(rows, form)) for form, rows in sums), smallest_digests(users[1])
    )


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 10_000))
def test_neither_the_order_of_rows_nor_the_parts_of_a_log_matter(seed):
    sessions = world(seed, users=60, queries=8)
    whole, own = tables(sessions), rankings(sessions)
    half = date(2026, 1, 3)
    parts = [[one for one in sessions if ((one["day"] or half) < half) == early] for early in (True, False)]
    added = added_arms([tables(part) for part in parts])
    for name, rows in vars(whole).items():
        assert_frame_equal(rows, getattr(added, name))
    mixed = ArmTables(*(rows.sample(fraction=1, shuffle=True, seed=seed) for rows in vars(whole).values()))
    for name, rows in vars(experiments_of_log(whole, own, {}, OPTIONS)).items():
        assert_frame_equal(rows, getattr(experiments_of_log(mixed, own, {}, OPTIONS), name), abs_tol=1e-12)


# ---- several tests, arms and judges --------------------------------------------------------------


def test_of_three_arms_each_is_held_against_control():
    sessions = world(2, arms=("off", "new", "newer"))
    found = experiments_of_log(tables(sessions), rankings(sessions), {}, OPTIONS)
    alone = [one for one in sessions if one["variant"] != "newer"]
    one = experiments_of_log(tables(alone), rankings(sessions), {}, OPTIONS)
    assert set(found.experiments["variant"]) == {"new", "newer"}
    assert set(found.experiments["control"]) == {"off"}
    names = ["metric", "difference", "ci_low", "matched"]
    assert_frame_equal(found.experiments.filter(variant="new").select(names), one.experiments.select(names))
    past = past_tests(found.experiments, "human", "UCTR")
    assert (past.names, past.ideas) == (("t: new", "t: newer"), ("t", "t"))


def test_tests_of_a_log_are_rows_of_past_tests():
    parts = [(world(seed, effect=0.3 * (seed % 2)), f"t{seed:02d}") for seed in range(11)]
    log = added_arms([tables(sessions, name) for sessions, name in parts])
    every = [one for sessions, _ in parts for one in sessions]
    found = experiments_of_log(log, rankings(every), {"t00": DeclaredTest(is_aa=True, group="idle")}, OPTIONS)
    past = past_tests(found.experiments, "human", "UCTR")
    users = found.experiments.filter(kind="click", metric="UCTR")
    assert past.names == tuple(f"t{at:02d}" for at in range(1, 11))  # without the A/A test
    aa = users.row(by_predicate=pl.col("experiment") == "t00", named=True)
    assert (aa["counts"], aa["moved"], aa["group"]) == (False, None, "idle")
    assert "calibration" in aa["reason"]
    kept = users.filter("counts")
    adjusted = multipletests(kept["p_value"].to_numpy(), method="fdr_bh")[1]
    assert kept["p_adjusted"].to_numpy() == pytest.approx(adjusted)
    assert past.moved.tolist() == kept["moved"].to_list()
    assert sorted(past.metrics) == ["M", "N"]
    order = experiment_order(past, "M", margin=0.05).row(
        by_predicate=pl.col("editorial_metric") == "M", named=True
    )
    said = found.experiments.filter("counts", kind="editorial", metric="M")["difference"]
    assert order["in_order"] == pytest.approx((1 + kendalltau(said, kept["difference"]).statistic) / 2)
    again = ("difference", "error", "p_value")
    assert [getattr(past, name).tolist() for name in again] == [kept[name].to_list() for name in again]


def test_tests_of_sheets_and_logs_are_joined():
    logs = [
        experiments_of_log(tables(sessions, name), rankings(sessions), {}, OPTIONS)
        for sessions, name in ((world(0), "a"), (world(1), "b"))
    ]
    a, b = (past_tests(one.experiments, "human", "UCTR") for one in logs)
    sheet = replace(b, metrics=("N", "O"), changed=None)
    both = joined([a, sheet])
    assert (both.names, both.ideas, both.metrics) == (("a", "b"), ("a", "b"), ("M", "N", "O"))
    expected = [[*a.values[0], np.nan], [np.nan, *b.values[0]]]
    np.testing.assert_array_equal(both.values, expected)
    np.testing.assert_array_equal(both.changed, [a.changed[0], np.nan])
    assert both.error.tolist() == [a.error[0], b.error[0]]
    with pytest.raises(SettingsError, match="test “a” is there twice"):
        joined([a, a])


def test_judges_are_compared_on_rankings_that_both_judged():
    sessions = world(3)
    own = rankings(sessions, ("human", "model"), unjudged=0.3)
    found = experiments_of_log(tables(sessions), own, {}, OPTIONS)
    assert set(found.experiments["judge"]) == {"human", "model"}
    row = found.judges.row(by_predicate=pl.col("editorial_metric") == "M", named=True)
    of_both = own.judged["human"].join(own.judged["model"], on="configuration_id")
    values = {name: (a, b) for name, a, b in of_both.select("configuration_id", "M", "M_right").iter_rows()}
    common = [one for one in sessions if one["configuration_id"] in values]
    a, b = (
        by_cell(common, lambda one: one["query"], lambda one, at=at: values[one["configuration_id"]][at])
        for at in (0, 1)
    )
    assert (row["judge_a"], row["judge_b"]) == ("human", "model")
    assert (row["difference_a"], row["difference_b"], row["favours"]) == pytest.approx((a, b, b - a))
    assert row["favours_low"] < row["favours"] < row["favours_high"]


def test_arms_that_are_judged_unequally_have_no_offline_difference_but_a_list_to_judge():
    sessions = world(4, users=400)
    treated = next(one for one in sessions if one["variant"] == "new")
    rare = treated | {"query": "rare", "configuration_id": "rare/new"}  # control does not have it
    sessions += [rare] * 99
    own = rankings(sessions, unjudged=0.0)
    judged = own.judged["human"].filter(~pl.col("configuration_id").str.ends_with("/new"))
    found = experiments_of_log(tables(sessions), Rankings(DEPTH, own.lists, {"human": judged}), {}, OPTIONS)
    row = row_of(found, "M")
    assert (row["verdict"], row["difference"]) == ("unequally_judged", None)
    assert row["judged_share"] < row["judged_share_control"]
    of_control = {one["query"] for one in sessions if one["configuration_id"] and one["variant"] != "new"}
    counts = Counter(
        one["configuration_id"]
        for one in sessions
        if one["query"] in of_control and (one["configuration_id"] or "").endswith("/new")
    )
    first = found.to_judge.row(0, named=True)
    assert (first["variant"], first["sessions"]) == ("new", max(counts.values()))
    assert found.to_judge["sessions"].to_list() == sorted(counts.values(), reverse=True)[:20]


def test_an_arm_of_few_users_shows_no_number():
    sessions = world(1, users=40)
    options = LogOptions("M", "UCTR", min_users=30)
    found = experiments_of_log(tables(sessions), rankings(sessions, ("a", "b")), {}, options)
    numbers = found.experiments.select(pl.col(pl.Float64, pl.Int64))
    assert numbers.null_count().row(0) == (found.experiments.height,) * numbers.width
    assert set(found.experiments["reason"]) == {"an arm has fewer than 30 users"}
    assert found.checks["value"].null_count() == found.checks.height
    assert found.judges.is_empty()


@pytest.mark.parametrize("arm", ["control", "new"])
def test_an_arm_without_sessions_has_no_difference(arm):
    sessions = world(1)
    whole = tables(sessions)
    gone = {
        name: rows.filter(pl.col("variant") != arm) for name, rows in vars(whole).items() if name != "users"
    }
    found = experiments_of_log(ArmTables(**gone, users=whole.users), rankings(sessions), {}, OPTIONS)
    rows = found.experiments.filter(pl.col("kind") != "baseline")
    assert rows["difference"].null_count() == rows.height
    assert not rows["counts"].any()


def test_rankings_are_cut_to_a_depth():
    sessions = world(6)
    ids = pl.DataFrame({"configuration_id": sorted({one["configuration_id"] for one in sessions} - {None})})
    ids = ids.with_columns(cut=pl.col("configuration_id").str.split("/").list.first())
    cut = tables(sessions).at_depth(1, ids)
    expected = tables([one | {"mask": one["mask"] & 1,
                              "configuration_id": one["configuration_id"] and one["query"],
                              "bought": one["bought"]} for one in sessions])  # fmt: skip
    assert_frame_equal(cut.arms, expected.arms)
    assert_frame_equal(cut.patterns, expected.patterns)


CHANGED_CASES = [("same rankings in both arms", 0.0), ("half of the queries", 0.5), ("all", 1.0)]


@pytest.mark.parametrize(("case", "share"), CHANGED_CASES)
def test_chance_does_not_change_rankings_and_the_share_is_that_of_queries(case, share):
    rng = np.random.default_rng(0)
    sessions = world(7, users=2000, queries=6)
    for one in sessions:
        one["query"] = f"q{rng.integers(6)}"
        arm = one["variant"] if int(one["query"][1:]) < 6 * share else "both"
        one["configuration_id"] = f"{one['query']}/{arm}/{rng.integers(3)}"
    row = row_of(experiments_of_log(tables(sessions), rankings(sessions), {}, OPTIONS), "M")
    assert row["changed"] == pytest.approx(share, abs=0.02)
    assert ("is_aa" in (row["caution"] or "")) == (share == 0), case


@pytest.mark.parametrize(
    ("arms", "declared", "words"),
    [
        (("old", "new"), {}, "has the variants new and old, and it is not known which is control"),
        (("control", "off"), {}, "not known which is control"),
        (("old", "new"), {"t": DeclaredTest(control="odl")}, "no variant 'odl' in the log; did you mean old"),
        (("off", "new"), {"t": DeclaredTest(shares={"off": 0.5, "neu": 0.5})}, "no variant 'neu'"),
        (("off", "b", "c"), {"t": DeclaredTest(shares={"off": 0.5, "b": 0.5})}, "shares lack c"),
    ],
)
def test_a_test_whose_control_or_arms_are_not_known_stops_the_run(arms, declared, words):
    sessions = world(0, arms=arms)
    with pytest.raises(SettingsError) as error:
        experiments_of_log(tables(sessions), rankings(sessions), declared, OPTIONS)
    assert words in str(error.value)


@pytest.mark.parametrize(("option", "value"), [("current", "m"), ("click_metric", "SS")])
def test_an_unknown_metric_is_named(option, value):
    sessions = world(0)
    with pytest.raises(SettingsError, match=value):
        experiments_of_log(tables(sessions), rankings(sessions), {}, replace(OPTIONS, **{option: value}))


def test_a_rating_is_a_mean_over_the_sessions_that_have_it():
    sessions = world(8)
    options = replace(OPTIONS, ratings=("spent",))
    row = row_of(experiments_of_log(tables(sessions), rankings(sessions), {}, options), "spent")
    rated = [one for one in sessions if one["spent"] is not None]
    expected = by_cell(rated, lambda one: one["day"], lambda one: one["spent"] / 1000)
    assert row["difference"] == pytest.approx(expected)


def test_queries_of_one_unit_are_left_out_together():
    sessions = world(9, users=400)
    own = rankings(sessions)
    units = own.lists.with_columns(unit=pl.col("query").str.slice(-1))
    apart, together = (
        row_of(experiments_of_log(tables(sessions), Rankings(DEPTH, lists, own.judged), {}, OPTIONS), "M")
        for lists in (own.lists, units)
    )
    assert apart["difference"] == pytest.approx(together["difference"])
    assert apart["ci_low"] != pytest.approx(together["ci_low"])
    assert "fewer than 50 queries" in together["caution"]


def test_rankings_of_a_run_have_its_metrics_and_good_results_by_judge():
    own = rankings(world(0))
    names = own.lists["configuration_id"][:3].to_list()
    rows = [(5, "a", names[0], [0, 2, 4], 0.5), (5, "clicks (UCTR)", names[0], [0, 0, 0], 0.1),
            (3, "a", names[1], [3, 0, 1], 0.2), (3, "b", names[1], [0, 0, 2], 0.3),
            (3, "clicks (UCTR)", names[1], [4, 4, 4], 0.3)]  # fmt: skip
    columns = ["depth", "judge", "configuration_id", "grades", "M"]
    found = Rankings.of(
        own.lists, pl.DataFrame(rows, schema=columns, orient="row"), ["M"], 3, load_settings()
    )
    assert {judge: rows.rows() for judge, rows in found.judged.items()} == {
        "a": [(names[1], 0.2, 0b001)], "b": [(names[1], 0.3, 0b100)],
    }  # fmt: skip
    assert found.depth == 3
