"""Click metrics of signals, and outcomes, against sessions that are listed one by one."""

import numpy as np
import polars as pl
import pytest

from clickassay.core.errors import PatternError, SettingsError
from clickassay.core.settings import load_settings
from clickassay.metrics.clicks import (
    SIGNAL_METRICS,
    PatternRows,
    click_metric_named,
    counted_clicks,
    is_click_metric,
    named_click,
    outcome_values,
    signal_of,
    signal_values,
)
from support.oracle.oracle_metrics import click_metric

DEPTH, LISTS = 4, 5


def sessions_of(rng):
    """Draw sessions: the list of each, and the mask of a signal in it, often none."""
    lists = np.concatenate([np.arange(LISTS), rng.integers(0, LISTS, 60)])
    masks = np.where(rng.random(len(lists)) < 0.6, 0, rng.integers(1, 1 << DEPTH, len(lists)))
    return lists, masks


def places(mask):
    return tuple(place for place in range(1, DEPTH + 1) if mask >> (place - 1) & 1)


@pytest.mark.parametrize("seed", range(5))
def test_a_signal_counts_in_all_sessions_and_most_have_none(seed):
    lists, masks = sessions_of(np.random.default_rng(seed))
    there = masks > 0
    rows = PatternRows(lists[there], masks[there], np.ones(int(there.sum()), np.int64))
    ones = np.ones(len(lists), np.int64)
    found = signal_values({"cart": rows}, lists, ones, size=LISTS, depth=DEPTH)
    assert found.names == tuple(f"{name}(signal='cart')" for name in SIGNAL_METRICS)
    for at, name in enumerate(SIGNAL_METRICS):
        for number in range(LISTS):
            grades = (0,) * DEPTH
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


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("both", r"write UCTR\(signal='both'\) .* or Mean\(outcome='both'\)"),
        ("starz", "unknown click metric 'starz'; did you mean stars"),
        ("Mean(outcome='purchase')", "unknown click metric"),
    ],
)
def test_a_name_of_both_or_of_none_is_refused(text, words):
    with pytest.raises(SettingsError, match=words):
        named_click(text, ("purchase", "both"), ("stars", "both"))


def test_several_click_metrics_are_given_with_commas_outside_brackets():
    settings = load_settings(click_metric="MeanRR, uctr(signal='purchase'),MeanRR")
    assert counted_clicks(settings) == ("MeanRR", "UCTR(signal='purchase')")
