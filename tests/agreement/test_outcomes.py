"""Outcomes of sessions: what plain Python finds, on every engine, in one batch, in many and in a store."""

import random

import polars as pl
import pytest

from agreement.test_signals_agree import chosen, counts_of, cut_files, files_of
from clickassay.core.errors import InputError, RejectedRowsError
from clickassay.jobs.inputs import Sources
from clickassay.jobs.patterns import log_to_patterns, make_patterns
from clickassay.jobs.stores import grow_store
from clickassay.patterns.store import PatternStore
from support.oracle.oracle_outcomes import outcomes_of
from support.tiers import first

NAMES = ("revenue", "rating", "Revenue ", None)
VALUES = (0.0, 1.0, 19.99, -3.5, 1e9, -1e9, 2e9, float("nan"), float("inf"), None, 0.0005, 1234.5675)


def given_outcomes(searches, seed):
    """Draw outcomes of searches, of none, and some twice."""
    rng = random.Random(seed)  # noqa: S311 - test data, not a secret
    ids = [row["search_id"] for row in searches if row["search_id"] is not None]
    rows = [
        {
            "search_id": rng.choice(ids),
            "name": rng.choice(
                ("revenue", "Revenue ", "rating", None) if number % 9 == 0 else ("revenue", "rating")
            ),
            "value": rng.choice(VALUES),
            "outcome_id": rng.choice((None, None, number // 2)),
            "kind": None,
        }
        for number in range(len(ids))
    ]
    unknown = "nobody's" if isinstance(ids[0], str) else 2**61
    for row in rows if seed % 2 else ():
        row["kind"] = rng.choice((None, "rating", " Rating")) if row["name"] == "rating" else None
    last = {"search_id": unknown, "name": "revenue", "value": 5.0, "outcome_id": None, "kind": None}
    return [*rows, *([dict(last, name="rating", kind="rating")] if seed % 2 else []), last]


def log_of(seed, folder):
    """Write a log and its outcomes; return the paths, the rows and the settings."""
    searches, clicks, (rows, clicked), given = files_of(seed, folder)
    outcomes = given_outcomes(rows, seed)
    pl.DataFrame(outcomes, infer_schema_length=None).write_parquet(folder / "outcomes.parquet")
    derived = ("abandoned",) if given.get("idle_scope") == "query" else ("abandoned", "reformulated")
    given = given | {"outcome": derived, "reformulation_minutes": (1.0, 5.0, 60.0)[seed % 3]}
    return str(searches), str(clicks), folder / "outcomes.parquet", (rows, clicked, outcomes), given


def settings_of(given, **more):
    own = {name: given[name] for name in ("outcome", "reformulation_minutes")}
    return chosen(given, **own, **more)


def as_rows(outcomes):
    return {row[:3]: (row[3], int(row[4]), int(row[5])) for row in outcomes.iter_rows()}


def as_rows_of(table):
    return [(*row[:4], int(row[4]), int(row[5])) for row in table.outcomes.iter_rows()]


@pytest.mark.parametrize("seed", first(30, range(300)))
def test_outcomes_are_those_of_plain_python(seed, tmp_path):
    searches, clicks, outcomes, rows, given = log_of(seed, tmp_path)
    settings = settings_of(given)
    table = log_to_patterns(Sources(searches, clicks, outcomes=outcomes), settings)
    expected = outcomes_of(*rows, given | {"folds": settings.folds, "depth": settings.depth})
    assert as_rows(table.outcomes) == expected
    counted = counts_of(table.funnel, "outcomes")
    assert counted["read"] == len(rows[2]) == sum(counted.values()) - counted["read"]


@pytest.mark.parametrize("seed", first(12, range(100)))
def test_other_engines_and_batches_leave_the_same_bytes(seed, tmp_path):
    searches, clicks, outcomes, _, given = log_of(seed, tmp_path)
    found = {}
    for name, more in {"arrays": {}, "duckdb": {"engine": "duckdb"}, "batches": {"batch": "20"}}.items():
        sources = Sources(searches, clicks, outcomes=outcomes)
        make_patterns(sources, tmp_path / name, settings_of(given, **more))
        found[name] = {file.name: file.read_bytes() for file in (tmp_path / name).glob("*.parquet")}
    assert found["duckdb"] == found["arrays"] == found["batches"]
    assert {"outcomes.parquet", "patterns.parquet"} <= found["arrays"].keys()


@pytest.mark.parametrize("engine", ["arrays", "duckdb"])
@pytest.mark.parametrize("seed", first(5, range(40)))
def test_a_store_holds_the_outcomes_of_the_whole_log(seed, engine, tmp_path):
    searches, clicks, outcomes, _, given = log_of(seed, tmp_path)
    every = pl.read_parquet(outcomes)  # an outcome_id in both files would count twice
    once = every.with_columns(outcome_id=pl.lit(None, pl.Int64))
    if seed % 2:  # each file says it: of which rows an outcome has is the luck of the draw
        once = once.with_columns(kind=pl.when(name="rating").then(pl.lit("rating")))
    once.write_parquet(outcomes)
    whole = log_to_patterns(Sources(searches, clicks, outcomes=outcomes), settings_of(given))
    pairs = cut_files(*map(tmp_path.__class__, (searches, clicks)), tmp_path)
    first_ids, last_ids = (set(pl.read_parquet(pair[0])["search_id"]) for pair in pairs)
    if first_ids & last_ids:  # no outcome of such a search belongs to one file
        return
    own = split_by_search(outcomes, [pair[0] for pair in pairs], tmp_path)
    try:
        for pair, part in zip(pairs, own, strict=True):
            grow_store(Sources(*pair, outcomes=part), tmp_path / "store", settings_of(given, engine=engine))
    except InputError as error:
        assert "used before" in str(error)  # noqa: PT017 - of one id in both files
        return
    store = PatternStore(tmp_path / "store")
    if store.damage():
        return
    assert as_rows(store.table().outcomes) == as_rows(whole.outcomes)
    assert counts_of(store.funnel(), "outcomes") == counts_of(whole.funnel, "outcomes")


def split_by_search(outcomes, searches, folder):
    """Give each file of searches the outcomes of its searches; the rest goes with the last."""
    rows, first_ids = pl.read_parquet(outcomes), pl.read_parquet(searches[0])["search_id"]
    is_first = pl.col("search_id").is_in(first_ids.implode()).fill_null(value=False)
    places = [folder / "o0.parquet", folder / "o1.parquet"]
    for place, part in zip(places, (rows.filter(is_first), rows.filter(~is_first)), strict=True):
        part.write_parquet(place)
    return places


def small_log(folder):
    times = [1_700_000_000_000, 1_700_100_000_000, 1_700_200_000_000]
    for day, time in enumerate(times):
        searches = {
            "search_id": [day],
            "user_id": [7],
            "query": ["a"],
            "timestamp": [time],
            "results": [["x", "y"]],
        }
        clicks = {"search_id": [day], "url": ["x"], "timestamp": [time + 5000]}
        pl.DataFrame(searches).write_parquet(folder / f"s{day}.parquet")
        pl.DataFrame(clicks).write_parquet(folder / f"c{day}.parquet")
    pl.DataFrame({"search_id": [0], "name": ["revenue"], "value": [2.5]}).write_parquet(folder / "o.parquet")


def test_outcomes_that_come_after_the_run_that_read_their_search_stop_the_next(tmp_path):
    small_log(tmp_path)
    settings = chosen({}, depth=[2], max_rejected=0.01)
    store = tmp_path / "store"
    halves = [str(tmp_path / "s[{}].parquet"), str(tmp_path / "c[{}].parquet")]
    grow_store(Sources(*(half.format("01") for half in halves)), store, settings)
    with pytest.raises(RejectedRowsError, match=r"1 of 1 rows come too late: .*store forget"):
        grow_store(
            Sources(*(half.format("2") for half in halves), outcomes=tmp_path / "o.parquet"), store, settings
        )


def test_outcomes_of_a_session_that_is_still_open_are_in_time(tmp_path):
    small_log(tmp_path)
    settings = chosen({}, depth=[2], max_rejected=0.01)
    store = tmp_path / "store"
    grow_store(Sources(tmp_path / "s0.parquet", tmp_path / "c0.parquet"), store, settings)
    later = tmp_path / "s1.parquet", tmp_path / "c1.parquet"
    grow_store(Sources(*later, outcomes=tmp_path / "o.parquet"), store, settings)
    table = PatternStore(store).table()
    assert [row[3:] for row in as_rows_of(table)] == [(1, 2500, 6_250_000)]
    assert counts_of(table.funnel, "outcomes") == {"read": 1, "kept": 1}


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ({"search_id": [0], "name": ["MeanRR"], "value": [1.0]}, "'MeanRR' is an invalid name"),
        ({"search_id": [0], "name": ["abandoned"], "value": [1.0]}, "'abandoned' is an invalid name"),
        (
            {"search_id": [0], "name": ["x"], "value": [1.0], "kind": ["mean"]},
            "x has kind 'mean'; expected sum",
        ),
        (
            {"search_id": [0, 1], "name": ["x", "X"], "value": [1.0, 2.0], "kind": ["rating", "sum"]},
            "x has two kinds: sum in a row of column kind, rating in another row; use one of them",
        ),
        (
            {"search_id": [0], "name": ["stars"], "value": [1.0], "kind": ["sum"]},
            "stars has two kinds: sum in a row of column kind, rating by the setting outcome_kind",
        ),
        ({"search_id": [0], "name": ["x"], "value": [float("nan")]}, "1 with no finite number.*'NaN'"),
        (
            {"search_id": ["0.00"], "name": ["x"], "value": [12.5]},
            r"search_id '0\.00' and value '12\.5'; the log has search_id 0: write the id like this",
        ),
        ({"search_id": [0], "name": ["x"], "value": [1e10]}, "beyond a thousand million.*'10000000000.0'"),
        (
            {"search_id": list(range(9)), "name": [f"x{n}" for n in range(9)], "value": [1.0] * 9},
            "9 names, but at most 8",
        ),
    ],
)
def test_outcomes_that_cannot_be_used_are_named(rows, words, tmp_path):
    small_log(tmp_path)
    pl.DataFrame(rows).write_parquet(tmp_path / "o.parquet")
    sources = Sources(*(tmp_path / f"{name}0.parquet" for name in "sc"), outcomes=tmp_path / "o.parquet")
    with pytest.raises(InputError, match=words):
        log_to_patterns(sources, chosen({}, depth=[2], max_rejected=0.01, outcome_kind=["Stars=rating"]))


def test_an_outcome_keeps_its_kind_in_a_store(tmp_path):
    small_log(tmp_path)
    days = [(tmp_path / f"s{n}.parquet", tmp_path / f"c{n}.parquet") for n in range(3)]
    store, second = tmp_path / "store", tmp_path / "second.parquet"
    pl.DataFrame({"search_id": [1], "name": ["revenue"], "value": [2.0]}).write_parquet(second)
    plain = chosen({}, depth=[2], max_rejected=0.01)
    rated = chosen({}, depth=[2], max_rejected=0.01, outcome_kind=["revenue=rating"])
    grow_store(Sources(*days[0], outcomes=tmp_path / "o.parquet"), store, rated)
    with pytest.raises(
        InputError, match=r"revenue has kind sum here, but rating in .*--outcome-kind revenue=ra"
    ):
        grow_store(Sources(*days[1], outcomes=second), store, plain)
    grow_store(Sources(*days[1], outcomes=second), store, rated)
    grow_store(Sources(*days[2]), store, plain)  # of a day without a rating
    assert PatternStore(store).table().info["outcome_kinds"] == {"revenue": "rating"}
