"""Click metrics against loops over positions and lists of single sessions, of signals and outcomes too."""

import math
import statistics
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.stats import entropy

from clickassay.core.errors import PatternError, SettingsError
from clickassay.core.settings import load_settings
from clickassay.metrics.clicks import (
    CLICK_METRICS,
    CLICKS,
    SIGNAL_METRICS,
    PatternRows,
    click_entropy,
    click_metric_named,
    click_values,
    counted_clicks,
    is_click_metric,
    named_click,
    outcome_values,
    search_success,
    signal_of,
    signal_values,
)
from support.oracle.oracle_metrics import click_metric

BY_NAME = {metric.name: metric.function for metric in CLICKS}
POSITIONS = st.sets(st.integers(1, 62), max_size=62)


def mask_of(positions):
    return sum(2 ** (position - 1) for position in positions)


def value(name, positions):
    return BY_NAME[name](np.array([mask_of(positions)], dtype=np.int64))[0]


def by_definition(positions):
    """Method 5, in exact fractions."""
    clicked = sorted(positions)
    if not clicked:
        return dict.fromkeys(("QCTR", "UCTR", "MaxRR", "MinRR", "MeanRR", "PLC"), Fraction(0))
    count = len(clicked)
    return {
        "QCTR": Fraction(count),
        "UCTR": Fraction(1),
        "MaxRR": Fraction(1, clicked[0]),
        "MinRR": Fraction(1, clicked[-1]),
        "MeanRR": sum(Fraction(1, position) for position in clicked) / count,
        "PLC": Fraction(count, clicked[-1]),
    }


@given(POSITIONS)
@example(set())
def test_every_metric_equals_its_definition_in_fractions_down_to_position_62(positions):
    for name, exact in by_definition(positions).items():
        assert value(name, positions) == pytest.approx(float(exact), rel=4e-15), name


@given(POSITIONS, POSITIONS)
def test_search_success_means_that_a_clicked_result_is_good(clicked, good):
    success = search_success(np.array([mask_of(clicked)]), np.array([mask_of(good)]))[0]
    assert success == float(len(clicked & good) > 0)


DEPTH = 5
PATTERNS = st.lists(
    st.tuples(st.integers(0, 2**DEPTH - 1), st.integers(1, 7)),
    min_size=1,
    max_size=6,
    unique_by=lambda p: p[0],
)
WORLDS = st.lists(st.tuples(PATTERNS, st.integers(0, 2**DEPTH - 1)), min_size=1, max_size=5)


def session_values(mask, good):
    """The seven metrics of one session in their order, from a list of positions."""
    exact = by_definition(position for position in range(1, 63) if mask >> (position - 1) & 1)
    return [float(mask & good > 0) if name == "SS" else float(exact[name]) for name in CLICK_METRICS]


def rows_of(world):
    rows = [(index, mask, n) for index, (patterns, _) in enumerate(world) for mask, n in sorted(patterns)]
    return (*np.array(rows, dtype=np.int64).T, np.array([good for _, good in world], dtype=np.int64))


def compute(rows, order=slice(None), depth=DEPTH):
    configuration, masks, sessions, good = rows
    return click_values(configuration[order], masks[order], sessions[order], good, depth=depth)


@settings(max_examples=40)
@given(WORLDS)
def test_means_and_variances_are_those_of_the_list_of_sessions(world):
    found = compute(rows_of(world))
    for index, (patterns, good) in enumerate(world):
        sessions = [session_values(mask, good) for mask, n in patterns for _ in range(n)]
        assert found.sessions[index] == len(sessions)
        for column, values in enumerate(zip(*sessions, strict=True)):
            assert found.means[index, column] == pytest.approx(statistics.mean(values), rel=1e-14)
            if len(sessions) == 1:
                assert math.isnan(found.variances[index, column])
            else:
                expected = statistics.variance(values)
                assert found.variances[index, column] == pytest.approx(expected, rel=1e-12, abs=1e-30)


@settings(max_examples=40)
@given(WORLDS, st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_change_a_bit(world, random):
    rows = rows_of(world)
    order = list(range(len(rows[0])))
    random.shuffle(order)
    plain, shuffled = compute(rows), compute(rows, order)
    assert plain.means.tobytes() == shuffled.means.tobytes()
    assert plain.variances.tobytes() == shuffled.variances.tobytes()


@given(WORLDS)
def test_spreading_sessions_over_several_rows_does_not_change_a_bit(world):
    configuration, masks, sessions, good = rows_of(world)
    spread = (
        np.repeat(configuration, sessions),
        np.repeat(masks, sessions),
        np.ones(sessions.sum(), int),
        good,
    )
    plain, single = compute((configuration, masks, sessions, good)), compute(spread)
    assert plain.means.tobytes() == single.means.tobytes()
    assert plain.variances.tobytes() == single.variances.tobytes()


@given(st.integers(1, 10**9), st.integers(1, 10**9), st.integers(1, 62))
def test_a_metric_that_is_the_same_in_all_sessions_has_exactly_that_mean_and_no_variance(a, b, position):
    mask = 2 ** (position - 1)
    found = click_values(
        np.array([0, 1]), np.array([mask, mask]), np.array([a, b]), np.zeros(2, int), depth=62
    )
    maxrr = CLICK_METRICS.index("MaxRR")
    assert found.means[:, maxrr].tolist() == [1 / position, 1 / position]
    assert all(variance == 0 or math.isnan(variance) for variance in found.variances[:, maxrr])


def test_a_deep_table_gives_the_same_values_as_a_shallow_one_where_both_can():
    rng = np.random.default_rng(5)
    pairs = np.unique(rng.integers(0, [50, 1024], size=(800, 2)), axis=0)
    pairs = np.unique(np.concatenate([pairs, np.stack([np.arange(50), np.zeros(50, int)], axis=1)]), axis=0)
    rows = (pairs[:, 0], pairs[:, 1], rng.integers(1, 9, len(pairs)), rng.integers(0, 1024, 50))
    shallow, deep = compute(rows, depth=10), compute(rows, depth=40)
    assert shallow.means.tobytes() == deep.means.tobytes()


def test_no_configuration_gives_empty_arrays():
    none = np.zeros(0, dtype=np.int64)
    found = click_values(none, none, none, none, depth=5)
    assert found.means.shape == found.variances.shape == (0, 7)


@pytest.mark.parametrize(
    ("configuration", "masks", "sessions", "good", "depth", "complaint"),
    [
        ([0], [32], [1], [0], 5, "click mask 32 does not fit depth 5"),
        ([0], [-1], [1], [0], 5, "click mask -1"),
        ([0], [1], [0], [0], 5, "0 sessions"),
        ([1], [1], [1], [0], 5, "outside the 1 configurations"),
        ([-1], [1], [1], [0], 5, "outside the 1 configurations"),
        ([0], [1], [1], [0, 0], 5, "1 of 2 configurations have no pattern row"),
        ([0], [1], [1], [0], 63, "expected 1..62"),
    ],
)
def test_rows_that_cannot_be_are_refused(configuration, masks, sessions, good, depth, complaint):
    columns = [np.array(column, dtype=np.int64) for column in (configuration, masks, sessions, good)]
    with pytest.raises(PatternError, match=complaint):
        click_values(*columns, depth=depth)


CLICKED = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5), st.integers(0, 20)), max_size=12)


@given(CLICKED)
def test_click_entropy_is_scipys_entropy_in_bits_of_the_summed_clicks(rows):
    table = np.zeros((4, 6))
    for query, url, clicks in rows:
        table[query, url] += clicks
    columns = np.array(rows, dtype=np.int64).reshape(-1, 3).T
    found = click_entropy(*columns, queries=4)
    expected = [entropy(row, base=2) if row.sum() else 0.0 for row in table]
    np.testing.assert_allclose(found, expected, atol=1e-14)


@given(CLICKED, st.permutations(range(6)), st.randoms(use_true_random=False))
def test_click_entropy_knows_neither_the_order_of_rows_nor_the_numbers_of_urls(rows, renumbered, random):
    shuffled = [(query, renumbered[url], clicks) for query, url, clicks in rows]
    random.shuffle(shuffled)
    plain, other = (
        click_entropy(*np.array(each, dtype=np.int64).reshape(-1, 3).T, queries=4)
        for each in (rows, shuffled)
    )
    assert plain.tobytes() == other.tobytes()


@pytest.mark.parametrize(("query", "clicks"), [(0, -1), (2, 1), (-1, 1)])
def test_click_entropy_refuses_negative_clicks_and_unknown_queries(query, clicks):
    with pytest.raises(PatternError, match="must not be negative"):
        click_entropy(np.array([query]), np.array([0]), np.array([clicks]), queries=2)


PLACES, LISTS = 4, 5


def sessions_of(rng):
    """Draw sessions: the list of each, and the mask of a signal in it, often none."""
    lists = np.concatenate([np.arange(LISTS), rng.integers(0, LISTS, 60)])
    masks = np.where(rng.random(len(lists)) < 0.6, 0, rng.integers(1, 1 << PLACES, len(lists)))
    return lists, masks


def places(mask):
    return tuple(place for place in range(1, PLACES + 1) if mask >> (place - 1) & 1)


@pytest.mark.parametrize("seed", range(5))
def test_a_signal_counts_in_all_sessions_and_most_have_none(seed):
    lists, masks = sessions_of(np.random.default_rng(seed))
    there = masks > 0
    rows = PatternRows(lists[there], masks[there], np.ones(int(there.sum()), np.int64))
    ones = np.ones(len(lists), np.int64)
    found = signal_values({"cart": rows}, lists, ones, size=LISTS, depth=PLACES)
    assert found.names == tuple(f"{name}(signal='cart')" for name in SIGNAL_METRICS)
    for at, name in enumerate(SIGNAL_METRICS):
        for number in range(LISTS):
            grades = (0,) * PLACES
            own = [click_metric(name, places(mask), grades, 0) for mask in masks[lists == number]]
            assert found.means[number, at] == pytest.approx(np.mean(own), abs=1e-12)
            variance = np.var(own, ddof=1) if len(own) > 1 else np.nan
            assert found.variances[number, at] == pytest.approx(variance, abs=1e-12, nan_ok=True)


def test_more_sessions_with_a_signal_than_there_are_is_an_error():
    rows = PatternRows(np.array([0]), np.array([1]), np.array([3]))
    with pytest.raises(PatternError, match="more sessions have the signal cart than there are"):
        signal_values({"cart": rows}, np.array([0]), np.array([2]), size=1, depth=2)


@pytest.mark.parametrize("seed", range(5))
def test_an_outcome_has_mean_and_variance_over_all_sessions_to_the_digit(seed):
    rng = np.random.default_rng(seed)
    lists = np.concatenate([np.arange(LISTS), rng.integers(0, LISTS, 40)])
    values = np.where(rng.random(len(lists)) < 0.7, 0, rng.integers(-(10**9), 10**12, len(lists)))
    rows = [
        {
            "n": number,
            "outcome": "revenue",
            "total": sum(map(int, own[own != 0])),
            "total_of_squares": sum(int(one) ** 2 for one in own[own != 0]),
        }
        for number in range(LISTS)
        if (own := values[lists == number]).any()
    ]
    frame = pl.DataFrame(
        rows,
        schema={
            "n": pl.Int64, "outcome": pl.Enum(["revenue"]), "total": pl.Decimal(38, 0),
            "total_of_squares": pl.Decimal(38, 0),
        },
    )  # fmt: skip
    counts = np.bincount(lists)
    found = outcome_values(frame, counts)
    for number in range(LISTS):
        own = values[lists == number] / 1000
        assert found.means[number, 0] == pytest.approx(own.mean(), rel=1e-12, abs=1e-12)
        variance = np.var(own, ddof=1) if len(own) > 1 else np.nan
        assert found.variances[number, 0] == pytest.approx(variance, rel=1e-9, abs=1e-12, nan_ok=True)
    assert outcome_values(None, counts).names == ()


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("uctr", "UCTR"),
        ("MeanRR(signal='satisfied')", "MeanRR(signal='satisfied')"),
        ('meanrr( signal = "Add_To_Cart" )', "MeanRR(signal='add_to_cart')"),
        ("UCTR(signal=purchase)", "UCTR(signal='purchase')"),
    ],
)
def test_names_of_click_metrics_are_read_in_any_spelling(text, name):
    assert click_metric_named(text) == name
    assert is_click_metric(name)


@pytest.mark.parametrize("text", ["SS(signal='cart')", "ERR", "MeanRR(x=1)", "MeanRR(signal=)"])
def test_other_names_are_refused(text):
    assert signal_of(text) is None
    with pytest.raises(SettingsError, match="click metric"):
        click_metric_named(text)


@pytest.mark.parametrize(
    ("text", "full", "name"),
    [
        ("Purchase", "UCTR(signal='purchase')", "UCTR(signal='purchase')"),
        (" stars", "Mean(outcome='stars')", "stars"),
        ("mean( outcome = Stars )", "Mean(outcome='stars')", "stars"),
        ("Mean(outcome='both')", "Mean(outcome='both')", "both"),
        ("meanrr", "MeanRR", "MeanRR"),
    ],
)
def test_actions_and_outcomes_are_click_metrics_by_their_names(text, full, name):
    assert named_click(text, ("purchase", "both"), ("stars", "both")) == full
    assert click_metric_named(full) == name
    assert named_click(full, ("purchase", "both"), ("stars", "both")) == full


def test_several_click_metrics_are_given_with_commas_outside_brackets():
    settings = load_settings(click_metric="MeanRR, uctr(signal='purchase'),MeanRR")
    assert counted_clicks(settings) == ("MeanRR", "UCTR(signal='purchase')")
