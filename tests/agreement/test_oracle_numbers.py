"""The numbers of the oracle (correlations, intervals, p-values) against hand-worked cases and SciPy."""

import itertools
import math
import random
import statistics

import pytest
from scipy import stats

from support.oracle.oracle_classes import click_entropies
from support.oracle.oracle_correlation import (
    Within,
    null_success,
    pooled_variance,
    weighted_noise,
    weighted_statistic,
    with_noise,
    within_noise,
)
from support.oracle.oracle_intervals import (
    caution,
    fisher_interval,
    holm,
    jackknife,
    p_value,
    queries_needed,
    ratio_interval,
    student_quantile,
    student_two_sided,
)
from support.oracle.oracle_metrics import CLICK_METRICS, Configuration
from support.oracle.oracle_tables import sign_agreement


def plain_rows(queries, x, y, sessions):
    """Return rows without noise of which ERR is x and every click metric y."""
    quiet = {"few": True, **{f"variance {click}": 0.0 for click in CLICK_METRICS}}
    return [
        {"query": query, "ERR": a, "n_sessions": n, **dict.fromkeys(CLICK_METRICS, b)} | quiet
        for query, a, b, n in zip(queries, x, y, sessions, strict=True)
    ]


def weighted(rows):
    return weighted_statistic(rows, ["ERR"]).correlations["UCTR", "ERR"]


def within(rows):
    return Within(rows, ["ERR"]).statistic(rows).correlations["UCTR", "ERR"]


def test_a_weight_is_a_number_of_equal_rows():
    x, y, weights = [0.1, 0.5, 0.2, 0.9], [3.0, 1.0, 4.0, 1.5], [1, 4, 2, 3]
    repeated = [[a for a, n in zip(values, weights, strict=True) for _ in range(n)] for values in (x, y)]
    expected = statistics.correlation(*repeated)
    assert weighted(plain_rows("qqqq", x, y, weights)) == pytest.approx(expected, abs=1e-12)
    assert weighted(plain_rows("qqqq", [0.1 * 3, 0.3, 0.3, 0.3], y, weights)) is None


def test_the_closed_form_is_algorithm_3_over_all_possible_draws():
    rng = random.Random(7)  # noqa: S311 - test data, not a secret
    queries = "aabbbcccc1"  # the last one has one configuration
    rows = plain_rows(queries, *([rng.random() for _ in queries] for _ in "xy"), [2] * 10)
    own = [[row for row in rows if row["query"] == query] for query in "abc"]
    draws = list(itertools.product(*(itertools.permutations(configurations, 2) for configurations in own)))
    deltas = [[sum(a[name] - b[name] for a, b in draw) / 3 for draw in draws] for name in ("ERR", "UCTR")]
    assert len(draws) == 2 * 6 * 12
    assert within(rows) == pytest.approx(statistics.correlation(*deltas), abs=1e-12)
    assert within(rows[-1:]) is None


def test_sign_agreement_is_that_of_the_normal_distribution():
    assert sign_agreement(0.0) == 0.5
    assert sign_agreement(1.0) == 1
    assert sign_agreement(-0.5) == pytest.approx(1 / 3)


def configuration(query, patterns, results=("a", "b"), grades=(0, 0)):
    return Configuration("all", query, results, grades, tuple(patterns), grades)


def noisy_rows(configurations, means):
    rows = [
        {"query": c.query, "ERR": place, "n_sessions": c.sessions, **dict.fromkeys(CLICK_METRICS, mean)}
        for place, (c, mean) in enumerate(zip(configurations, means, strict=True))
    ]
    return with_noise(rows, configurations, {})


def test_sampling_noise_is_taken_out_as_worked_by_hand():
    # nine of ten sessions clicked: s2 = 0.1; S_cc = 0.9^2 / 2 = 0.405, noise = (0.01 + 0) / 2
    configurations = [configuration("q", [(1,)] * 9 + [()]), configuration("q", [()] * 10)]
    rows = noisy_rows(configurations, (0.9, 0.0))
    assert within(rows) == pytest.approx(-1)
    assert within_noise(rows, "UCTR") == pytest.approx(0.005)
    found = Within(rows, ["ERR"]).statistic(rows)
    assert found.reliabilities["UCTR"] == pytest.approx(0.4 / 0.405, abs=1e-12)
    # weighted: half of all sessions each, so half of 0.1 + 0
    assert weighted_noise(rows, "UCTR") == pytest.approx(0.05)


def test_a_single_session_has_the_mean_variance_and_too_much_noise_leaves_no_value():
    # s2 = 1/3 of one half clicked by four, and 0 of three without a click: on average 1/6
    configurations = [
        configuration("q", [(1,), (1,), (), ()]),
        configuration("q", [(2,)]),
        configuration("alone", [()] * 3),
    ]
    rows = noisy_rows(configurations, (0.5, 1.0, 0.0))
    assert pooled_variance(rows, "UCTR") == pytest.approx(1 / 6)
    # S_cc = 0.5^2 / 2 = 0.125 and noise = (1/12 + 1/6) / 2 = 0.125
    assert within_noise(rows, "UCTR") == pytest.approx(0.125)
    assert Within(rows, ["ERR"]).statistic(rows).reliabilities["UCTR"] is None
    assert weighted_noise(rows, "UCTR") == pytest.approx(1 / 3 * 4 / 8 + 1 / 6 * 7 / 8)
    assert within_noise(noisy_rows(configurations[1:2] * 2, (1.0, 1.0)), "UCTR") is None


def test_the_null_success_looks_at_the_clicks_of_all_configurations():
    configurations = [
        configuration("q", [(1,), (1, 2), ()], grades=(0, 2)),
        configuration("r", [(2,)], grades=(3, 0)),
    ]
    assert null_success(configurations, {}) == [2 / 4, 2 / 4]
    assert null_success(configurations, {"success_grade": 3}) == [0, 2 / 4]


def test_students_distribution_is_that_of_scipy():
    for degrees in (1, 1.5, 2, 7.3, 80, 4000):
        for p in (0.975, 0.9995):
            assert student_quantile(p, degrees) == pytest.approx(stats.t.ppf(p, degrees), rel=1e-9)
        for t in (0, 0.3, -2.5, 12):
            assert student_two_sided(t, degrees) == pytest.approx(2 * stats.t.sf(abs(t), degrees), rel=1e-9)


def test_the_jackknife_as_worked_by_hand():
    # deviations -2, 1, 1 from the mean 3: squares 6, fourth powers 18; error^2 = 2/3 6; 18/36 - 1/3 = 1/6
    assert jackknife([1, 4, 4]) == pytest.approx((2, 2))
    assert jackknife([1, 2]) == pytest.approx((0.5, 1))
    assert jackknife([0.1 + 0.2, 0.3, 0.3]) == (0, None)
    assert jackknife([0.1, None, 0.3]) is None
    assert jackknife([0.1]) is jackknife([]) is None


def test_fishers_interval_as_worked_by_hand():
    # artanh 0.6 = ln(1.6/0.4)/2 = ln 2; without a query ln 2 -+ ln(1.5)/2: error ln(1.5)/2, t(1) = 12.7062
    left_out = [math.tanh(math.log(2) + sign * math.log(1.5) / 2) for sign in (-1, 1)]
    (low, high), degrees = fisher_interval(0.6, left_out)
    reach = 12.706204736 * math.log(1.5) / 2
    assert (low, high, degrees) == pytest.approx(
        (math.tanh(math.log(2) - reach), math.tanh(math.log(2) + reach), 1), rel=1e-9
    )
    assert fisher_interval(0.6, [0.5, 1 - 1e-12]) == ((None, None), None)


def test_the_interval_of_a_ratio_touches_the_limit():
    above, below = [3.1, 2.8, 3.0, 3.3], [4.0, 4.2, 3.9, 4.1]
    ends = ratio_interval(3.0, 4.0, above, below)
    _, degrees = jackknife([a / b for a, b in zip(above, below, strict=True)])
    for v in ends:
        error, _ = jackknife([a - v * b for a, b in zip(above, below, strict=True)])
        assert abs(3.0 - v * 4.0) == pytest.approx(stats.t.ppf(0.975, degrees) * error, rel=1e-9)
    assert ends[0] < 0.75 < ends[1]
    assert ratio_interval(3.0, 0.1, above, [0.1, 0.4, -0.3, 0.2]) == (None, None)


def test_p_values_holm_and_queries_needed_as_worked_by_hand():
    assert p_value(12.706204736, (1.0, 1)) == pytest.approx(0.05)
    assert (p_value(0, (0.0, None)), p_value(0.1, (0.0, None)), p_value(0.1, None)) == (1, None, None)
    assert holm([0.03, None, 0.01, 0.02, 0.9]) == pytest.approx([0.06, None, 0.04, 0.06, 0.9])
    # ten queries, 1.95996 + 0.84162 errors of 0.1 for a difference of 0.1
    assert queries_needed(0.1, (0.1, 1e9), 10, 1) == pytest.approx(10 * 2.80158**2, rel=1e-4)
    assert queries_needed(0.0, (0.1, 9), 10, 1) is None


def test_cautions_name_the_first_trouble():
    assert caution(None, None, 3) is None
    assert caution(0.5, None, 80) == "no interval: too few queries vary"
    assert caution(0.5, 0.1, 49, heavy=True) == "fewer than 50 queries"
    heavy = "a few very frequent queries dominate, and similar ones may be missing from the log"
    assert caution(0.5, 0.1, 50, heavy=True) == heavy
    assert caution(0.5, 0.1, 50) is None


def test_click_entropy_is_over_the_urls_of_all_configurations_of_a_query():
    configurations = [
        configuration("q", [(1,), (1, 2)]),
        configuration("q", [(2,), ()], results=("c", "a")),
        configuration("none", [()]),
    ]
    # a was clicked in three sessions, b in one
    expected = {"q": 0.75 * math.log2(4 / 3) + 0.25 * 2, "none": 0}
    assert click_entropies(configurations) == pytest.approx(expected, abs=1e-12)
