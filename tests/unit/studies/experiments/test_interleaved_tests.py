"""Interleaved tests, from the sessions of a log, against plain loops; and what they say."""

import math
from collections import Counter, defaultdict
from datetime import date
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from scipy.stats import t as t_law

from clickassay.core.contracts.experiments import AB, EXPERIMENTS
from clickassay.core.contracts.patterns import INTERLEAVED
from clickassay.core.settings import load_settings
from clickassay.core.settings.of_tests import DeclaredTest
from clickassay.metrics.catalogue import named_measure
from clickassay.patterns.table import sum_by_key
from clickassay.studies.experiments.arms import Rankings
from clickassay.studies.experiments.interleaving import Drafts, against, by_place
from clickassay.studies.experiments.log import experiments_of_log, past_tests
from clickassay.studies.experiments.parts import NO_SUM, LogOptions
from support.one_correlation import jackknife

STORED, DEPTH, FOLDS, TOP = 6, 4, 8, 4
SETTINGS = load_settings()
OPTIONS = LogOptions("NDCG", "UCTR")
TOLD = {"t": DeclaredTest(control="old", until=date(2026, 1, 9))}
METRICS = ("DCG", "NDCG", "ERR", "RBP", "AP")
WIKIMEDIA = Path(__file__).parents[5] / "shared" / "data" / "wikimedia_interleaved"


# ---- messy logs ----------------------------------------------------------------------------------


def world(seed, users=60, queries=15, rankers=("new", "old"), pull=0.0, queries_graded=1.0):
    """Return sessions, each a dict: user, fold, query, results, teams, clicked and bought places.

    Rankings are short or empty, places belong to nobody, results of one ranker alone; `pull` favours new.
    """
    rng = np.random.default_rng(seed)
    found = []
    for user in range(users):
        for _ in range(rng.integers(1, 9)):
            query = int(rng.integers(queries) * rng.random())
            length = int(rng.choice([0, 1, 3, 5, 6, 6, 6, 8]))
            order = np.random.default_rng([query, *rng.integers(0, 3, 1)]).permutation(10)[:length]
            starts = int(rng.integers(2))
            teams = [rankers[(place + starts) % 2] for place in range(length)]
            if rng.random() < 0.2:
                teams = [None if rng.random() < 0.4 else team for team in teams]
            elif rng.random() < 0.1:
                teams = [rankers[starts]] * length
            chance = [0.3 + pull * (team == "new") for team in teams]
            clicked = [place for place in range(length) if rng.random() < chance[place]]
            found.append({
                "user": user, "fold": user % FOLDS + 16 * (user % 3), "teams": teams,
                "query": " ".join(["w"] * (query % 6)) + f" q{query}",
                "results": [f"d{one}" for one in order],
                "clicked": clicked, "bought": [place for place in clicked if rng.random() < 0.3],
            })  # fmt: skip
    return found


def configuration(one, depth=None):
    """Return the id of a ranking."""
    return f"{one['query']}: {' '.join(one['results'][:depth])}"


def mask(places):
    return sum(1 << place for place in places if place < STORED)


def drafted(sessions, experiment="t"):
    """Return the table of the log: each two rankers of a ranking, or the one that it has."""
    rows = []
    for one in sessions:
        places = defaultdict(list)
        for place, team in enumerate(one["teams"]):
            if team is not None:
                places[team].append(place)
        names = sorted(places)
        pairs = [(a, b) for a in names for b in names if a < b] or [(name, "") for name in names]
        for a, b in pairs:
            row = {"experiment": experiment, "ranker_a": a, "ranker_b": b, "fold": one["fold"],
                   "configuration_id": configuration(one), "team_a": mask(places[a]),
                   "team_b": mask(places[b]), "sessions": 1}  # fmt: skip
            rows.append(row | {"signal": "click", "click_mask": mask(one["clicked"])})
            if mask(one["bought"]):
                rows.append(row | {"signal": "purchase", "click_mask": mask(one["bought"])})
    frame = pl.DataFrame(rows, schema={one.name: one.dtype for one in INTERLEAVED.columns})
    return INTERLEAVED.canonical(sum_by_key(frame, INTERLEAVED))


def grade_of(query, result, judge="human"):
    """Return the grade of a result; None = not judged."""
    rng = np.random.default_rng(list(f"{judge}{query}{result}".encode()))
    return None if rng.random() < 0.04 else int(rng.integers(TOP + 1))


def graded(one, depth=DEPTH, judge="human"):
    """Return the grades of the first results; None where one is missing or not judged."""
    grades = [grade_of(one["query"], result, judge) for result in one["results"][:depth]]
    return None if len(grades) < depth or None in grades else grades


def value_parts(grades, ideal):
    """Return what each place adds to the metrics, by their formulas."""
    gains = [(2**grade - 1) / math.log2(place + 2) for place, grade in enumerate(grades)]
    satisfied = [(2**grade - 1) / 2**TOP for grade in grades]
    continues = np.cumprod([1, *(1 - one for one in satisfied[:-1])])
    return {
        "DCG": gains, "NDCG": [gain / ideal for gain in gains],
        "ERR": [c * s / (place + 1) for place, (c, s) in enumerate(zip(continues, satisfied, strict=True))],
        "RBP": [0.2 * s * 0.8**place for place, s in enumerate(satisfied)],
    }  # fmt: skip


IDEAL = 20.0
"""DCG of the ideal rankings: the same number for all, so that values are simple."""


def made(sessions, rows=None, judges=("human",), judged=lambda _: True):
    """Return drafts and rankings at the depth."""
    firsts = {configuration(one): one for one in sessions}
    shown = pl.DataFrame(
        [(name, "all", one["query"], configuration(one, DEPTH) if len(one["results"]) >= DEPTH else None)
         for name, one in firsts.items()],
        schema=dict.fromkeys(("configuration_id", "market", "query", "cut"), pl.String), orient="row",
    )  # fmt: skip
    cuts = {configuration(one, DEPTH): one for one in sessions if len(one["results"]) >= DEPTH}
    values = []
    for judge in judges:
        for name, one in cuts.items():
            if (grades := graded(one, judge=judge)) is not None and judged(one):
                parts = {metric: sum(own) for metric, own in value_parts(grades, IDEAL).items()}
                values.append({"configuration_id": name, "judge": judge, "depth": DEPTH, "grades": grades,
                               "AP": 0.5} | parts)  # fmt: skip
    configurations = pl.DataFrame(
        values, {"configuration_id": pl.String, "judge": pl.String, "depth": pl.Int32,
                 "grades": pl.List(pl.Int8), **dict.fromkeys(METRICS, pl.Float64)},
    )  # fmt: skip
    lists = (
        shown.drop("configuration_id").drop_nulls().unique().sort("cut").rename({"cut": "configuration_id"})
    )
    rankings = Rankings.of(lists.with_columns(unit="query"), configurations, METRICS, DEPTH, SETTINGS)
    own = drafted(sessions) if rows is None else rows
    return Drafts.of(own, shown, configurations, METRICS, DEPTH, SETTINGS), rankings


def said(sessions, told=TOLD, options=OPTIONS, **more):
    drafts, rankings = made(sessions, **more)
    return experiments_of_log(None, rankings, told, options, drafts)


def row_of(found, metric, **more):
    return found.experiments.row(
        by_predicate=(pl.col("metric") == metric) & pl.all_horizontal(pl.col(k) == v for k, v in more.items())
        if more else pl.col("metric") == metric, named=True,
    )  # fmt: skip


# ---- by plain loops ------------------------------------------------------------------------------


def preferred(sessions, what="clicked", depth=DEPTH):
    """Return sessions with a click on a ranker, those that prefer old, and those that prefer new."""
    every = lost = won = 0
    for one in sessions:
        teams = Counter(one["teams"][place] for place in one[what] if place < depth and one["teams"][place])
        every += bool(teams)
        lost += teams["old"] > teams["new"]
        won += teams["new"] > teams["old"]
    return every, lost, won


def preference(sessions, what="clicked"):
    every, lost, won = preferred(sessions, what)
    return (won - lost) / every if every else math.nan


def left_out(sessions, unit, statistic):
    names = sorted({unit(one) for one in sessions})
    return jackknife([statistic([one for one in sessions if unit(one) != name]) for name in names])[0]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("what", "name"), [("clicked", "preference"),
                                            ("bought", "preference(signal='purchase')")])  # fmt: skip
def test_preferences_are_those_of_plain_loops_over_sessions_and_folds(seed, what, name):
    sessions = world(seed)
    row = row_of(said(sessions), name)
    every, lost, won = preferred(sessions, what)
    assert row["difference"] == pytest.approx(preference(sessions, what))
    assert (row["mean_control"], row["mean"]) == pytest.approx((lost / every, won / every))
    error = left_out(sessions, lambda one: one["fold"] % 16, lambda some: preference(some, what))
    assert row["error"] == pytest.approx(error)
    assert row["sessions"] == row["sessions_control"] == sum(any(one["teams"]) for one in sessions)


def test_preferences_of_classes_are_those_of_their_queries():
    sessions = world(3, users=300)
    rows = said(sessions).preferences
    by_length = defaultdict(list)
    for one in sessions:
        by_length[min(len(one["query"].split()), 4)].append(one)
    for length, some in by_length.items():
        name = "4+" if length == 4 else str(length)
        row = rows.row(by_predicate=(pl.col("split") == "length") & (pl.col("class") == name)
                       & (pl.col("signal") == "click"), named=True)  # fmt: skip
        every, lost, won = preferred(some)
        assert (row["sessions"], row["preferred_control"], row["preferred"]) == (every, lost, won)
        assert row["preference"] == pytest.approx((won - lost) / every)
    issued = Counter(one["query"] for one in sessions if any(one["teams"]))
    order = sorted(issued, key=lambda query: (issued[query], query))
    for at, tenth in enumerate(range(1, 11)):
        own = {query for number, query in enumerate(order) if 10 * number // len(order) == at}
        every, lost, won = preferred([one for one in sessions if one["query"] in own])
        row = rows.filter(**{"split": "frequency", "class": str(tenth), "signal": "click"}).row(0, named=True)
        assert row["sessions"] in (None, every)
        assert row["preference"] is None or row["preference"] == pytest.approx((won - lost) / every)


def test_a_class_of_few_folds_shows_no_number():
    sessions = [one | ({"query": "one two three"} if one["user"] < 2 else {}) for one in world(3)]
    rows = said(sessions).preferences.filter(**{"split": "length", "class": "3", "signal": "click"})
    assert rows.select("sessions", "preference", "p_value").row(0) == (None, None, None)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("judge", ["human", "model"])
def test_offline_differences_are_those_of_plain_loops_over_judged_rankings_and_queries(seed, judge):
    sessions = world(seed)
    found = said(sessions, judges=("human", "model"))
    known = [one for one in sessions if graded(one, judge=judge) is not None and any(one["teams"])]

    def difference(some, metric):
        total = 0.0
        for one in some:
            parts = value_parts(graded(one, judge=judge), IDEAL)[metric]
            total += sum(part * ({"new": 1, "old": -1}.get(team, 0))
                         for part, team in zip(parts, one["teams"], strict=False))  # fmt: skip
        return total / len(some)

    for metric in ("DCG", "NDCG", "ERR", "RBP"):
        row = row_of(found, metric, judge=judge)
        assert row["difference"] == pytest.approx(difference(known, metric)), metric
        names = sorted({one["query"] for one in known})
        without = [difference([one for one in known if one["query"] != name], metric) for name in names]
        error, degrees = jackknife(without)
        w = np.array([sum(one["query"] == name for one in known) for name in names]) ** 2.0
        half = t_law.ppf(0.975, min(degrees, w.sum() ** 2 / (w**2).sum())) * error
        assert (row["ci_high"] - row["ci_low"]) / 2 == pytest.approx(half), metric
    users = row_of(found, "preference", judge=judge)
    assert users["matched"] == pytest.approx(preference(known))
    assert users["matched_low"] < users["matched"] < users["matched_high"]


@pytest.mark.parametrize("name", ["DCG", "NDCG", "ERR", "RBP", "NDCG@3", "DCG(dcg='log2')", "ERR(gamma=0.8)",
                                  "nDCG(dcg='jk-log2',ideal='shown')", "ERR(utilities='1 0.5 0.2 0.1')",
                                  "RBP(p=0.5,rel=2)", "DCG(gains='0.5 1 2 3 4')"])  # fmt: skip
def test_the_parts_of_places_add_up_to_the_metric_and_depend_on_what_is_above(name):
    rng = np.random.default_rng(0)
    grades, pool = rng.integers(0, TOP + 1, (50, 4)), np.full((50, TOP + 1), 3)
    measure, depth = named_measure(name), named_measure(name).depth or 4

    def values(rows):
        arrays = {"grades": rows[:, :depth], "pool": pool, "deepest": depth}
        return measure.compute(arrays, SETTINGS)

    parts = by_place(values(grades), grades, measure, SETTINGS)
    assert parts.sum(axis=1) == pytest.approx(values(grades))
    assert (parts >= 0).all()
    assert (parts[:, depth:] == 0).all()
    changed = grades.copy()
    changed[:, -1] = 0
    if "shown" not in name:  # whose ideal ranking has another grade then
        assert by_place(values(changed), changed, measure, SETTINGS)[:, :-1] == pytest.approx(parts[:, :-1])


def test_wikimedias_published_logs_have_their_published_preferences():
    if not WIKIMEDIA.is_dir():
        pytest.skip("the logs are not here")
    for name, expected in (("a-pref", 0.7428), ("b-pref", -0.7031), ("no-pref", 0.0606)):
        events = pl.read_csv(WIKIMEDIA / f"interleaved_{name}.csv", null_values="NA")
        clicks = events.filter(event="click").unique(["search_id", "position"]).sort("search_id", "position")
        bit = pl.lit(2, pl.Int64).pow(pl.col("position") - 1)
        by_team = [bit.filter(pl.col("ranking_function") == team).sum() for team in "AB"]
        found = clicks.group_by("search_id", maintain_order=True).agg(
            click_mask=bit.sum(), team_a=by_team[0], team_b=by_team[1]
        )
        rows = found.select(
            pl.col("click_mask", "team_a", "team_b").cast(pl.Int64), experiment=pl.lit("t"),
            ranker_a=pl.lit("A"), ranker_b=pl.lit("B"), signal=pl.lit("click"), sessions=1,
            configuration_id=pl.lit("any"), fold=pl.int_range(pl.len()) % 16,
        )  # fmt: skip
        shown = pl.DataFrame(
            {"configuration_id": ["any"], "market": ["all"], "query": ["any"], "cut": ["any"]}
        )
        none = pl.DataFrame(schema={"configuration_id": pl.String, "judge": pl.String, "depth": pl.Int32,
                                    "grades": pl.List(pl.Int8)})  # fmt: skip
        rankings = Rankings.of(shown.drop("cut").with_columns(unit="query"), none, (), 20, SETTINGS)
        drafts = Drafts.of(
            INTERLEAVED.canonical(sum_by_key(rows, INTERLEAVED)), shown, none, (), 20, SETTINGS
        )
        row = row_of(
            experiments_of_log(None, rankings, {"t": DeclaredTest("B")}, OPTIONS, drafts), "preference"
        )
        assert row["difference"] == pytest.approx(expected, abs=5e-5)


# ---- laws ----------------------------------------------------------------------------------------

NUMBERS = ["difference", "ci_low", "ci_high", "matched", "matched_low", "matched_high", "p_value"]


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 10_000))
def test_exchanging_the_rankers_turns_the_signs(seed):
    sessions = world(seed)
    there, back = (
        said(sessions, told={"t": DeclaredTest(name)}).experiments.filter(pl.col("metric") != "AP").select(
            "metric", *NUMBERS
        )
        for name in ("old", "new")
    )  # fmt: skip
    turned = back.with_columns(
        *(-pl.col(name) for name in ("difference", "matched")), ci_low=-pl.col("ci_high"),
        ci_high=-pl.col("ci_low"), matched_low=-pl.col("matched_high"), matched_high=-pl.col("matched_low"),
    )  # fmt: skip
    assert_frame_equal(there, turned, abs_tol=1e-9)


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 10_000))
def test_neither_the_order_of_rows_nor_the_parts_of_a_log_nor_the_names_of_sides_matter(seed):
    sessions = world(seed)
    whole = said(sessions)
    for rows in (
        drafted(sessions).sample(fraction=1.0, shuffle=True, seed=seed),
        sum_by_key(pl.concat([drafted(sessions[::2]), drafted(sessions[1::2])]), INTERLEAVED),
    ):
        again = said(sessions, rows=rows)
        for name in ("experiments", "checks", "preferences"):
            assert_frame_equal(getattr(whole, name), getattr(again, name))


# ---- checks --------------------------------------------------------------------------------------


def fair(seed=0, sessions=3000, b_first=0.5, length=4, names=("old", "new"), folds=16):
    """Return sessions on full rankings, drafted by turns."""
    rng = np.random.default_rng(seed)
    found = []
    for at in range(sessions):
        starts = int(rng.random() < b_first)
        found.append({
            "fold": at % folds, "query": f"q{at % 40}", "results": [f"d{one}" for one in range(length)],
            "teams": [names[(place + starts) % 2] for place in range(length)], "bought": [],
            "clicked": [place for place in range(length) if rng.random() < 0.3],
        })  # fmt: skip
    return found


def checked(found):
    return {row["check"]: row for row in found.checks.iter_rows(named=True)}


def test_a_fair_draft_passes_all_checks():
    rows = checked(said(fair()))
    assert {name: row["status"] for name, row in rows.items()} == {
        "ends": "too few", "first_places": "ok", "folds": "ok", "other_rankers": "ok", "places": "ok"
    }  # fmt: skip


def test_a_ranker_that_comes_first_too_often_has_no_verdict():
    found = said(fair(b_first=0.6))
    row = checked(found)["first_places"]
    assert row["status"] == "finding"
    assert row["remedy"].startswith("“new” comes first in 58.9% of the sessions")
    assert row_of(found, "NDCG")["verdict"] is None
    assert row_of(found, "NDCG")["reason"] == row["remedy"]
    assert not found.experiments["counts"].any()


def test_places_that_belong_to_nobody_do_not_come_first():
    sessions = fair(length=5)
    for one in sessions:
        one["teams"] = [None, *one["teams"][1:]]
    assert checked(said(sessions))["first_places"]["status"] == "ok"


def test_rankings_of_one_ranker_alone_say_nothing_of_the_draft():
    sessions = [one | ({"teams": ["new"] * 4} if at // 16 % 2 else {}) for at, one in enumerate(fair())]
    rows = checked(said(sessions))
    assert rows["first_places"]["status"] == "ok"
    assert rows["places"]["status"] == "caution"
    assert rows["places"]["remedy"].startswith("“new” has 74.9% of the places")


def test_rankings_of_one_ranker_alone_are_of_the_pair_if_there_is_one_pair():
    rows = pl.DataFrame(
        [("a", "b", 1, 2), ("a", "", 1, 0), ("b", "", 4, 0), ("b", "c", 1, 2)],
        schema=["ranker_a", "ranker_b", "team_a", "team_b"], orient="row",
    )  # fmt: skip
    pair = against(rows, "b", "a", alone=True)
    assert sorted(pair.select("control", "treatment").rows()) == [(0, 1), (2, 1), (4, 0)]
    assert against(rows, "b", "a", alone=False).select("control", "treatment").rows() == [(2, 1)]
    assert against(rows, "b", "c", alone=False).select("control", "treatment").rows() == [(1, 2)]


def test_users_in_few_folds_have_no_verdict():
    rows = checked(said(fair(folds=7)))
    assert (rows["folds"]["value"], rows["folds"]["status"]) == (7, "finding")


def test_a_ranker_that_was_replaced_is_found_and_three_at_once_are_not():
    replaced = fair(sessions=2000) + fair(1, sessions=500, names=("newer", "new"))
    found = said(replaced)
    row = found.checks.row(by_predicate=(pl.col("check") == "other_rankers") & (pl.col("variant") == "new"),
                           named=True)  # fmt: skip
    assert (row["status"], row["value"]) == ("finding", pytest.approx(0.2))
    together = fair(sessions=2000)
    for at, one in enumerate(together):
        names = np.random.default_rng(at).permutation(["old", "new", "newer"])
        one["teams"] = [str(names[place % 3]) for place in range(4)]
    three = said(together)
    assert three.checks.filter(check="other_rankers")["status"].to_list() == ["ok", "ok"]
    assert three.experiments["variant"].unique().sort().to_list() == ["new", "newer"]


def test_rankings_that_favour_who_leads_by_their_judgments_are_not_compared():
    sessions = fair(sessions=4000, length=5)
    for at, one in enumerate(sessions):  # another ranking of the query where new comes first
        one["results"] = [f"{'n' if one['teams'][0] == 'new' else 'o'}{place}" for place in range(5)]
        one["query"] = f"q{at % 80 // 2}"
    found = said(sessions, judged=lambda one: one["results"][0] != "n0")
    row = row_of(found, "NDCG")
    assert (row["verdict"], row["difference"]) == ("unequally_judged", None)
    assert (row["judged_share"], row["judged_share_control"] > 0.5) == (0.0, True)
    assert row_of(found, "preference")["matched"] is None


# ---- verdicts ------------------------------------------------------------------------------------


def test_a_metric_that_is_no_sum_over_places_has_a_reason_and_no_verdict():
    found = said(fair(), options=LogOptions("AP", "UCTR"))
    row = row_of(found, "AP")
    assert (row["difference"], row["verdict"], row["reason"]) == (None, None, NO_SUM)


def graded_world(better, pull, seed=1):
    """Return sessions of rankers of which new shows better results (by `better`), and is clicked more."""
    rng = np.random.default_rng(seed)

    def results(query, *grades):
        return [name for name in (f"d{at}" for at in range(100)) if grade_of(query, name) in grades][:2]

    queries = [f"q{at}" for at in range(60)]
    good, bad = ({query: results(query, *grades) for query in queries} for grades in ((3, 4), (0, 1)))
    found = []
    for one in fair(seed, sessions=4000):
        one["query"] = f"q{int(rng.integers(60))}"
        lists = {"new": list((good if better > 0 else bad)[one["query"]]),
                 "old": list((bad if better > 0 else good)[one["query"]])}  # fmt: skip
        one["results"] = [lists[team].pop(0) for team in one["teams"]]
        one["clicked"] = [
            place for place, team in enumerate(one["teams"]) if rng.random() < 0.3 + pull * (team == "new")
        ]
        found.append(one)
    return found


@pytest.mark.parametrize(
    ("better", "pull", "verdict"),
    [(1, 0.2, "agree"), (-1, -0.2, "agree"), (1, -0.2, "contradict"), (1, 0.0, "offline_only")],
)
def test_verdicts_hold_the_metric_against_the_preference(better, pull, verdict):
    row = row_of(said(graded_world(better, pull)), "NDCG")
    assert row["verdict"] == verdict
    assert np.sign(row["difference"]) == better
    assert "preference" not in (row["reason"] or "")


def test_identical_results_are_online_only_if_users_prefer_one_side():
    sessions = fair(sessions=4000)
    for at, one in enumerate(sessions):
        one["clicked"] = [
            place for place, team in enumerate(one["teams"]) if (at + place) % 5 < 1 + (team == "new")
        ]
    row = row_of(said(sessions), "NDCG")
    assert row["verdict"] == "online_only"


def test_interleaved_tests_are_past_tests_of_their_own():
    parts = [pl.concat([drafted(graded_world(sign, 0.2 * sign, seed), f"t{seed}")])
             for seed, sign in enumerate((1, -1, 1))]  # fmt: skip
    sessions = [one for seed, sign in enumerate((1, -1, 1)) for one in graded_world(sign, 0.2 * sign, seed)]
    told = {f"t{at}": DeclaredTest("old") for at in range(3)}
    found = said(sessions, told=told, rows=pl.concat(parts)).experiments
    arms = found.with_columns(kind_of_test=pl.lit(AB), metric=pl.col("metric").replace("preference", "UCTR"))
    both = EXPERIMENTS.canonical(pl.concat([found, arms]))
    past = past_tests(both.filter(kind_of_test="interleaved"), "human", "preference")
    assert past.names == ("t0", "t1", "t2")
    assert np.sign(past.difference).tolist() == [1, -1, 1]
    assert np.sign(past.values[:, past.metrics.index("NDCG")]).tolist() == [1, -1, 1]
    assert found.filter(metric="preference")["moved"].all()


# ---- nothing to compare ---------------------------------------------------------------------------


def short(one):
    return one | {"results": one["results"][:2], "teams": one["teams"][:2],
                  "clicked": [place for place in one["clicked"] if place < 2]}  # fmt: skip


@pytest.mark.parametrize(
    ("sessions", "is_preferred"),
    [
        ([one | {"clicked": []} for one in fair(sessions=300)], False),
        ([short(one) for one in fair(sessions=300)], True),
        ([one | {"query": "w", "results": ["x"] * 4} for one in fair(sessions=300)], True),
    ],
    ids=["no click", "short rankings", "nothing judged"],
)
def test_without_clicks_or_judged_rankings_there_is_no_verdict(sessions, is_preferred):
    extra = next(one for one in fair(1) if graded(one) is not None)  # a judged ranking of another test
    drafts, rankings = made([*sessions, extra], judged=lambda one: one is extra)
    rows = drafts.rows.filter(pl.col("query") != extra["query"])
    found = experiments_of_log(None, rankings, TOLD, OPTIONS, Drafts(rows, drafts.places))
    assert (row_of(found, "preference")["difference"] is not None) == is_preferred
    row = row_of(found, "NDCG")
    assert (row["verdict"], row["difference"]) == (None, None)
    assert "no interval" in row["reason"]
