"""The world `web`: its noise is there at its rates and counted right, and it resembles a real log."""

from collections import Counter, defaultdict
from math import sqrt

import numpy as np
import pytest

from clickassay.core.settings import load_settings
from clickassay.inputs.simulate.simulation import simulate
from clickassay.inputs.simulate.worlds import Browsing, Pages, browse, satisfied
from clickassay.jobs.inputs import Sources
from clickassay.jobs.patterns import log_to_patterns
from support.logs.simulated_log import rows, satisfies, truth_of
from support.places import DATA

HOUR_MS = 3_600_000
SEARCHES = 60_000
SEED = 4
HABITS = Browsing()


@pytest.fixture(scope="module")
def web(tmp_path_factory):
    return simulate(
        "web", n_searches=SEARCHES, n_queries=60, seed=SEED, out=tmp_path_factory.mktemp("web") / "log"
    )


@pytest.fixture(scope="module")
def truth(web):
    return truth_of(web)


@pytest.fixture(scope="module")
def searches(web):
    return rows(web / "searches.parquet")


@pytest.fixture(scope="module")
def clicks(web):
    return rows(web / "clicks.parquet")


@pytest.fixture(scope="module")
def usable(searches):
    """Searches that can be used (method 2), each once."""
    return {
        search["search_id"]: search
        for search in searches
        if None not in (search["user_id"], search["query"], *(search["results"] or [None]))
    }


def test_a_search_that_is_delivered_again_is_the_same_row(searches):
    rows_of = defaultdict(list)
    for search in searches:
        rows_of[search["search_id"]].append(search)
    assert max(map(len, rows_of.values())) == 2
    assert all(same[0] == same[-1] for same in rows_of.values())


def test_the_funnel_of_the_pipeline_finds_what_was_planted(web, truth):
    table = log_to_patterns(
        Sources(web / "searches.parquet", web / "clicks.parquet"), load_settings(depth=[10])
    )
    found = defaultdict(int)
    for row in table.funnel.to_dicts():
        if row["depth"] == 0:
            found[row["source"], row["step"], row["reason"]] += row["rows"]
    reasons = ("null user_id", "null query", "empty results", "null in results")
    names = {
        ("searches", "read", ""): "search rows",
        **{("searches", "rejected", reason): f"search rows rejected: {reason}" for reason in reasons},
        ("searches", "repeated", "delivered again"): "search rows delivered again",
        ("clicks", "read", ""): "click rows",
        ("clicks", "rejected", "null url"): "click rows rejected: null url",
        ("clicks", "unmatched", "no usable search"): "click rows without a usable search",
        ("clicks", "out of time", "beyond the idle limit"): "click rows two hours late",
        ("sessions", "formed", ""): "sessions",
    }
    planted = truth["planted"]
    assert {step: found[step] for step in names} == {step: planted[name] for step, name in names.items()}
    assert min(planted[name] for name in names.values()) > 0
    assert (planted["searches"], planted["sessions"] < 0.95 * SEARCHES) == (SEARCHES, True)


@pytest.mark.parametrize(
    ("count", "flaw", "of"),
    [
        ("search rows rejected: null user_id", "null_user", "search rows"),
        ("search rows rejected: null query", "null_query", "search rows"),
        ("search rows rejected: empty results", "empty_results", "search rows"),
        ("search rows rejected: null in results", "null_in_results", "search rows"),
        ("search rows delivered again", "delivered_again", "searches"),
        ("click rows rejected: null url", "null_url", "click rows"),
        ("click rows two hours late", "late_click", "click rows"),
        ("judgments one grade off", "editor_error", "judgments"),
    ],
)
def test_flaws_come_at_the_rates_that_the_truth_states(count, flaw, of, truth):
    number, rate = truth["planted"][of], truth["noise"][flaw]
    assert abs(truth["planted"][count] - number * rate) < 5 * sqrt(number * rate)


def test_some_clicks_are_made_again_and_some_have_no_search_at_all(clicks, searches, truth):
    known = {search["search_id"] for search in searches}
    orphan_clicks = [click for click in clicks if click["search_id"] not in known]
    assert len(orphan_clicks) == pytest.approx(truth["noise"]["orphan_click"] * len(clicks), rel=0.5)
    genuine = [(c["search_id"], c["url"]) for c in clicks if c["search_id"] in known and c["url"]]
    again = len(genuine) - len(set(genuine))
    # Made again, of all that were made: each click is made once, and again with the stated chance.
    rate = truth["noise"]["repeated_click"]
    assert again / len(genuine) == pytest.approx(rate / (1 + rate), abs=0.01)


def test_users_repeat_a_query_within_the_hour_and_often_see_another_list(usable, truth):
    last, repeats, other_list = {}, 0, 0
    for search in usable.values():
        key = search["user_id"], search["query"]
        before = last.get(key)
        if before and search["timestamp"] - before["timestamp"] <= HOUR_MS:
            repeats += 1
            other_list += before["results"] != search["results"]
        last[key] = search
    assert repeats > 0.9 * truth["planted"]["searches that repeat a query on purpose"] > 0.03 * SEARCHES
    assert 0.25 < other_list / repeats < 0.75


def test_a_user_belongs_to_one_of_two_markets(usable):
    markets_of = defaultdict(set)
    for search in usable.values():
        markets_of[search["user_id"]].add(search["market"])
    assert all(len(markets) == 1 for markets in markets_of.values())
    counts = Counter(search["market"] for search in usable.values())
    assert counts["north"] / len(usable) == pytest.approx(0.6, abs=0.02)
    assert counts["south"] + counts["north"] == len(usable)


def test_bots_make_many_searches_and_click_everything_or_nothing(usable, clicks, truth):
    clicked = defaultdict(set)
    for click in clicks:
        if click["url"] is not None:
            clicked[click["search_id"]].add(click["url"])
    visits = defaultdict(list)
    for search in usable.values():
        visits[search["user_id"], search["timestamp"] // (24 * HOUR_MS)].append(search["search_id"])
    busy = [made for made in visits.values() if len(made) >= 50]
    ways = Counter()
    for made in busy:
        numbers = [len(clicked[search]) for search in made]
        # A click that lost its URL is missing from a page on which everything was clicked.
        ways["everything" if min(numbers) >= 9 else "nothing" if max(numbers) == 0 else "other"] += 1
    assert ways["everything"] > 0
    assert ways["nothing"] > 0
    assert ways["other"] == 0
    assert sum(map(len, busy)) == pytest.approx(truth["planted"]["searches by bots"], rel=0.05)
    assert truth["planted"]["searches by bots"] / SEARCHES == pytest.approx(
        truth["noise"]["bot_searches"], rel=0.6
    )


def test_editors_are_at_most_one_grade_off_and_leave_some_results_unjudged(web, truth, tmp_path):
    # A world without errors of the same seed has the same documents: its judgments are the true grades.
    clean = simulate("rr", n_searches=10, n_queries=60, seed=SEED, out=tmp_path / "clean")
    grades = {(row["query"], row["url"]): row["grade"] for row in rows(clean / "judgments.parquet")}
    given = {(row["query"], row["url"]): row["grade"] for row in rows(web / "judgments.parquet")}
    assert given.keys() < grades.keys()
    off = [grade - grades[result] for result, grade in given.items()]
    assert set(off) == {-1, 0, 1}
    assert len(off) - off.count(0) == truth["planted"]["judgments one grade off"]
    assert set(given.values()) <= set(range(5))
    unjudged = len(grades) - len(given)
    assert abs(unjudged - 0.02 * len(grades)) < 5 * sqrt(0.02 * len(grades))


def clicks_on(grade, *, clickbait=False, habits=HABITS):
    """Clicks on 40,000 pages of results that are all alike."""
    pages = Pages(np.full((40_000, 10), grade, dtype=np.int8), np.full((40_000, 10), clickbait))
    return browse(pages, np.random.default_rng(1), habits=habits)


@pytest.mark.parametrize("grade", range(5))
def test_a_result_satisfies_with_probability_r_of_its_grade(grade):
    share = satisfied(np.full(200_000, grade, dtype=np.int8), np.random.default_rng(grade)).mean()
    chance = satisfies(grade)
    assert abs(share - chance) <= 4.5 * sqrt(chance * (1 - chance) / 200_000)


def test_the_first_result_is_clicked_at_the_rate_that_the_habits_give():
    for grade, clickbait in ((0, False), (4, False), (0, True)):
        look = HABITS.clickbait_attraction if clickbait else HABITS.attraction[grade]
        thorough = 1 - (1 - look) ** HABITS.looks
        chance = (1 - HABITS.leaves_at_once) * ((1 - HABITS.thorough) * look + HABITS.thorough * thorough)
        clicked_first = clicks_on(grade, clickbait=clickbait)[:, 0].mean()
        assert clicked_first == pytest.approx(chance, abs=4.5 * sqrt(chance / 40_000))


def test_good_pages_end_the_search_of_those_who_seek_one_result():
    seekers = Browsing(thorough=0.0, attraction=(0.4,) * 5, clickbait_attraction=0.4)
    several = [(clicks_on(grade, habits=seekers).sum(axis=1) > 1).mean() for grade in range(5)]
    assert several == sorted(several, reverse=True)
    assert several[4] < 0.2 * several[0]


# The Yandex click sample that PyClick once carried: 56,477 pages of 20 queries, ten results each.
# Distinct clicked results count once a page; clicks on what is not on the page are left out.
REAL_CTR = (0.3074, 0.2510, 0.1769, 0.1497, 0.1078, 0.0811, 0.0733, 0.0538, 0.0565, 0.0518)
REAL_CLICKS_PER_PAGE = 1.3093
REAL_SHARES = (0.3190, 0.4023, 0.1287, 0.1500)  # of pages with 0, 1, 2, and 3 or more clicked results
REAL_SAMPLE = DATA / "yandex_pyclick_sample"


def figures(pages):
    """CTR by position, clicks per page, and shares of pages with 0, 1, 2, 3+ clicked results."""
    ctr, numbers = Counter(), Counter()
    for results, clicked in pages:
        positions = {results.index(url) for url in clicked if url in results}
        ctr.update(positions)
        numbers[min(len(positions), 3)] += 1
    count = sum(numbers.values())
    by_position = tuple(ctr[position] / count for position in range(10))
    return by_position, sum(by_position), tuple(numbers[number] / count for number in range(4))


def real_pages():
    for name in ("trainSample", "testSample"):
        text = (REAL_SAMPLE / name).read_text(encoding="utf-8")
        for page in text.replace("\n", ";").split(";"):
            if page.strip():
                shown, _, clicked = page.partition(":")
                results = shown.split("\t")[1].strip().split(",")
                yield results, [url.strip() for url in clicked.split(",") if url.strip()]


@pytest.mark.skipif(not REAL_SAMPLE.is_dir(), reason="the real sample is not here")
def test_the_figures_of_the_real_log_are_what_they_are_said_to_be():
    ctr, clicks_per_page, shares = figures(real_pages())
    assert ctr == pytest.approx(REAL_CTR, abs=1e-4)
    assert clicks_per_page == pytest.approx(REAL_CLICKS_PER_PAGE, abs=1e-4)
    assert shares == pytest.approx(REAL_SHARES, abs=1e-4)


def test_the_web_world_is_near_the_real_log_in_clicks_by_position_per_page_and_abandonment(usable, clicks):
    clicked = defaultdict(list)
    for click in clicks:
        clicked[click["search_id"]].append(click["url"])
    ctr, clicks_per_page, shares = figures(
        (search["results"], clicked[number]) for number, search in usable.items()
    )
    assert ctr == pytest.approx(REAL_CTR, abs=0.06)
    assert clicks_per_page == pytest.approx(REAL_CLICKS_PER_PAGE, abs=0.10)
    assert shares == pytest.approx(REAL_SHARES, abs=0.04)
