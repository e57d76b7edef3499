"""The form of a simulated log: columns, order, corpus, same bytes, bounded memory, all or nothing."""

import re
from collections import Counter, defaultdict
from itertools import pairwise
from math import log

import polars as pl
import pyarrow.parquet as pq
import pytest

from clickassay.core.errors import OutputError, SimulationError
from clickassay.inputs.simulate.simulation import ROW_GROUP, simulate
from clickassay.inputs.simulate.traffic import PERIOD_SEARCHES, periods
from clickassay.inputs.simulate.worlds import WORLDS
from support.logs.simulated_log import rows, truth_of

FILES = ["clicks.parquet", "judgments.parquet", "queries.parquet", "searches.parquet", "truth.json"]
DAY_MS = 86_400_000


@pytest.fixture(scope="module")
def log_of(tmp_path_factory):
    """A small clean log."""
    out = tmp_path_factory.mktemp("log") / "rbp"
    return simulate("rbp", n_searches=20_000, n_queries=300, seed=3, out=out)


def test_searches_and_clicks_are_in_order_of_time_over_seven_days(log_of):
    searches, clicks = rows(log_of / "searches.parquet"), rows(log_of / "clicks.parquet")
    for table in (searches, clicks):
        assert all(a["timestamp"] <= b["timestamp"] for a, b in pairwise(table))
    assert [search["search_id"] for search in searches] == list(range(1, 20_001))
    assert len({search["timestamp"] // DAY_MS for search in searches}) == 7


def test_actions_are_added_to_a_log_that_stays_the_same(tmp_path):
    plain, more = (
        simulate(
            "web", n_searches=20_000, n_queries=100, seed=4, actions=actions, out=tmp_path / str(actions)
        )
        for actions in (False, True)
    )
    for name in ("searches", "judgments", "queries"):
        assert (plain / f"{name}.parquet").read_bytes() == (more / f"{name}.parquet").read_bytes()
    events = pl.read_parquet(more / "clicks.parquet")
    assert events["timestamp"].is_sorted()
    clicks, carts, bought = (events.filter(action=name) for name in ("click", "add_to_cart", "purchase"))
    assert clicks.drop("action").equals(pl.read_parquet(plain / "clicks.parquet"))
    key = ["search_id", "url"]
    assert carts.join(clicks, on=key, how="anti").is_empty()
    assert bought.join(carts, on=key, how="anti").is_empty()
    assert bought.height / carts.height == pytest.approx(0.25, abs=4 * (0.25 * 0.75 / carts.height) ** 0.5)
    revenue = pl.read_parquet(more / "outcomes.parquet")
    assert sorted(revenue["search_id"]) == sorted(bought["search_id"])
    assert set(revenue["name"]) == {"revenue"}
    planted = truth_of(more)["planted"]
    assert (planted["rows of carts"], planted["rows of purchases"]) == (carts.height, bought.height)


def test_better_results_are_put_into_the_cart_more_often_by_the_chance_of_their_grade(tmp_path):
    log = simulate("null", n_searches=60_000, n_queries=100, seed=5, actions=True, out=tmp_path / "log")
    grades = pl.read_parquet(log / "judgments.parquet").select("url", "grade")  # no editor errs here
    events = pl.read_parquet(log / "clicks.parquet").join(grades, on="url")
    for grade in range(5):
        some = events.filter(grade=grade)
        clicks, carts = (some.filter(action=name).height for name in ("click", "add_to_cart"))
        chance = (2**grade - 1) / 16
        assert carts / clicks == pytest.approx(chance, abs=4 * (chance * (1 - chance) / clicks) ** 0.5)


def test_a_click_follows_its_search_within_minutes_and_is_on_one_of_its_results(log_of):
    searches = {search["search_id"]: search for search in rows(log_of / "searches.parquet")}
    for click in rows(log_of / "clicks.parquet"):
        search = searches[click["search_id"]]
        assert 0 < click["timestamp"] - search["timestamp"] <= 15 * 60_000
        assert click["url"] in search["results"]


def test_a_page_has_ten_different_results_and_all_of_them_are_judged(log_of):
    judged = {(row["query"], row["url"]) for row in rows(log_of / "judgments.parquet")}
    for search in rows(log_of / "searches.parquet"):
        assert len(set(search["results"])) == 10
        assert judged.issuperset((search["query"], url) for url in search["results"])


def test_queries_are_distinct_words_made_up_of_plain_letters(log_of):
    queries = [row["query"] for row in rows(log_of / "queries.parquet")]
    assert len(set(queries)) == len(queries) == 300
    assert all(re.fullmatch(r"[a-z]{4,}( [a-z]{4,}){0,4}", query) for query in queries)
    assert {len(query.split()) for query in queries} == {1, 2, 3, 4, 5}


def test_popularity_falls_like_a_power_of_the_rank(log_of):
    searched = Counter(search["query"] for search in rows(log_of / "searches.parquet"))
    counts = [searched[row["query"]] for row in rows(log_of / "queries.parquet")]
    head, tail = sum(counts[:10]) / 10, sum(counts[-100:]) / 100
    # Ranks 1..10 have a mean of 0.354 for rank^-0.8, ranks 201..300 one of 0.0121.
    assert log(head / tail) == pytest.approx(log(0.354 / 0.0121), abs=0.15)


def test_a_query_has_15_to_25_documents_and_about_ten_configurations(tmp_path):
    log = simulate("cascade", n_searches=20_000, n_queries=20, seed=1, out=tmp_path / "log")
    documents = Counter(row["query"] for row in rows(log / "judgments.parquet"))
    assert all(15 <= count <= 25 for count in documents.values())
    lists = defaultdict(set)
    for search in rows(log / "searches.parquet"):
        lists[search["query"]].add(tuple(search["results"]))
    assert all(8 <= len(of_query) <= 10 for of_query in lists.values())


def test_navigational_queries_have_one_perfect_result_which_is_mostly_first(log_of):
    navigational = {row["query"] for row in rows(log_of / "queries.parquet") if row["navigational"]}
    assert 0.1 < len(navigational) / 300 < 0.35
    perfect = defaultdict(list)
    for row in rows(log_of / "judgments.parquet"):
        if row["grade"] == 4:
            perfect[row["query"]].append(row["url"])
    firsts = [
        search["results"][0] in perfect[search["query"]]
        for search in rows(log_of / "searches.parquet")
        if search["query"] in navigational
    ]
    assert all(len(perfect[query]) == 1 for query in navigational)
    assert 0.8 < sum(firsts) / len(firsts) < 1


def test_users_make_several_searches_on_several_days(log_of):
    searches, days = Counter(), defaultdict(set)
    for search in rows(log_of / "searches.parquet"):
        searches[search["user_id"]] += 1
        days[search["user_id"]].add(search["timestamp"] // DAY_MS)
    assert 3 < sum(searches.values()) / len(searches) < 7
    assert sum(len(of_user) > 1 for of_user in days.values()) > len(days) / 3


@pytest.mark.slow
@pytest.mark.parametrize("world", ["web", "cascade"])
def test_the_same_seed_gives_the_same_bytes_and_another_seed_does_not(world, tmp_path):
    first, again, other = (
        simulate(world, n_searches=3_000, n_queries=50, seed=seed, out=tmp_path / name)
        for name, seed in (("first", 1), ("again", 1), ("other", 2))
    )
    for file in FILES:
        assert (first / file).read_bytes() == (again / file).read_bytes()
        assert (first / file).read_bytes() != (other / file).read_bytes()


@pytest.mark.parametrize("searches", [1, 7, 20_000, 3_000_001, 500_000_000])
def test_a_log_of_any_size_is_drawn_in_periods_of_bounded_size(searches):
    drawn, end_ms, largest, users = 0, None, 0, {}
    for number, period in enumerate(periods(searches)):
        assert period.number == number
        assert period.first_search == drawn + 1
        assert end_ms in (None, period.begin_ms)
        users.setdefault(period.first_user, period.users)
        drawn, end_ms, largest = drawn + period.searches, period.end_ms, max(largest, period.searches)
    assert drawn == searches
    assert largest <= PERIOD_SEARCHES
    # The users of different times of day are different users.
    assert all(a + users[a] <= b for a, b in pairwise(sorted(users)) if users[a])


def test_row_groups_are_bounded_and_only_the_last_one_is_small(tmp_path):
    log = simulate("web", n_searches=260_000, n_queries=50, out=tmp_path / "log")
    for file in ("searches.parquet", "clicks.parquet"):
        metadata = pq.read_metadata(log / file)
        sizes = [metadata.row_group(number).num_rows for number in range(metadata.num_row_groups)]
        assert len(sizes) >= 2
        assert all(ROW_GROUP <= size < 2 * ROW_GROUP for size in sizes[:-1])


def test_the_smallest_log_has_one_search_of_one_query(tmp_path):
    log = simulate("web", n_searches=1, n_queries=1, out=tmp_path / "log")
    assert len(rows(log / "searches.parquet")) in (1, 2)
    assert len(rows(log / "queries.parquet")) == 1


@pytest.mark.parametrize(("searches", "queries"), [(10, 50), (99_999, 50), (200_000, 100)])
def test_the_number_of_queries_grows_with_the_searches_unless_it_is_given(searches, queries, tmp_path):
    log = simulate("rr", n_searches=searches, out=tmp_path / "log")
    assert len(rows(log / "queries.parquet")) == truth_of(log)["queries"] == queries


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"world": "mars"}, r"world 'mars' is unknown; choose one of web, cascade, rbp, dcg, rr, null"),
        ({"n_searches": 0}, r"n_searches is 0; it must be between 1 and "),
        ({"n_searches": 10**12}, r"n_searches is 1000000000000; it must be between"),
        ({"n_queries": 0}, r"n_queries is 0; it must be between 1 and 1000000"),
        ({"n_queries": 1_000_001}, r"n_queries is 1000001"),
        ({"seed": -1}, r"seed is -1; it must be between 0 and "),
        ({"seed": 2**63}, r"seed is 9223372036854775808"),
    ],
)
def test_an_argument_out_of_range_is_named_and_nothing_is_written(changed, message, tmp_path):
    arguments = {"world": "rr", "n_searches": 10, "n_queries": 5, "seed": 0} | changed
    with pytest.raises(SimulationError, match=message):
        simulate(arguments.pop("world"), **arguments, out=tmp_path / "log")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("taken", ["file", "empty folder", "folder", "broken link"])
def test_a_place_that_is_taken_is_left_alone(taken, tmp_path):
    out = tmp_path / "log"
    if taken == "file":
        out.write_text("mine")
    elif taken == "broken link":
        out.symlink_to(tmp_path / "nowhere")
    else:
        out.mkdir()
        if taken == "folder":
            (out / "mine").touch()
    with pytest.raises(OutputError, match="exists already"):
        simulate("rr", n_searches=10, out=out)
    assert list(tmp_path.iterdir()) == [out]


def test_a_folder_appears_only_when_it_is_complete(tmp_path):
    out, seen = tmp_path / "deep" / "log", []
    simulate("rr", n_searches=2_000, out=out, progress=lambda event: seen.append((event.part, out.exists())))
    parts = [part for part, _ in seen if part is not None]
    assert parts == sorted(parts)
    assert parts[-1] == 1
    assert not any(exists for _, exists in seen)
    assert out.is_dir()


@pytest.mark.slow
@pytest.mark.parametrize("world", WORLDS)
def test_the_truth_names_its_world_and_how_to_make_the_log_again(world, tmp_path):
    log = simulate(world, n_searches=500, n_queries=20, seed=5, out=tmp_path / "log")
    truth = truth_of(log)
    assert (truth["world"], truth["searches"], truth["queries"], truth["seed"]) == (world, 500, 20, 5)
    assert truth["law"]["words"]
    assert truth["planted"]["searches"] == 500
    assert truth["planted"]["click rows"] == len(rows(log / "clicks.parquet"))
