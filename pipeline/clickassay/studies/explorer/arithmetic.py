"""The arithmetic of a metric's value, step by step, for one configuration.

The steps spell a formula out for a reader. The value itself is the run's, made by ``clickassay.metrics``:
the page shows both, and tests hold that the steps reach it.
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
from clickassay.metrics.catalogue import METRICS, shown_pool
from clickassay.metrics.click_model_metrics import MODEL_METRICS
from clickassay.metrics.clicks import CLICKS
from clickassay.metrics.definition import Metric, given_arguments
from clickassay.metrics.editorial import ap, satisfaction
from clickassay.metrics.gains import grade_gains, ideal_gains, ideal_grades, ndcg
from clickassay.metrics.names import parse

ROUNDING = 1e-9
"""Two values that differ by less are the same number."""

Totals = tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class Arithmetic:
    """How a metric gets its value for one configuration.

    Attributes
    ----------
    metric, line
        Its name as in the run, and what it is, in one line.
    formula
        What it is equal to, in one line.
    steps
        One row per rank (editorial metrics) or per click pattern (click metrics).
    totals
        From the steps to the value: pairs (what, number); the last one is the value.
    note
        What the reader must know about these numbers; '' if nothing.
    """

    metric: str
    line: str
    formula: str
    steps: pl.DataFrame
    totals: Totals
    note: str = ""

    @property
    def value(self) -> float:
        """The value that the steps reach."""
        return self.totals[-1][1]


@dataclass(frozen=True)
class Graded:
    """What the editorial metrics of one configuration are made from.

    Attributes
    ----------
    grades
        (k,) grades, best position first.
    seen
        (g_max + 1,) distinct results of the query by grade, as far as the run shows them.
    stored
        Values in the run by name of the metric.
    """

    grades: Integers
    seen: Integers
    stored: Mapping[str, float]


@dataclass(frozen=True)
class _Ranked:
    """Grades cut to a metric's depth, its parameters, and where the ideal comes from."""

    grades: Integers
    pool: Integers
    given: Mapping[str, Any]
    stored: float
    complete: bool  # the pool is known to be all that counts

    @property
    def ranks(self) -> Integers:
        return np.arange(1, len(self.grades) + 1)

    def knows(self, metric: Callable[[Integers], Floats]) -> bool:
        """Tell whether the pool is what the run's value was made from; a value of 0 tells nothing."""
        return self.complete or (self.stored > 0 and _same(metric(self.pool[None])[0], self.stored))


_Spelled = tuple[str, pl.DataFrame, Totals, str]


def editorial_arithmetic(name: str, graded: Graded, settings: Settings) -> Arithmetic:
    """Spell out how the editorial metric `name` gets its value.

    Raises
    ------
    SettingsError
        If there is no such metric.
    """
    measure = parse(name, METRICS)
    metric = measure.metric
    given = given_arguments(measure, settings)
    cut = graded.grades[: measure.depth]
    shown = settings.pool == "shown"
    pool = shown_pool(cut[None], settings.max_grade)[0] if shown else graded.seen
    ranked = _Ranked(cut, pool, given, graded.stored[name], complete=shown)
    spelled = _STEPS.get(metric.name)
    if spelled is None or _WITHOUT_STEPS & {(metric.name, told) for told, _ in measure.arguments}:
        return _as_the_run_has_it(name, metric, ranked)
    formula, steps, totals, note = spelled(ranked)
    return Arithmetic(name, metric.line, formula, steps, totals, note)


def _dcg(ranked: _Ranked) -> _Spelled:
    gains = ranked.given.get("gains")
    steps = _gain_steps(ranked.grades, _gained(ranked.grades, gains), gains is None)
    gain, formula = ("(2^g - 1)", "") if gains is None else ("gain(g)", f", {_listed('gain', gains)}")
    formula = f"Σ {gain} / log2(rank + 1){formula}"
    return formula, steps, (("DCG = sum", _sum(steps, "gain / discount")),), ""


def _listed(what: str, values: tuple[float, ...]) -> str:
    """Return ``what(0..2) = 0, 1, 3``."""
    return f"{what}(0..{len(values) - 1}) = {', '.join(f'{value:g}' for value in values)}"


def _gained(grades: Integers, gains: tuple[float, ...] | None) -> Floats:
    return grade_gains("exp-log2", int(grades.max(initial=0)), gains)[grades]


def _gain_steps(grades: Integers, gain: Floats, exponential: bool) -> pl.DataFrame:
    ranks = np.arange(1, len(grades) + 1)
    discount = np.array([math.log2(rank + 1) for rank in ranks])
    columns = {
        "rank": ranks,
        "grade": grades,
        f"gain{' 2^g - 1' * exponential}": gain,
        "discount log2(rank + 1)": discount,
        "gain / discount": gain / discount,
    }
    return pl.DataFrame(columns)


def _ndcg(ranked: _Ranked) -> _Spelled:
    formula, gains, depth = "DCG / DCG of the ideal list", ranked.given.get("gains"), len(ranked.grades)
    steps = _gain_steps(ranked.grades, _gained(ranked.grades, gains), gains is None)
    total = _sum(steps, "gain / discount")
    if ranked.knows(lambda pool: ndcg(ranked.grades[None], pool, depth, gains=gains)):
        best = ideal_grades(ranked.pool[None], depth)[0]
        of_best = ideal_gains(ranked.pool[None], depth, "exp-log2", gains)[0]
        ideal_steps = _gain_steps(best, of_best, gains is None).drop("rank", "discount log2(rank + 1)")
        steps = steps.hstack(ideal_steps.select(pl.all().name.prefix("ideal ")))
        ideal = _sum(steps, "ideal gain / discount")
        return formula, steps, _quotient("NDCG", ("DCG", total), ("ideal DCG", ideal)), ""
    return formula, steps, *_recovered("NDCG", ("DCG", total), ("ideal DCG", "DCG / NDCG"), ranked.stored)


def _ap(ranked: _Ranked) -> _Spelled:
    rel = int(ranked.given["rel"])
    formula = f"(Σ precision at each result of grade ≥ {rel}) / R, R = results of grade ≥ {rel}"
    relevant = ranked.grades >= rel
    found = np.cumsum(relevant)
    precision = found / ranked.ranks
    steps = _with_ranks(ranked, {"relevant": relevant.astype(np.int64), "relevant so far": found})
    steps = steps.with_columns(
        pl.Series("precision", precision), pl.Series("counts", np.where(relevant, precision, 0.0))
    )
    total = _sum(steps, "counts")
    if ranked.knows(lambda pool: ap(ranked.grades[None], pool, rel=rel)):
        known = float(ranked.pool[rel:].sum())
        return formula, steps, _quotient("AP", ("sum", total), ("R", known)), ""
    return formula, steps, *_recovered("AP", ("sum", total), ("R", "sum / AP"), ranked.stored)


def _quotient(name: str, top: tuple[str, float], bottom: tuple[str, float]) -> Totals:
    value = top[1] / bottom[1] if bottom[1] else 0.0
    return (top, bottom, (f"{name} = {top[0]} / {bottom[0]}", value))


def _recovered(
    name: str, top: tuple[str, float], bottom: tuple[str, str], stored: float
) -> tuple[Totals, str]:
    """Return totals where what a run keeps does not tell what the sum is divided by."""
    (what, total), (divided_by, how) = top, bottom
    whole = f"{divided_by} counts every judged result of the query, and a run keeps only those that it shows"
    if not stored:
        value = 0.0 if not total else math.nan
        return (top, (f"{name}, as {what} is 0", value)), f"{whole}; it does not matter, as {what} is 0."
    divisor = float(round(total / stored)) if divided_by == "R" else total / stored
    totals = (top, (divided_by, divisor), (f"{name} = {what} / {divided_by}", total / divisor))
    return totals, f"{whole}; it is worked out backwards here, as {how}."


def _rr(ranked: _Ranked) -> _Spelled:
    rel = int(ranked.given["rel"])
    relevant = ranked.grades >= rel
    first = relevant & (np.cumsum(relevant) == 1)
    steps = _with_ranks(ranked, {"relevant": relevant.astype(np.int64), "1 / rank": 1 / ranked.ranks})
    steps = steps.with_columns(pl.Series("counts", np.where(first, 1 / ranked.ranks, 0.0)))
    formula = f"1 / rank of the first result of grade ≥ {rel}, 0 without one"
    return formula, steps, (("RR = sum", _sum(steps, "counts")),), ""


def _err(ranked: _Ranked) -> _Spelled:
    chance, meaning = _chances(ranked)
    reaches = np.concatenate([[1.0], np.cumprod(1 - chance)[:-1]])
    utility, utilities = _utilities(ranked)
    columns = {
        "R(g)": chance,
        "reaches it": reaches,
        "stops there": reaches * chance,
        utility: utilities,
        "product": reaches * chance * utilities,
    }
    steps = _with_ranks(ranked, columns)
    formula = f"Σ {utility.replace(' / ', '/')} · R(g) · Π above (1 - R), {meaning}"
    return formula, steps, (("ERR = sum", _sum(steps, "product")),), ""


def _chances(ranked: _Ranked) -> tuple[Floats, str]:
    """Return R of the grades, and what it is."""
    top, gains = int(ranked.given["max_rel"]), ranked.given.get("gains")
    meaning = f"R(g) = (2^g - 1) / 2^{top}" if gains is None else _listed("R", gains)
    return satisfaction(ranked.grades[None], top, gains)[0], meaning


def _utilities(ranked: _Ranked) -> tuple[str, Floats]:
    """Return what the utility of a rank is called, and its values."""
    gamma, own = ranked.given.get("gamma"), ranked.given.get("utilities")
    if own is not None:
        return "φ(rank)", np.array(own)[: len(ranked.ranks)]
    if gamma is not None:
        return f"{gamma:g}^(rank - 1)", gamma ** (ranked.ranks - 1.0)
    return "1 / rank", 1 / ranked.ranks


def _rbp(ranked: _Ranked) -> _Spelled:
    p, (chance, meaning) = float(ranked.given["p"]), _chances(ranked)
    looks = p ** (ranked.ranks - 1.0)
    steps = _with_ranks(
        ranked, {"R(g)": chance, "looks at it p^(rank - 1)": looks, "product": chance * looks}
    )
    total = _sum(steps, "product")
    formula = f"(1 - p) Σ R(g) p^(rank - 1), p = {p:g}, {meaning}"
    return formula, steps, (("sum", total), ("1 - p", 1 - p), ("RBP = (1 - p) · sum", (1 - p) * total)), ""


def _mean_grade(ranked: _Ranked) -> _Spelled:
    steps = _with_ranks(ranked, {})
    return "Σ grade / results", steps, _mean("MeanGrade", _sum(steps, "grade"), ranked), ""


def _precision(ranked: _Ranked) -> _Spelled:
    rel = int(ranked.given["rel"])
    steps = _with_ranks(ranked, {"relevant": (ranked.grades >= rel).astype(np.int64)})
    formula = f"results of grade ≥ {rel} / results"
    return formula, steps, _mean("P", _sum(steps, "relevant"), ranked), ""


def _mean(name: str, total: float, ranked: _Ranked) -> Totals:
    return _quotient(name, ("sum", total), ("results", float(len(ranked.grades))))


def _with_ranks(ranked: _Ranked, columns: Mapping[str, NDArray[np.generic]]) -> pl.DataFrame:
    return pl.DataFrame({"rank": ranked.ranks, "grade": ranked.grades.astype(np.int64), **columns})


def _sum(steps: pl.DataFrame, column: str) -> float:
    return math.fsum(steps[column])


def _same(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=ROUNDING, abs_tol=ROUNDING)


def _of_a_model(ranked: _Ranked) -> _Spelled:
    steps = pl.DataFrame({"rank": np.arange(1, len(ranked.grades) + 1), "grade": ranked.grades})
    formula = "what readers of the click model do with these grades, each way to click with its chance"
    note = "The model was fitted when the run was made; a run does not keep it, so the value is the run's."
    return formula, steps, (("expected MeanRR", ranked.stored),), note


def _as_the_run_has_it(name: str, metric: Metric, ranked: _Ranked) -> Arithmetic:
    steps = pl.DataFrame({"rank": np.arange(1, len(ranked.grades) + 1), "grade": ranked.grades})
    note = f"No steps are written for this measure ({metric.source}); the value is the run's."
    return Arithmetic(name, metric.line, metric.line, steps, ((name, ranked.stored),), note)


_WITHOUT_STEPS = {("DCG", "dcg"), ("AP", "over"), ("RBP", "rel")}
"""Parameters of metrics that have steps, but not for these."""

_STEPS: Mapping[str, Callable[[_Ranked], _Spelled]] = {
    "DCG": _dcg,
    "NDCG": _ndcg,
    "AP": _ap,
    "RR": _rr,
    "ERR": _err,
    "RBP": _rbp,
    "MeanGrade": _mean_grade,
    "P": _precision,
    **{metric.name: _of_a_model for metric in MODEL_METRICS},
}


# ---- click metrics ----------------------------------------------------------------------------


def click_arithmetic(name: str, masks: Integers, sessions: Integers, good: int) -> Arithmetic:
    """Spell out how the click metric `name` gets its value: the mean over the sessions.

    Parameters
    ----------
    masks, sessions
        (M,) distinct click masks of the configuration, and their sessions.
    good
        Mask of the positions whose grade is at least the success grade; only SS looks at it.

    Raises
    ------
    SettingsError
        If there is no such metric, or no steps are written for it.
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
            "worked out": [spell(clicked, good) if clicked else "0" for clicked in places],
            name: values,
            "sessions · value": sessions * values,
        }
    )
    steps = steps.sort("sessions", descending=True, maintain_order=True)
    total = _sum(steps, "sessions · value")
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
