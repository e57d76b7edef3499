"""What the numbers of judges say, in sentences."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from clickassay.core.contracts.columns import EVERY
from clickassay.core.special import ndtri
from clickassay.core.text.words import count, listed, number, percent, plural, visible
from clickassay.correlation.uncertainty.intervals import ALPHA, NO_INTERVAL
from clickassay.studies.judges.compare import JudgesCompared

WITHIN = 0.05
"""Half width of an interval that is short enough, where no kappa is asked for."""

POWER = 0.8
OFTEN, MANY = 5, 100
"""A top grade is given so often, by a judge, that another with so many results would have given it."""
_CLOSEST = 1e-9
MOST_TIMES = 100
"""So many times as many queries as there are is said in words: nobody has them judged."""


def answer(found: JudgesCompared, at_least: float | None = None) -> str:
    """Return whether the first two judges agree, as a title without a full stop: yes, no, or not yet.

    Yes: the whole interval of kappa is at least `at_least`, it has no caution, the judges seem to use one
    scale, and no pair of rankings changes significantly.
    """
    first, kappa = found.agreement.row(0, named=True), _kappa(found)
    both = f"{visible(first['judge_a'])} and {visible(first['judge_b'])}"
    if kappa["value"] is None:
        return f"{both} give one and the same grade: agreement beyond chance is not defined"
    said = f"quadratic kappa {_with_interval(kappa)}"
    pair = pl.col("judge_a") == first["judge_a"], pl.col("judge_b") == first["judge_b"]
    changed = int(found.rankings.filter(*pair)["changed"].sum()) if found.rankings.height else 0
    if at_least is None:
        what = (
            f"rank differently: {said}" if changed else f"have a quadratic kappa of {_with_interval(kappa)}"
        )
        return f"{both} {what}"
    limit, low, high = f"{at_least:g}", kappa["ci_low"], kappa["ci_high"]
    is_known = low is not None
    cases = {
        f"No: {said} is below {limit}": is_known and high < at_least,
        f"No: {plural(changed, 'pair')} of rankings changes significantly with the judge ({said})": changed
        > 0,
        f"Not yet: {said}, {NO_INTERVAL}": not is_known,
        f"Not yet: {said} may be above or below {limit}": is_known and low < at_least,
        f"Not yet: {said} is unreliable ({kappa['caution']})": kappa["caution"] is not None,
        f"Not yet: judges may use different scales ({said})": any(other_scales(found)),
        f"Yes: {said} is at least {limit}": True,
    }
    return next(text for text, is_so in cases.items() if is_so)


def _kappa(found: JudgesCompared) -> Mapping[str, Any]:
    a, b = found.agreement.select("judge_a", "judge_b").row(0)
    return found.agreement.filter(judge_a=a, judge_b=b, measure="kappa_quadratic").row(0, named=True)


def details(found: JudgesCompared, at_least: float | None = None) -> str:
    """Say what the first two judges judged, who gives higher grades, and what would settle an open answer."""
    first = found.agreement.row(0, named=True)
    a, b = visible(first["judge_a"]), visible(first["judge_b"])
    own = found.agreement.filter(judge_a=first["judge_a"], judge_b=first["judge_b"])
    apart = own.row(by_predicate=pl.col("measure") == "mean_difference", named=True)
    text = (
        f"{a} and {b} both judged {plural(first['n_results'], 'result')} of "
        f"{plural(first['n_queries'], 'query', 'queries')}."
    )
    if apart["ci_low"] is not None and (apart["ci_low"] > 0 or apart["ci_high"] < 0):
        higher, sign = (b, 1) if apart["value"] > 0 else (a, -1)
        text += f" On average, {higher} grades higher by {_with_interval(apart, sign)}."
    return text + _needed(_kappa(found), at_least)


def _needed(row: Mapping[str, Any], at_least: float | None) -> str:
    """Say how many queries judged by both settle what is open: on which side of a kappa, or within 0.05."""
    queries = queries_needed(row, at_least)
    if queries is None or queries <= row["n_queries"]:
        return ""
    if queries > MOST_TIMES * row["n_queries"]:
        more = f"more than {MOST_TIMES} times as many"
    else:
        results = round(queries * row["n_results"] / row["n_queries"], -1)
        more = f"about {count(queries)} queries ({count(int(results))} results)"
    aim = (
        f"know kappa within {WITHIN}"
        if at_least is None
        else f"tell with power {POWER:g} (if kappa is {number(row['value'], 2)})"
    )
    return f" To {aim}, let both judge {more}."


def queries_needed(row: Mapping[str, Any], at_least: float | None) -> int | None:
    """Return how many queries judged by both make an interval short enough; None without one, or a need.

    Its half width shrinks with the square root of their number. Without `at_least` it is to be `WITHIN`; with
    it, the interval is to leave `at_least` out with a chance of 0.8 if kappa is as measured.
    """
    if row["ci_low"] is None or row["value"] == row["ci_low"]:
        return None
    queries, half = int(row["n_queries"]), float(row["value"] - row["ci_low"])
    if at_least is None:
        return math.ceil(queries * (half / WITHIN) ** 2)
    if not row["ci_low"] < at_least <= row["ci_high"]:
        return None
    detected = half * float(1 + ndtri(POWER) / ndtri(0.975))
    apart = max(abs(float(row["value"]) - at_least), _CLOSEST)
    return math.ceil(queries * (detected / apart) ** 2)


def rankings_sentence(found: JudgesCompared) -> str:
    """Say whether the first two judges put runs in the same order; empty without rankings."""
    if found.rankings.is_empty():
        return ""
    row = found.rankings.row(0, named=True)
    a, b = visible(row["judge_a"]), visible(row["judge_b"])
    if row["tau"] is None:
        return f"All rankings have the same mean {row['measure']} under {a} or under {b}."
    if row["pairs"] == 1:
        return _of_two(found.ranking_pairs.row(0, named=True), a, b)
    tau = _with_interval({"value": row["tau"], "ci_low": row["tau_low"], "ci_high": row["tau_high"]})
    by_a, by_b = (row["same"] + row["opposite"] + row[only] for only in ("only_a", "only_b"))
    opposite, changed = row["opposite"], row["changed"]
    change = "no difference changes significantly with the judge"
    if opposite:
        change = f"{plural(opposite, 'pair')} {_differ(opposite)} significantly in opposite directions"
    elif changed:
        verb = "changes" if changed == 1 else "change"
        change = f"{plural(changed, 'difference')} {verb} significantly with the judge"
    return (
        f"The orders of {plural(row['n_runs'], 'ranking')} under {a} and {b} have a tau of {tau} "
        f"({row['measure']}). Of {plural(row['pairs'], 'pair')}, {by_a} {_differ(by_a)} significantly under "
        f"{a}, {by_b} under {b}, {row['same']} the same way under both; {change}."
    )


def _differ(number: int) -> str:
    return "differs" if number == 1 else "differ"


def _of_two(row: Mapping[str, Any], a: str, b: str) -> str:
    of_a, of_b = (
        "not significantly different"
        if row[f"p_holm_{side}"] is None or row[f"p_holm_{side}"] >= ALPHA
        else f"significantly {'higher' if row[f'difference_{side}'] > 0 else 'lower'}"
        for side in "ab"
    )
    under = f"{of_a} under both" if of_a == of_b else f"{of_a} under {a}, {of_b} under {b}"
    changes = row["p_holm"] is not None and row["p_holm"] < ALPHA
    change = {"value": row["change"], "ci_low": row["ci_low"], "ci_high": row["ci_high"]}
    return (
        f"Compared with {visible(row['baseline'])}, the {row['measure']} of {visible(row['run'])} "
        f"is {under}; "
        f"{'' if changes else 'no '}significant change from {a} to {b}: {_with_interval(change)}."
    )


def _with_interval(row: Mapping[str, Any], sign: int = 1) -> str:
    value = number(sign * row["value"], 2)
    if row["ci_low"] is None:
        return value
    low, high = sorted((sign * row["ci_low"], sign * row["ci_high"]))
    return f"{value} (95% CI {number(low, 2)} to {number(high, 2)})"


def repeated_sentences(found: JudgesCompared) -> Iterator[str]:
    """Yield how often a judge that judged a result again gave the same grade, and what is no judgment."""
    for judge, (results, equal) in found.repeated.items():
        yield (
            f"{visible(judge)} judged {plural(results, 'result')} more than once, "
            f"{percent(equal / results)} of them with the same grade; the first counts."
        )
    if found.not_judged:
        yield f"{plural(found.not_judged, 'rating')} without a grade (blank, -1, refused …) ignored."


def other_scales(found: JudgesCompared) -> Iterator[str]:
    """Yield a caution if a judge of many results never gives the top grade that another gives often."""
    grades = found.grades.group_by("judge").agg(
        top=pl.col("grade").max(), often=pl.col("rows").sort_by("grade").last(), all=pl.col("rows").sum()
    )
    highest = grades.sort("top", "often", descending=True).row(0, named=True)
    for row in grades.sort("judge").iter_rows(named=True):
        if row["top"] < highest["top"] and highest["often"] >= OFTEN and row["all"] >= MANY:
            yield (
                f"Caution: the highest grade of {visible(row['judge'])} is {row['top']}, that of "
                f"{visible(highest['judge'])} {highest['top']}. "
                "If their scales differ, map one with --grade-map."
            )


def overlap_sentence(found: JudgesCompared) -> str:
    """Say how many results each judge judged, and how many of them with another."""
    totals = found.grades.group_by("judge", maintain_order=True).agg(pl.col("rows").sum())
    own = dict(totals.iter_rows())
    judged = listed([f"{visible(name)} judged {plural(own[name], 'result')}" for name in found.judges])
    pairs = found.agreement.filter(pl.col("measure") == "equal", pl.col("judge_a") != EVERY)
    both = [
        f"{visible(row['judge_a'])} with {visible(row['judge_b'])} {count(row['n_results'])}"
        for row in pairs.iter_rows(named=True)
    ]
    return f"{judged}; in common: {listed(both)}. Agreement covers the results in common."
