"""Each law is read off the written log: mean click metric per configuration against its offline metric."""

from collections import Counter, defaultdict
from math import log2, sqrt

import pytest

from clickassay.inputs.simulate.simulation import simulate
from clickassay.inputs.simulate.worlds import WORLDS
from support.logs.simulated_log import CLICKS, EDITORIAL, rows, satisfies, shown_pages, truth_of

HOUR_MS = 3_600_000
EXACT_WORLDS = ("cascade", "rbp", "dcg", "rr", "null")
err, rbp, dcg = (EDITORIAL[name] for name in ("ERR", "RBP", "DCG"))
CHANCE_LAWS = ("cascade", "rbp", "dcg")


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    base = tmp_path_factory.mktemp("worlds")
    return {
        world: simulate(world, n_searches=50_000, n_queries=40, seed=11, out=base / world)
        for world in EXACT_WORLDS
    }


@pytest.fixture(scope="module")
def pages(folders):
    return {world: shown_pages(folder) for world, folder in folders.items()}


def cascade_variance(grades):
    """Variance of 1/r, r the position of the only click, 0 without one."""
    second, reached = 0.0, 1.0
    for position, grade in enumerate(grades, start=1):
        second += reached * satisfies(grade) / position**2
        reached *= 1 - satisfies(grade)
    return second - EDITORIAL["ERR"](grades) ** 2


def persistent_variance(grades, persistence=0.8):
    """Variance of the clicks: by the last position examined, the clicks are independent."""
    mean = second = 0.0
    depth = len(grades)
    for last in range(1, depth + 1):
        chance = persistence ** (last - 1) * ((1 - persistence) if last < depth else 1)
        seen = [satisfies(grade) for grade in grades[:last]]
        mean += chance * sum(seen)
        second += chance * (sum(r * (1 - r) for r in seen) + sum(seen) ** 2)
    return second - mean**2


def discounted_variance(grades):
    chances = [satisfies(grade) / log2(i + 1) for i, grade in enumerate(grades, start=1)]
    return sum(chance * (1 - chance) for chance in chances)


VARIANCE = {"cascade": cascade_variance, "rbp": persistent_variance, "dcg": discounted_variance}


def deviations(pages, click_metric, expected, variance, depth):
    """Standard deviations between observed and expected mean, per configuration of 30 or more searches."""
    found = []
    for page in pages:
        grades = page.grades[:depth]
        values = [click_metric([p for p in positions if p <= depth]) for positions in page.clicks]
        if len(values) >= 30 and variance(grades) > 0:
            error = sqrt(variance(grades) / len(values))
            found.append((sum(values) / len(values) - expected(grades)) / error)
    return found


@pytest.mark.parametrize("depth", [5, 10])
@pytest.mark.parametrize("world", CHANCE_LAWS)
def test_the_law_of_the_world_holds_within_sampling_error_in_every_configuration(
    world, depth, folders, pages
):
    law = truth_of(folders[world])["law"]
    metric = EDITORIAL[law["editorial_metric"]]
    z = deviations(
        pages[world],
        CLICKS[law["click_metric"]],
        lambda grades: law["factor"] * metric(grades),
        VARIANCE[world],
        depth,
    )
    assert len(z) >= 200
    # Were the law off by a hair in any direction, the mean or the spread of the deviations would show it.
    assert abs(sum(z)) / sqrt(len(z)) < 4
    assert sum(value**2 for value in z) / len(z) == pytest.approx(1, abs=5 * sqrt(2 / len(z)))
    assert max(map(abs, z)) < 5.5


@pytest.mark.parametrize(
    ("world", "click_metric", "wrong"),
    [
        ("cascade", "MeanRR", lambda grades: 1.03 * EDITORIAL["ERR"](grades)),
        ("rbp", "QCTR", lambda grades: 5.15 * EDITORIAL["RBP"](grades)),
        ("dcg", "QCTR", lambda grades: 1.03 * EDITORIAL["DCG"](grades) / 16),
        ("rbp", "QCTR", lambda grades: EDITORIAL["DCG"](grades) / 16),
    ],
)
def test_the_check_of_a_law_notices_a_law_that_is_three_percent_off(world, click_metric, wrong, pages):
    z = deviations(pages[world], CLICKS[click_metric], wrong, VARIANCE[world], 10)
    assert abs(sum(z)) / sqrt(len(z)) > 4


def test_max_rr_of_every_search_is_rr_in_the_world_rr(folders, pages):
    law = truth_of(folders["rr"])["law"]
    assert (law["click_metric"], law["editorial_metric"], law["factor"]) == ("MaxRR", "RR", 1.0)
    for page in pages["rr"]:
        for depth in (5, 10):
            value = EDITORIAL["RR"](page.grades[:depth])
            assert {CLICKS["MaxRR"]([p for p in positions if p <= depth]) for positions in page.clicks} == {
                value
            }


def test_clicks_of_the_null_world_depend_on_the_position_and_not_on_the_grade(folders, pages):
    parameters = truth_of(folders["null"])["parameters"]
    shown, clicked = Counter(), Counter()
    for page in pages["null"]:
        for position, grade in enumerate(page.grades, start=1):
            shown[position, grade] += len(page.clicks)
            clicked[position, grade] += sum(position in positions for positions in page.clicks)
    z = []
    for (position, grade), count in shown.items():
        chance = parameters["first"] * parameters["decay"] ** (position - 1)
        if count * chance > 20:
            z.append((clicked[position, grade] - count * chance) / sqrt(count * chance * (1 - chance)))
    assert len(z) >= 40
    assert max(map(abs, z)) < 4.5
    assert sum(value**2 for value in z) / len(z) == pytest.approx(1, abs=5 * sqrt(2 / len(z)))


@pytest.mark.parametrize("world", EXACT_WORLDS)
def test_every_search_of_a_world_with_an_exact_law_is_a_session_of_its_own(world, folders):
    times_of = defaultdict(list)
    for click in rows(folders[world] / "clicks.parquet"):
        times_of[click["search_id"]].append(click["timestamp"])
    by_user = defaultdict(list)
    for search in rows(folders[world] / "searches.parquet"):
        by_user[search["user_id"]].append(search)
    searches, sessions = 0, set()
    for user, made in by_user.items():
        visit, active = 0, float("-inf")
        for search in sorted(made, key=lambda row: (row["timestamp"], row["search_id"])):
            now = search["timestamp"]
            visit += now - active > HOUR_MS
            active = max(active, now, *times_of[search["search_id"]])
            sessions.add((user, visit, search["query"]))
            searches += 1
    assert searches == len(sessions) == truth_of(folders[world])["planted"]["sessions"] == 50_000


def test_worlds_of_the_same_seed_share_queries_documents_and_true_grades(folders):
    for file in ("judgments.parquet", "queries.parquet"):
        assert len({(folders[world] / file).read_bytes() for world in EXACT_WORLDS}) == 1


def test_the_web_comes_first_and_has_no_exact_law():
    assert list(WORLDS) == ["web", "cascade", "rbp", "dcg", "rr", "null"]
    assert WORLDS["web"].law.click_metric is None
