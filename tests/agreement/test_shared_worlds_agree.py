"""What all queries share, taken out of correlations within queries: the package and plain Python agree.

Logs reach every way in which it is taken out: 16 folds of users or 8, a block of a market's own or of small
markets together, times or users that are not known, units of several queries, half of the users, ratings.
"""

import random
from dataclasses import replace

import polars as pl
import pytest

from agreement.test_agreement import compare, comparison_differences, keyed, values_of, within_differences
from clickassay.core.contracts.correlation import WITHIN_INFLUENCE
from clickassay.core.settings import load_settings
from clickassay.jobs.analyse import analyse
from clickassay.jobs.inputs import Sources
from clickassay.jobs.patterns import log_to_patterns
from support.logs.messy import write_log
from support.oracle.oracle_outcomes import outcomes_of, rated_place
from support.oracle.oracle_run import judged_places, within_tables
from support.oracle.shared_worlds import SharedWorld, shared_log
from support.tiers import first

QUICK = {
    "a busy user": SharedWorld({"m": 120}, sessions=5, heavy=0.5, seed=2),
    "8 folds": SharedWorld(sessions=20, seed=3),
    "few lists": SharedWorld({"m": 20}, seed=4),
    "small markets share a block": SharedWorld({"a": 45, "b": 20, "c": 22}, sessions=5, seed=5),
    "a market without a group": SharedWorld({"a": 10, "b": 1}, lists=(1, 2), sessions=3, seed=3),
    "one day": SharedWorld(days=1, seed=7),
    "one fold": SharedWorld(settings={"folds": 1}, seed=8),
    "weeks": SharedWorld(settings={"periods": "week"}, seed=9),
    "no times": SharedWorld(settings={"periods": "none"}, seed=10),
    "groups": SharedWorld({"a": 40, "b": 30}, groups=12, sessions=5, seed=11),
    "days unknown": SharedWorld(settings={"unknown_days": (3, 8)}, seed=12),
}
"""Worlds by what they reach."""

THOROUGH = {
    "a small market joins a block": SharedWorld({"a": 45, "b": 12}, sessions=5, seed=6),
    "16 folds": SharedWorld({"m": 120}, sessions=5),
    "16 folds of two blocks": SharedWorld({"a": 70, "b": 75}, seed=21),
    "16 folds of a small block": SharedWorld({"a": 33, "b": 33, "c": 33, "d": 33, "e": 33}, seed=22),
    "a busy user in two markets": SharedWorld({"a": 70, "b": 75}, heavy=0.6, users=40, seed=23),
    "nothing but a busy user": SharedWorld({"m": 110}, heavy=0.9, settings={"periods": "none"}, seed=24),
    "7 folds": SharedWorld({"m": 120}, settings={"folds": 7}, seed=25),
    "8 folds of 16": SharedWorld({"m": 120}, settings={"folds": 8}, seed=26),
    "40 folds": SharedWorld({"m": 120}, settings={"folds": 40}, seed=27),
    "one user": SharedWorld({"m": 120}, users=1, seed=28),
    "one user and day": SharedWorld({"m": 120}, users=1, days=1, seed=29),
    "groups of 16 folds": SharedWorld({"a": 70, "b": 75}, groups=40, heavy=0.4, seed=30),
    "two days": SharedWorld(days=2, seed=31),
    "no day known": SharedWorld(settings={"unknown_days": tuple(range(50))}, seed=32),
    "many sessions": SharedWorld({"m": 90}, sessions=40, seed=33),
    "a list seen once": SharedWorld({"m": 200}, sessions=1, seed=34),
    "weeks in markets": SharedWorld({"a": 60, "b": 20, "c": 20}, settings={"periods": "week"}, seed=35),
}

WORLDS = [pytest.param(world, id=name) for name, world in QUICK.items()]
WORLDS += [pytest.param(world, id=name, marks=pytest.mark.thorough) for name, world in THOROUGH.items()]


def of_world(world, folder):
    """Return what plain Python finds in a world's log, and the tables of its run."""
    log = shared_log(world)
    return within_tables(judged_places(*log)), run_of(log, world.seed, folder)


def run_of(log, seed, folder, outcomes=None, **more):
    """Return the tables of the run of a log; `outcomes` are the rows of a file of them."""
    names, settings = ("searches", "clicks", "judgments", "queries"), log[4]
    paths = write_log(folder / "log", 2 * seed, **dict(zip(names, log, strict=False)))
    if outcomes is not None:
        paths["outcomes"] = folder / "outcomes.parquet"
        pl.DataFrame(outcomes).write_parquet(paths["outcomes"])
    given = {name: value for name, value in settings.items() if name != "unknown_days"}
    options = load_settings(**given, click_models=("NONE",), **more)
    table = log_to_patterns(
        Sources(paths["searches"], paths["clicks"], outcomes=paths.get("outcomes")), options
    )
    if "unknown_days" in settings:
        table = replace(table, shown=without_days(table.shown, settings["unknown_days"]))
    return analyse(table, Sources(judgments=paths["judgments"], queries=paths.get("queries")), options)


def without_days(shown, days):
    """Return a table `shown` in which some days of the month are not known."""
    day = pl.when(~pl.col("day").dt.day().is_in(days)).then("day")
    return shown.group_by("configuration_id", day).agg(pl.col("sessions").sum()).sort(pl.all())


def differences_of(expected, run):
    """Yield the differences of the tables of correlations within queries."""
    yield from within_differences({"entropies": {}, **expected}, run["within"])
    yield from comparison_differences(expected["within_comparisons"], run["within_comparisons"])
    wanted = expected["within_influence"]
    values = values_of(WITHIN_INFLUENCE)
    found = keyed(run["within_influence"], WITHIN_INFLUENCE.key, values)
    yield from compare("influence", wanted, {key: found[key] for key in found if key in wanted}, values)


@pytest.mark.parametrize("world", WORLDS)
def test_what_queries_share_is_taken_out_as_by_plain_python(world, tmp_path):
    assert next(differences_of(*of_world(world, tmp_path)), None) is None


@pytest.mark.parametrize("size", first(1, (50, 20, 110)))
def test_half_of_the_users_have_their_own_folds_and_the_days_of_all(size, tmp_path):
    *log, settings = shared_log(SharedWorld({"a": size, "b": size // 2}, sessions=14, heavy=0.3, seed=40))
    odd = {"counted_folds": range(1, 16, 2)}
    expected = within_tables(judged_places(*log, settings | odd))
    run = run_of((*log, settings), 40, tmp_path, click_judge="PBM")
    own = {
        name: rows.filter(judge="judgments").with_columns(judge=pl.lit("all"))
        for name, rows in run.items()
        if name.startswith("within")
    }
    assert next(differences_of(expected, own), None) is None


@pytest.mark.parametrize("size", first(1, (50, 20, 130)))
def test_a_rating_has_the_folds_of_the_sessions_that_rated_and_the_days_of_all(size, tmp_path):
    log = shared_log(SharedWorld({"a": size, "b": size // 2}, sessions=12, seed=41))
    searches, clicks, *_, settings = log
    rng = random.Random(41)  # noqa: S311 - test data, not a secret
    stars = [
        {
            "search_id": row["search_id"],
            "name": "stars",
            "value": float(rng.randint(1, 4) + row["user_id"] % 2),
            "outcome_id": None,
            "kind": "rating",
        }
        for row in searches
        if rng.random() < 0.5
    ]
    found = outcomes_of(searches, clicks, stars, settings)
    places = {key: rated_place(place, found, "stars") for key, place in judged_places(*log).items()}
    run = run_of(log, 41, tmp_path, outcomes=stars, click_metric=("UCTR", "stars"))
    own = {name: rows.filter(click_metric="stars") for name, rows in run.items() if name.startswith("within")}
    assert next(differences_of(within_tables(places, ["stars"]), own), None) is None
