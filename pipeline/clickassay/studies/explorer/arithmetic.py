"""The arithmetic of a metric's value, step by step, for one configuration.

The steps show a formula with its numbers. The value itself is the run's, computed by ``clickassay.metrics``:
the page shows both, and tests check that the steps give it.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from clickassay.core.errors import SettingsError
from clickassay.core.records import Floats, Integers
from clickassay.core.settings import Settings
from clickassay.metrics.catalogue import METRICS, MODEL_METRICS, shown_pool
from clickassay.metrics.clicks import CLICKS
from clickassay.metrics.definition import Measure, Metric, given_arguments
from clickassay.metrics.editorial import discount, grade_gains, ideal_gains, ideal_grades, satisfaction
from clickassay.metrics.names import parse

ROUNDING = 1e-9
"""Relative difference below which two values are the same number."""

Totals = tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class Arithmetic:
    """The computation of a metric's value for one configuration."""

    # metric, line: Its name as in the run, and its definition in one line.
    metric: str
    line: str
    formula: str  # Its formula, in one line.
    steps: pl.DataFrame  # One row per rank (editorial metrics) or per click pattern (click metrics).
    totals: Totals  # From the steps to the value: pairs (text, number); the last one is the value.
    note: str = ""  # A sentence on limits of these numbers; '' if there are none.

    @property
    def value(self) -> float:
        """The value that the steps give."""
        return self.totals[-1][1]


@dataclass(frozen=True)
class GradedConfiguration:
    """The inputs of the editorial metrics of one configuration."""

    grades: Integers  # (k,) grades, best position first.
    # (g_max + 1,) number of distinct results of the query by grade, among the results that the run shows.
    seen: Integers
    stored: Mapping[str, float]  # Values in the run, by the name of the metric.


@dataclass(frozen=True)
class _Ranked:
    """Grades cut to the depth of a measure, with its pool, settings and stored value."""

    measure: Measure
    grades: Integers
    pool: Integers
    settings: Settings
    stored: float

    @property
    def given(self) -> dict[str, Any]:
        return given_arguments(self.measure, self.settings)

    @property
    def ranks(self) -> Integers:
        return np.arange(1, len(self.grades) + 1)

    @property
    def relevant(self) -> Integers:
        relevant: Integers = (self.grades >= self.given["rel"]).astype(np.int64)
        return relevant

    @property
    def knows_pool(self) -> bool:
        """Whether the pool gives the run's value; False for a value of 0, which many pools give."""
        if self.settings.pool == "shown":
            return True
        size = len(self.grades)
        arrays = {"grades": self.grades[None], "pool": self.pool[None], "size": size, "deepest": size}
        return self.stored > 0 and _same(self.measure.compute(arrays, self.settings)[0], self.stored)


_Columns = dict[str, NDArray[Any]]
_Steps = tuple[str, _Columns, Totals, str]
"""Formula, columns after rank and grade, totals, note."""


def editorial_arithmetic(name: str, graded: GradedConfiguration, settings: Settings) -> Arithmetic:
    """Return the computation of the editorial metric `name`.

    Raises SettingsError if there is no such metric.
    """
    measure = parse(name, METRICS)
    metric = measure.metric
    cut = graded.grades[: measure.depth]
    pool = shown_pool(cut[None], settings.max_grade)[0] if settings.pool == "shown" else graded.seen
    ranked = _Ranked(measure, cut, pool, settings, graded.stored[name])
    spell = _STEPS.get(metric.name)
    if spell is None or _WITHOUT_STEPS & {(metric.name, parameter) for parameter, _ in measure.arguments}:
        formula, columns, totals, note = _stored_value(name, metric, ranked.stored)
    else:
        formula, columns, totals, note = spell(ranked)
    steps = pl.DataFrame({"rank": ranked.ranks, "grade": cut.astype(np.int64), **columns})
    return Arithmetic(name, metric.line, formula, steps, totals, note)


def _stored_value(name: str, metric: Metric, stored: float) -> _Steps:
    if metric in MODEL_METRICS:
        formula = "MeanRR expected from the click model: over all click patterns, by their probabilities"
        unkept = "The model was fitted when the run was made; a run does not keep it"
        return formula, {}, (("expected MeanRR", stored),), f"{unkept}, so the value is the run's."
    note = f"There are no steps for this measure ({metric.source}); the value is the run's."
    return metric.line, {}, ((name, stored),), note


def _dcg(ranked: _Ranked) -> _Steps:
    gains = ranked.given["gains"]
    gain, listed = ("(2^g - 1)", "") if gains is None else ("gain(g)", f", {_list_values('gain', gains)}")
    columns = _gain_columns(_gains(ranked), gains is None)
    return f"Σ {gain} / log2(rank + 1){listed}", columns, _sum("DCG", columns["gain / discount"]), ""


def _list_values(what: str, values: tuple[float, ...]) -> str:
    """Return ``what(0..2) = 0, 1, 3``."""
    return f"{what}(0..{len(values) - 1}) = {', '.join(f'{value:g}' for value in values)}"


def _gains(ranked: _Ranked) -> Floats:
    grades = ranked.grades
    return grade_gains("exp-log2", int(grades.max(initial=0)), ranked.given["gains"])[grades]


def _gain_columns(gain: Floats, exponential: bool) -> _Columns:
    discounts = np.array([discount("exp-log2", rank) for rank in range(1, len(gain) + 1)])
    return {
        f"gain{' 2^g - 1' * exponential}": gain,
        "discount log2(rank + 1)": discounts,
        "gain / discount": gain / discounts,
    }


def _ndcg(ranked: _Ranked) -> _Steps:
    gains, ideal = ranked.given["gains"], None
    columns = _gain_columns(_gains(ranked), gains is None)
    top = ("DCG", math.fsum(columns["gain / discount"]))
    if ranked.knows_pool:
        pool, depth = ranked.pool[None], len(ranked.grades)
        of_best = _gain_columns(ideal_gains(pool, depth, "exp-log2", gains)[0], gains is None)
        del of_best["discount log2(rank + 1)"]
        of_best = {"grade": ideal_grades(pool, depth)[0], **of_best}
        columns |= {f"ideal {name}": values for name, values in of_best.items()}
        ideal = math.fsum(of_best["gain / discount"])
    divided = _quotient_or_note(ranked, "NDCG", top, ("ideal DCG", ideal, "DCG / NDCG"))
    return "DCG / DCG of the ideal list", columns, *divided


def _ap(ranked: _Ranked) -> _Steps:
    rel, relevant = int(ranked.given["rel"]), ranked.relevant
    hits = np.cumsum(relevant)
    precision = hits / ranked.ranks
    counts = np.where(relevant, precision, 0.0)
    columns = {"relevant": relevant, "relevant so far": hits, "precision": precision, "counts": counts}
    known = float(ranked.pool[rel:].sum()) if ranked.knows_pool else None
    formula = f"(Σ precision at each result of grade ≥ {rel}) / R, R = results of grade ≥ {rel}"
    return (
        formula,
        columns,
        *_quotient_or_note(ranked, "AP", ("sum", math.fsum(counts)), ("R", known, "sum / AP")),
    )


def _sum(name: str, values: Floats) -> Totals:
    return ((f"{name} = sum", math.fsum(values)),)


def _quotient(name: str, top: tuple[str, float], bottom: tuple[str, float]) -> Totals:
    value = top[1] / bottom[1] if bottom[1] else 0.0
    return (top, bottom, (f"{name} = {top[0]} / {bottom[0]}", value))


def _quotient_or_note(
    ranked: _Ranked, name: str, top: tuple[str, float], bottom: tuple[str, float | None, str]
) -> tuple[Totals, str]:
    """Return the totals of a quotient, and a note where the run does not have the divisor."""
    (what, total), (divided_by, known, how) = top, bottom
    if known is not None:
        return _quotient(name, top, (divided_by, known)), ""
    whole = f"{divided_by} counts every judged result of the query, and a run keeps only those that it shows"
    if not ranked.stored:
        value = 0.0 if not total else math.nan
        return (top, (f"{name}, as {what} is 0", value)), f"{whole}; it does not matter here, as {what} is 0."
    divisor = total / ranked.stored
    divisor = float(round(divisor)) if divided_by == "R" else divisor
    return _quotient(name, top, (divided_by, divisor)), f"{whole}; it is computed backwards here, as {how}."


def _rr(ranked: _Ranked) -> _Steps:
    relevant, reciprocal = ranked.relevant, 1 / ranked.ranks
    counts = np.where(relevant * np.cumsum(relevant) == 1, reciprocal, 0.0)
    formula = f"1 / rank of the first result of grade ≥ {ranked.given['rel']}, 0 without one"
    columns = {"relevant": relevant, "1 / rank": reciprocal, "counts": counts}
    return formula, columns, _sum("RR", counts), ""


def _err(ranked: _Ranked) -> _Steps:
    chance, meaning = _chances(ranked)
    reaches = np.concatenate([[1.0], np.cumprod(1 - chance)[:-1]])
    utility, utilities = _utilities(ranked)
    product = reaches * chance * utilities
    columns = {
        "R(g)": chance, "reaches it": reaches, "stops there": reaches * chance, utility: utilities,
        "product": product,
    }  # fmt: skip
    formula = f"Σ {utility.replace(' / ', '/')} · R(g) · Π above (1 - R), {meaning}"
    return formula, columns, _sum("ERR", product), ""


def _chances(ranked: _Ranked) -> tuple[Floats, str]:
    """Return R of the grades, and its formula."""
    top, gains = int(ranked.given["max_rel"]), ranked.given["gains"]
    meaning = f"R(g) = (2^g - 1) / 2^{top}" if gains is None else _list_values("R", gains)
    return satisfaction(ranked.grades[None], top, gains)[0], meaning


def _utilities(ranked: _Ranked) -> tuple[str, Floats]:
    """Return the name of the utility of a rank, and its values."""
    gamma, own = ranked.given["gamma"], ranked.given["utilities"]
    if own is not None:
        return "φ(rank)", np.array(own)[: len(ranked.ranks)]
    if gamma is not None:
        return f"{gamma:g}^(rank - 1)", gamma ** (ranked.ranks - 1.0)
    return "1 / rank", 1 / ranked.ranks


def _rbp(ranked: _Ranked) -> _Steps:
    p, (chance, meaning) = float(ranked.given["p"]), _chances(ranked)
    looks = p ** (ranked.ranks - 1.0)
    columns = {"R(g)": chance, "looks at it p^(rank - 1)": looks, "product": chance * looks}
    total = math.fsum(columns["product"])
    formula = f"(1 - p) Σ R(g) p^(rank - 1), p = {p:g}, {meaning}"
    return formula, columns, (("sum", total), ("1 - p", 1 - p), ("RBP = (1 - p) · sum", (1 - p) * total)), ""


def _mean_grade(ranked: _Ranked) -> _Steps:
    return "Σ grade / results", {}, _mean("MeanGrade", ranked.grades), ""


def _precision(ranked: _Ranked) -> _Steps:
    formula = f"results of grade ≥ {ranked.given['rel']} / results"
    return formula, {"relevant": ranked.relevant}, _mean("P", ranked.relevant), ""


def _mean(name: str, values: Integers) -> Totals:
    return _quotient(name, ("sum", math.fsum(values)), ("results", float(len(values))))


def _same(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=ROUNDING, abs_tol=ROUNDING)


_WITHOUT_STEPS = {("DCG", "dcg"), ("NDCG", "dcg"), ("NDCG", "ideal"), ("AP", "over"), ("RBP", "rel")}
"""Parameters (metric, name) for which there are no steps, although the metric has steps."""

_STEPS: Mapping[str, Callable[[_Ranked], _Steps]] = {
    "DCG": _dcg,
    "NDCG": _ndcg,
    "AP": _ap,
    "RR": _rr,
    "ERR": _err,
    "RBP": _rbp,
    "MeanGrade": _mean_grade,
    "P": _precision,
}


# ---- click metrics ----------------------------------------------------------------------------


def click_arithmetic(name: str, masks: Integers, sessions: Integers, good: int) -> Arithmetic:
    """Return the computation of the click metric `name`: the mean over the sessions.

    masks, sessions: (M,) distinct click masks of the configuration, and their sessions.
    good: mask of the positions whose grade is at least the success grade; only SS uses it.

    Raises SettingsError if there is no such metric, or it has no steps.
    """
    metric = _click_metric(name)
    arrays = {"masks": masks, "good": np.full(len(masks), good, dtype=np.int64)}
    values = metric.function(*(arrays[need] for need in metric.needs))
    formula, spell = _PATTERNS[name]
    places = [positions(int(mask)) for mask in masks]
    steps = pl.DataFrame(
        {
            "clicked": [", ".join(map(str, clicked)) or "nothing" for clicked in places],
            "sessions": sessions,
            "computed": [spell(clicked, good) if clicked else "0" for clicked in places],
            name: values,
            "sessions · value": sessions * values,
        }
    )
    steps = steps.sort("sessions", descending=True, maintain_order=True)
    total = math.fsum(steps["sessions · value"])
    totals = _quotient(name, ("sum", total), ("sessions", float(sessions.sum())))
    return Arithmetic(name, metric.line, formula, steps, totals)


def positions(mask: int) -> list[int]:
    """Return the clicked positions of a mask, ascending; 1 = first."""
    return [place + 1 for place in range(mask.bit_length()) if mask >> place & 1]


def _click_metric(name: str) -> Metric:
    found = next((metric for metric in CLICKS if metric.name == name), None)
    if found is None or name not in _PATTERNS:
        raise SettingsError(f"no steps of a click metric {name}; known are {', '.join(_PATTERNS)}")
    return found


def _spell_mean_rr(clicked: list[int], _good: int) -> str:
    terms = " + ".join(f"1/{place}" for place in clicked)
    return f"({terms}) / {len(clicked)}" if len(clicked) > 1 else terms


def _spell_success(clicked: list[int], good: int) -> str:
    met = [place for place in clicked if good >> (place - 1) & 1]
    return f"1 (good at {', '.join(map(str, met))})" if met else "0 (none good)"


_Spell = Callable[[list[int], int], str]
_PATTERNS: Mapping[str, tuple[str, _Spell]] = {
    "UCTR": ("1 if anything was clicked", lambda _clicked, _good: "1"),
    "MaxRR": ("1 / first clicked position", lambda clicked, _good: f"1/{clicked[0]}"),
    "MeanRR": ("mean of 1 / clicked position", _spell_mean_rr),
    "MinRR": ("1 / lowest clicked position", lambda clicked, _good: f"1/{clicked[-1]}"),
    "PLC": ("clicks / lowest clicked position", lambda clicked, _good: f"{len(clicked)}/{clicked[-1]}"),
    "SS": ("1 if a good result was clicked", _spell_success),
    "QCTR": ("number of clicked results", lambda clicked, _good: str(len(clicked))),
}
