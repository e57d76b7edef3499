"""Learns values of grades and positions from a finished run, and returns them as tables."""

import math
from pathlib import Path

import polars as pl

from clickassay.core.contracts.form import Column, Table
from clickassay.core.errors import LearningError
from clickassay.core.progress import Event, Progress, silent
from clickassay.core.records import ANY_SAMPLE, Floats, Sample, SampleChoice
from clickassay.core.text.words import did_you_mean
from clickassay.findings.arrays import graded_sample
from clickassay.findings.run import Run, run_at
from clickassay.metrics.catalogue import METRICS
from clickassay.metrics.definition import Measure, Value
from clickassay.metrics.names import parse
from clickassay.studies.gain_learning.gain_map import GainMap, Observations, Positions, paper_map
from clickassay.studies.gain_learning.validation import LearnOptions, Study, study

LEARNED_VALUES = Table(
    "learned_values",
    "one row per learned value",
    ("what", "place"),
    Column("what", pl.String, "R: probability that a grade satisfies; phi: utility of a position; gamma"),
    Column("place", pl.Int32, "the grade from 0, or the position from 1; 0 for gamma"),
    Column(
        "value", pl.Float64, "the learned value; R is in 0..1, phi(1) is 1; null if the log does not tell"
    ),
    Column(
        "ci_low", pl.Float64, "lower end of the 95% CI; null if the log does not tell, or shows no such grade"
    ),
    Column("ci_high", pl.Float64, "upper end of the 95% CI; null as ci_low"),
    Column("fixed", pl.Float64, "the value in ERR; null for gamma"),
    Column("n_configurations", pl.Int64, "configurations that show the grade or position"),
)

LEARNED_GAIN = Table(
    "learned_gain",
    "one row",
    ("click_metric", "objective"),
    Column("click_metric", pl.String, "one of CLICK_METRICS"),
    Column("objective", pl.String, "correlation: weighted correlation; rankers: closed form of Algorithm 3"),
    Column("fitted", pl.Float64, "agreement of the learned map on the queries it was learned from"),
    Column("fixed", pl.Float64, "agreement of ERR on them"),
    Column("held_out", pl.Float64, "agreement of the learned map on held-out folds, on average"),
    Column("held_out_low", pl.Float64, "lower end of its 95% CI; at or below 0 the log does not tell"),
    Column("held_out_high", pl.Float64, "upper end of its 95% CI"),
    Column("held_out_fixed", pl.Float64, "agreement of ERR on the same folds, on average"),
    Column("gain", pl.Float64, "held_out - held_out_fixed"),
    Column("ci_low", pl.Float64, "lower end of the 95% CI of the gain"),
    Column("ci_high", pl.Float64, "upper end of the 95% CI of the gain"),
    Column("reason", pl.String, "why nothing is learned; null if something is"),
)


def learn_from_run(
    place: Run | Path,
    options: LearnOptions,
    *,
    wanted: SampleChoice = ANY_SAMPLE,
    progress: Progress = silent,
) -> tuple[Sample, Study, GainMap]:
    """Learn the map of one market, depth and judge of a run; return the sample, the study, and ERR's map.

    Raises LearningError if the click metric is unknown, or queries or clicks do not suffice; ReportError.
    """
    progress(Event("reading the run"))
    run = run_at(place)
    graded = graded_sample(run, run.key(wanted))
    sample, fixed = graded.sample, paper_map(run.settings.max_grade, graded.sample.key.depth)
    click, grades = run.click_named(options.click_metric), graded.grades
    if click not in sample.every_click:
        known = did_you_mean(options.click_metric, sample.every_click)
        raise LearningError(f"unknown click metric {options.click_metric!r}; {known}")
    if click in sample.ratings:
        sample, grades = sample.rated(click), grades[sample.rated_rows(click)]
    values = sample.click_values[:, sample.click_names.index(click)]
    observed = Observations(grades, sample.query_index, sample.sessions.astype(float), values)
    return sample, study(observed, fixed, options, progress), fixed


def metric_of_map(gain_map: GainMap, positions: Positions) -> str:
    """Return ERR with a map's values as `metric` takes it; with utilities it ends in a cut, their depth."""
    arguments: dict[str, Value] = {"gains": _rounded(gain_map.probabilities)}
    depth = None
    if gain_map.gamma is not None:
        arguments["gamma"] = round(gain_map.gamma, 4)
    elif positions != "fixed":
        arguments["utilities"], depth = _rounded(gain_map.utilities), len(gain_map.utilities)
    return str(Measure(parse("ERR", METRICS).metric, tuple(arguments.items()), depth))


def _rounded(values: Floats) -> tuple[float, ...]:
    """Round values to four decimals, or more where the largest would have fewer than four digits."""
    largest = float(values.max())
    decimals = max(4, 3 - math.floor(math.log10(largest))) if largest > 0 else 4
    return tuple(round(float(value), decimals) for value in values)


def learned_tables(
    sample: Sample, learned: Study, fixed: GainMap, options: LearnOptions
) -> dict[str, pl.DataFrame]:
    """Return `LEARNED_VALUES` and `LEARNED_GAIN` by name."""
    everywhere = len(sample.sessions)
    of_grades = zip(fixed.probabilities, learned.configurations, strict=True)
    asked: list[tuple[str, int, float | None, int]] = [
        *(("R", grade, float(value), shown) for grade, (value, shown) in enumerate(of_grades)),
        *(("phi", place, float(value), everywhere) for place, value in enumerate(fixed.utilities, start=1)),
        *([("gamma", 0, None, everywhere)] if options.positions == "gamma" else []),
    ]
    learned_values = [*learned.probabilities, *learned.utilities, *([learned.gamma] if learned.gamma else [])]
    none: list[tuple[float | None, ...]] = [(None, None, None) for _ in asked]
    values = [(one.value, one.low, one.high) for one in learned_values] or none
    rows = [
        {
            "what": what, "place": place, "value": value, "ci_low": low, "ci_high": high, "fixed": of_err,
            "n_configurations": shown,
        }
        for (what, place, of_err, shown), (value, low, high) in zip(asked, values, strict=True)
    ]  # fmt: skip
    gain = {
        "click_metric": options.click_metric, "objective": options.objective,
        "fitted": learned.fitted, "fixed": learned.fixed,
        "held_out": learned.held_out.value, "held_out_low": learned.held_out.low,
        "held_out_high": learned.held_out.high, "held_out_fixed": learned.held_out_fixed,
        "gain": learned.gain.value, "ci_low": learned.gain.low, "ci_high": learned.gain.high,
        "reason": learned.reason,
    }  # fmt: skip
    return {
        "learned_values": LEARNED_VALUES.canonical(pl.DataFrame(rows, infer_schema_length=None)),
        "learned_gain": LEARNED_GAIN.canonical(pl.DataFrame([gain], schema_overrides={"reason": pl.String})),
    }
