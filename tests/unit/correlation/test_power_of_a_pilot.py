"""What it takes to detect a difference: against simulation, and against the textbook formula."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import chi2, norm, t

from clickassay.core.errors import SettingsError
from clickassay.correlation.comparisons import comparisons, within_comparisons
from clickassay.correlation.uncertainty.power import (
    Pilot,
    pilot_of,
    required_sizes,
    session_noise,
    smallest_difference,
    within_pilot,
    within_session_noise,
)
from clickassay.correlation.within.groups import all_markets, query_groups
from support.one_correlation import within

SIZE = {"queries": 400, "configurations": 1000, "sessions": 30_000}


def of_lists(samples):
    """Return what sessions add to the squared error within queries."""
    return within_session_noise(all_markets(query_groups(samples)))


PLAIN = Pilot(0.05, 0.02, 1e9, **SIZE, ci_low=0.01, ci_high=0.09, noise=0.5, noise_low=0.5, noise_high=0.5)


def test_queries_follow_the_textbook_formula():
    (need,) = required_sizes(PLAIN, 0.05, (1.0,), alpha=0.05, power=0.8)
    expected = 400 * ((t.ppf(0.975, 399) + norm.ppf(0.8)) * 0.02 / 0.05) ** 2
    assert need.queries == math.ceil(expected)
    assert need.configurations == math.ceil(need.queries * 1000 / 400)
    assert need.sessions == math.ceil(need.queries * 30_000 / 400)


def test_more_sessions_save_the_part_of_queries_that_is_due_to_them():
    queries = [need.queries for need in required_sizes(PLAIN, 0.05, (0.5, 1, 2), alpha=0.05, power=0.8)]
    assert queries[0] / queries[1] == pytest.approx(1.5, rel=0.01)
    assert queries[2] / queries[1] == pytest.approx(0.75, rel=0.01)


def test_lists_are_counted_only_for_logs_as_long_as_the_pilot():
    needs = required_sizes(PLAIN, 0.05, (0.5, 1, 2), alpha=0.05, power=0.8)
    assert [need.configurations is None for need in needs] == [True, False, True]


def test_the_range_follows_from_the_uncertainty_of_the_squared_error():
    ten = replace(PLAIN, degrees=10.0, noise=0.9)
    same, longer = required_sizes(ten, 1e-3, (1, 4), alpha=0.05, power=0.8)
    low, high = 10 / chi2.ppf(0.975, 10), 10 / chi2.ppf(0.025, 10)  # 0.49 and 3.08
    estimate = 400 * ((t.ppf(0.975, 20) + norm.ppf(0.8)) * 0.02 / 1e-3) ** 2
    assert [same.fewest / estimate, same.most / estimate] == pytest.approx([low, high], rel=1e-4)
    # at the lower end all of it is due to sessions: a log four times as long needs a quarter
    expected = [low / 4, high - 0.9 * 3 / 4]
    assert [longer.fewest / estimate, longer.most / estimate] == pytest.approx(expected, rel=1e-4)
    surely = same.queries / estimate
    assert longer.queries / estimate == pytest.approx(surely - 0.9 * 3 / 4, rel=1e-4)


@pytest.mark.parametrize(("degrees", "power"), [(6.0, 0.8), (25.0, 0.9), (200.0, 0.5)])
def test_the_power_is_the_mean_over_the_errors_that_there_may_be(degrees, power):
    pilot = replace(PLAIN, degrees=degrees)
    (need,) = required_sizes(pilot, 1e-3, (1.0,), alpha=0.05, power=power)
    squared_errors = 0.02**2 * degrees / chi2.rvs(degrees, size=200_000, random_state=1)
    threshold = t.ppf(0.975, min(2 * degrees, 399))
    found = norm.cdf(1e-3 * np.sqrt(need.queries / 400 / squared_errors) - threshold)
    assert found.mean() == pytest.approx(power, abs=0.003)
    smallest = smallest_difference(pilot, alpha=0.05, power=power)
    (again,) = required_sizes(pilot, smallest, (1.0,), alpha=0.05, power=power)
    assert again.queries == pytest.approx(400, abs=2)


def drawn(make_sample, rng, queries, per_configuration):
    """Two configurations a query; the second metric is a noisier view of what users want than the first."""
    size = 2 * queries
    sample = make_sample(0, queries=queries, configurations=size, clicks=1, editorial=2)
    wanted = rng.normal(size=queries).repeat(2) + rng.normal(size=size)
    chance = 1 / (1 + np.exp(-0.6 * wanted))
    sessions = np.maximum(2, rng.poisson(per_configuration, size))
    clicked = rng.binomial(sessions, chance) / sessions
    variance = clicked * (1 - clicked) * sessions / (sessions - 1)
    metrics = wanted[:, None] + rng.normal(size=(size, 2)) * (0.8, 1.2)
    return replace(
        sample,
        query_index=np.arange(queries).repeat(2),
        sessions=sessions,
        click_values=clicked[:, None],
        click_variances=variance[:, None],
        editorial_values=metrics,
    )


@pytest.mark.slow
@pytest.mark.parametrize("factor", [1, 4])
def test_the_stated_power_is_reached_with_the_required_queries(make_sample, factor):
    rng = np.random.default_rng(12)
    pilots = [pilot_of(drawn(make_sample, rng, 400, 5), "C0", "E0", "E1") for _ in range(12)]
    mean = replace(
        pilots[0],
        difference=float(np.mean([pilot.difference for pilot in pilots])),
        error=float(np.mean([pilot.error for pilot in pilots])),
        noise=float(np.mean([pilot.noise for pilot in pilots])),
    )
    (need,) = required_sizes(mean, mean.difference, (factor,), alpha=0.05, power=0.8)
    tests = [
        comparisons(drawn(make_sample, rng, need.queries, 5 * factor)).row(0, named=True) for _ in range(200)
    ]
    detected = np.mean([row["p_value"] < 0.05 and row["difference"] > 0 for row in tests])
    assert 0.68 <= detected <= 0.92  # 0.8 with its own error, and that of the pilots


def single_sessions(sample, rng):
    """Return (N, n) clicks of single sessions, 0 or 1, whose means the sample has; row by row."""
    counts = np.rint(sample.click_values[:, 0] * sample.sessions).astype(int)
    pairs = zip(counts, sample.sessions, strict=True)
    return [rng.permutation(np.arange(total) < clicked) for clicked, total in pairs]


def thinned(sample, part, rng):
    """Keep each session with this chance."""
    kept = [row[rng.random(len(row)) < part] for row in single_sessions(sample, rng)]
    some = np.array([len(row) > 0 for row in kept])
    sizes, clicked = (np.array([measure(row) for row in kept if len(row)]) for measure in (len, np.mean))
    with np.errstate(invalid="ignore", divide="ignore"):
        variance = np.where(sizes > 1, clicked * (1 - clicked) * sizes / (sizes - 1), np.nan)
    numbers, index = np.unique(sample.query_index[some], return_inverse=True)
    return replace(
        sample,
        queries=tuple(f"{number:04}" for number in numbers),
        query_index=index,
        sessions=sizes,
        click_values=clicked[:, None],
        click_variances=variance[:, None],
        null_success=sample.null_success[some],
        editorial_values=sample.editorial_values[some],
        configuration_ids=sample.configuration_ids.filter(some),
        click_entropy=np.zeros(len(numbers)),
    )


def difference_of(sample, clicks, weights):
    """Return the difference of two weighted correlations, sessions one by one with weights of their own."""
    n = np.array([row.sum() for row in weights])
    y = np.array([(row * of).sum() for row, of in zip(weights, clicks, strict=True)]) / n
    clicked = y - np.average(y, weights=n)
    found = []
    for column in sample.editorial_values.T:
        x = column - np.average(column, weights=n)
        found.append((n * x * clicked).sum() / math.sqrt((n * x**2).sum() * (n * clicked**2).sum()))
    return found[0] - found[1]


def test_what_sessions_add_is_the_sum_of_squares_of_what_each_changes(make_sample):
    rng = np.random.default_rng(8)
    sample = thinned(drawn(make_sample, rng, 20, 4), 0.7, rng)  # with lists of one session
    assert (sample.sessions == 1).any()
    clicks = [row.astype(float) for row in single_sessions(sample, rng)]
    ones = [np.ones(len(row)) for row in clicks]
    changes = []
    for row, of in enumerate(ones):
        for place in range(len(of)):
            ends = []
            for step in (1e-5, -1e-5):
                moved = [one.copy() for one in ones]
                moved[row][place] += step
                ends.append(difference_of(sample, clicks, moved))
            changes.append((ends[0] - ends[1]) / 2e-5)
    assert session_noise(sample) == pytest.approx(np.sum(np.square(changes)), rel=1e-6)


def difference_within(sample):
    """The difference of two correlations within queries, by plain loops."""
    every = np.full(len(sample.sessions), True)
    return within(sample, every, 0, 0) - within(sample, every, 0, 1)


def redrawn(sample, chances, means, rng):
    """The lists of a sample with sessions and clicks drawn anew."""
    sessions = np.maximum(2, rng.poisson(means))
    clicked = rng.binomial(sessions, chances) / sessions
    variance = clicked * (1 - clicked) * sessions / (sessions - 1)
    return replace(
        sample, sessions=sessions, click_values=clicked[:, None], click_variances=variance[:, None]
    )


@pytest.mark.slow
def test_what_sessions_add_within_queries_is_the_variance_over_logs_with_other_sessions(make_sample):
    rng = np.random.default_rng(8)
    lists = drawn(make_sample, rng, 40, 5)
    chances, means = rng.uniform(0.1, 0.9, 80), rng.uniform(8, 40, 80)
    logs = [redrawn(lists, chances, means, rng) for _ in range(800)]
    variance = np.var([difference_within(log) for log in logs])
    noise = [of_lists([log]) for log in logs[:50]]
    assert np.mean(noise) == pytest.approx(variance, rel=0.1)
    other = replace(lists, key=replace(lists.key, market="other"))
    # the same lists in two markets: each session counts for half
    assert of_lists([lists, other]) == pytest.approx(of_lists([lists]) / 2)


def test_lists_with_one_session_have_the_variance_of_lists_with_few(make_sample):
    rng = np.random.default_rng(9)
    sample = thinned(drawn(make_sample, rng, 200, 4), 0.5, rng)
    assert (sample.sessions == 1).sum() > 50
    noise = of_lists([sample])
    alone = replace(
        sample, click_variances=np.where(sample.sessions[:, None] == 1, 0.0, sample.click_variances)
    )
    assert noise == of_lists([alone])  # what a list with one session says of it is not read
    assert 0 < noise < within_pilot([sample], "C0", "E0", "E1").error ** 2 * 1.5


def test_a_pilot_within_queries_has_the_difference_of_its_table_and_only_queries_with_two_lists(make_sample):
    rng = np.random.default_rng(3)
    sample = thinned(drawn(make_sample, rng, 150, 2), 0.4, rng)
    pilot = within_pilot([sample], "C0", "E0", "E1")
    row = within_comparisons(query_groups([sample])[0]).row(0, named=True)
    assert pilot.difference == pytest.approx(row["difference"], abs=1e-12)
    assert [pilot.error, pilot.degrees] == pytest.approx([row["error"], row["degrees"]], rel=1e-12)
    assert [pilot.ci_low, pilot.ci_high] == pytest.approx([row["ci_low"], row["ci_high"]], abs=1e-12)
    counts = np.bincount(sample.query_index)
    in_groups = counts[sample.query_index] >= 2
    assert 50 < pilot.queries == (counts >= 2).sum() < len(sample.queries)
    assert (pilot.configurations, pilot.sessions) == (in_groups.sum(), sample.sessions[in_groups].sum())
    alone = replace(
        sample, query_index=np.arange(len(sample.sessions)), queries=tuple(sample.configuration_ids)
    )
    with pytest.raises(SettingsError, match="no query has two fully judged rankings"):
        within_pilot([alone], "C0", "E0", "E1")


def test_the_pilot_has_the_difference_of_the_table_and_its_error(make_sample):
    sample = drawn(make_sample, np.random.default_rng(3), 150, 20)
    pilot = pilot_of(sample, "C0", "E0", "E1")
    row = comparisons(sample).row(0, named=True)
    assert pilot.difference == pytest.approx(row["difference"], abs=1e-12)
    assert [pilot.ci_low, pilot.ci_high] == pytest.approx([row["ci_low"], row["ci_high"]], abs=1e-12)
    assert 1.9 * pilot.error < row["ci_high"] - row["difference"] < 2.2 * pilot.error
    assert (pilot.queries, pilot.configurations) == (150, 300)
    turned = pilot_of(sample, "C0", "E1", "E0")
    assert turned.difference == pytest.approx(-pilot.difference)


def test_a_difference_without_spread_is_refused(make_sample):
    sample = drawn(make_sample, np.random.default_rng(3), 30, 20)
    same = replace(sample, editorial_values=sample.editorial_values[:, [0, 0]])
    with pytest.raises(SettingsError, match="no standard error"):
        pilot_of(same, "C0", "E0", "E1")
