"""Claims as sentences: the headline, the three findings, and the parts of sentences that sections share."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from clickassay.core.records import SampleKey
from clickassay.core.text.words import (
    MISSING,
    capital,
    count,
    listed,
    number,
    percent,
    sentence,
    signed,
    span,
    visible,
)
from clickassay.correlation.uncertainty.intervals import ALPHA
from clickassay.findings.claims import DEPENDS_ON_CLICK, Claim, DependsClaim, Verdict
from clickassay.findings.draw import Findings
from clickassay.findings.estimates import Estimate
from clickassay.findings.influence import N_INFLUENTIAL
from clickassay.findings.ranking import Lead, Quantity, Ranking, highest_possible, prefers_the_same
from clickassay.findings.run import Run
from clickassay.metrics.clicks import is_click_metric, signal_of
from clickassay.report.tables import Cell, Spelled, caution_reason, p_text

BASELINE_MEANINGS = {
    "MeanGrade": "mean grade",
    "MeanGrade@1": "top result's grade",
    "P@1": "top result's relevance",
}
"""What the baselines of `metrics.catalogue` measure, by name."""

MOST_NAMES = 3
"""More metrics than these are counted, not named, where space is scarce."""


def spoken(name: str) -> str:
    """Return the name of a metric; of a baseline its meaning."""
    return f"the {BASELINE_MEANINGS[name]}" if name in BASELINE_MEANINGS else name


def all_spoken(names: tuple[str, ...], joint: str = "and") -> str:
    """List metrics, the baselines by what they measure."""
    return listed(map(spoken, names), joint)


def few_spoken(names: tuple[str, ...], joint: str = "and") -> str:
    """List metrics; of many the first, and how many others."""
    if len(names) <= MOST_NAMES:
        return all_spoken(names, joint)
    return f"{spoken(names[0])} {joint} {len(names) - 1} others"


_SIGNALS = {"purchase": "purchases", "satisfied": "satisfied clicks", "add_to_cart": "carts", "cart": "carts"}


def signal_words(click: str) -> str:
    """Return what a click metric is of, in words: ``clicks``, ``purchases``; an action by its name."""
    signal = signal_of(click)
    if signal is None:
        return "clicks" if is_click_metric(click) else visible(click)
    return _SIGNALS.get(signal, f"\u201c{visible(signal)}\u201d")


def clicks_of(click: str) -> str:
    """Return the same with the name of the metric, as ``clicks (MeanRR)``."""
    words = signal_words(click)
    return f"{words} ({click.partition('(')[0]})" if is_click_metric(click) else words


def told_apart(clicks: Iterable[str]) -> dict[str, str]:
    """Return the words of several click metrics, with their names where two are of the same signal."""
    words = {click: signal_words(click) for click in clicks}
    counts = Counter(words.values())
    return {click: text if counts[text] == 1 else clicks_of(click) for click, text in words.items()}


def approximate_count(queries: float) -> str:
    """Return an estimated number of queries, rounded to two digits."""
    return count(int(float(f"{queries:.2g}")))


def needed_text(lead: Lead) -> str | None:
    """Return the judged queries that show a difference, e.g. ``at least 400``; None where out of reach."""
    if not lead.is_within_reach or lead.queries_needed is None:
        return None
    return f"at least {approximate_count(lead.queries_needed)}"


def queries_needed_cell(lead: Lead, reason: str) -> Cell:
    """Return the cell of the judged queries that show a difference, or why there are none."""
    if lead.queries_needed is None:
        return Estimate(None, reason=reason)
    return Spelled(needed_text(lead) or "out of reach", lead.queries_needed)


def significance_text(p_adjusted: float | None) -> str:
    """Return ``yes``, ``no`` or ``not tested``: whether two are significantly different."""
    if p_adjusted is None:
        return "not tested"
    return "yes" if p_adjusted < ALPHA else "no"


def caution_sentence(cell: Estimate) -> str:
    """Return the caution of an interval as a sentence, with a space before; '' if there is none."""
    if cell.caution is None:
        return ""
    if not cell.has_interval:
        return f" It has no interval: {caution_reason(cell.caution)}."
    return f" This interval is unreliable: {cell.caution}."


def test_text(lead: Lead) -> str:
    """Return interval and adjusted p-value, e.g. ``95% CI 0.1 to 0.2, adjusted p 0.010``."""
    return f"{interval_text(lead.estimate)}, adjusted p {p_text(lead.p_adjusted)}"


def interval_text(cell: Estimate) -> str:
    """Return the interval, e.g. ``95% CI 0.100 to 0.200``, or ``no interval``."""
    if cell.low is None or cell.high is None:
        return "no interval"
    return f"95% CI {span(cell.low, cell.high)}"


def adds_text(ranking: Ranking, baseline: str, names: Sequence[str] | None = None) -> str:
    """Say what metrics add to a baseline, or how much that may be; '' where it is not known."""
    names = ranking.metrics if names is None else names
    partials, best = ranking.partials(baseline, names), ranking.adding(baseline, names)
    if not partials:
        return ""
    beyond = f"beyond {spoken(baseline)}"
    if best is not None:
        most = partials[best][0]
        value = f"{number(most.value)} ({interval_text(most)})"
        return f"{best} adds information {beyond}: partial correlation {value}."
    bound = max(0.0, *(one.high or 0.0 for one, _ in partials.values()))
    nothing = "No metric adds anything" if len(partials) > 1 else f"{next(iter(partials))} adds nothing"
    return f"{nothing} detectable {beyond} (partial correlation at most {rounded_up(bound)})."


def rounded_up(bound: float) -> str:
    """Return a bound with three decimals, rounded up so that it stays one."""
    return number(_up(bound))


def rounded_out(low: float, high: float) -> str:
    """Return an interval whose ends are rounded as bounds are: outwards."""
    return span(-_up(-low), _up(high))


def _up(bound: float) -> float:
    return math.ceil(round(bound * 1000, 6)) / 1000  # no digit more for rounding


# ---- the first screen ------------------------------------------------------------------------------


def is_of_rankings(ranking: Ranking) -> bool:
    """Whether a ranking is by how well metrics compare two rankings."""
    return ranking.quantity != "correlation"


def shown_value(ranking: Ranking, name: str) -> str:
    """Return how often a metric picks the ranking that users prefer; over all queries its correlation."""
    return _spelled(ranking, ranking.competitors[name].value) if name in ranking.competitors else MISSING


def _spelled(ranking: Ranking, value: float, decimals: int = 3) -> str:
    return percent(prefers_the_same(value)) if is_of_rankings(ranking) else number(value, decimals)


def named_rankings(findings: Findings) -> tuple[Ranking, ...]:
    """Return the ranking that decides, and those of other signals that were named."""
    return tuple(one.ranking for one in findings.evidence if one.is_named) or (
        findings.verdict.claims[0].ranking,
    )


def scale_sentences(run: Run, findings: Findings) -> Iterator[str]:
    """Say what a value is to be compared with: a coin toss, and the most that these clicks allow."""
    rankings = [one for one in named_rankings(findings) if one.competitors]
    if not rankings:
        return
    words = told_apart(one.click for one in rankings)
    known = [
        _spelled(one, value, 2) + (f" on {words[one.click]}" if len(rankings) > 1 else "")
        for one in rankings
        if (value := highest_possible(run, one)) is not None
    ]
    what = "The columns show how often a metric picks the ranking users prefer; a coin toss gives 50%."
    if not is_of_rankings(rankings[0]):
        what = "0 = unrelated to clicks."
    if not known:
        yield f"{what} The log has too few sessions to estimate the best possible value."
        return
    yield f"{what} Because clicks are noisy, even a perfect metric would reach only about {listed(known)}."


# ---- claims --------------------------------------------------------------------------------------


IN_VIEW = 3
"""Sentences of a finding that a section begins with; the rest is folded."""


@dataclass(frozen=True)
class Finding:
    """One main finding: the number to remember, and its sentences with the uncertainty."""

    key: str
    sentences: tuple[str, ...]

    @property
    def text(self) -> str:
        """All sentences."""
        return " ".join(self.sentences)

    @property
    def reading(self) -> tuple[str, ...]:
        """The main sentences as one text, and the others as another, if there are any."""
        parts = (" ".join(self.sentences[:IN_VIEW]), " ".join(self.sentences[IN_VIEW:]))
        return tuple(filter(None, parts))


@dataclass(frozen=True)
class _Said:
    """A sentence, and the estimate whose interval it states."""

    text: str
    estimate: Estimate | None = None


def _with_cautions(said: Sequence[_Said]) -> tuple[str, ...]:
    """Return sentences with the cautions of their intervals; a caution that all share comes at the end."""
    estimates = [one.estimate for one in said if one.estimate is not None and one.estimate.has_interval]
    shared = {one.caution for one in estimates}
    is_shared = len(estimates) > 1 and len(shared) == 1 and None not in shared
    texts = []
    for one in said:
        cell = one.estimate
        is_below = cell is None or (cell.has_interval and is_shared)
        texts.append(one.text + ("" if cell is None or is_below else caution_sentence(cell)))
    return (*texts, f"These intervals are unreliable: {shared.pop()}.") if is_shared else tuple(texts)


# ---- the headline ---------------------------------------------------------------------------------


def verdict_sentence(verdict: Verdict) -> str:
    """Return the headline: what the tests allow to be said of the click metrics that count."""
    titles = [claim_title(claim) for claim in verdict.claims]
    clicks = list(map(clicks_of, (claim.ranking.click for claim in verdict.claims)))
    if len(titles) == 1:
        return titles[0]
    if verdict.kind == DEPENDS_ON_CLICK:
        best = (few_spoken(claim.ranking.among_best, "or") or "none" for claim in verdict.claims)
        each = (f"{names} on {click}" for names, click in zip(best, clicks, strict=True))
        return f"Signals disagree about the best metric: {', '.join(each)}"
    if len(set(titles)) == 1:
        return f"{titles[0]}, on {'both' if len(clicks) == 2 else f'all {len(clicks)}'} click metrics"
    each = (
        f"on {click}, {_TITLES[claim.kind](claim)}"
        for click, claim in zip(clicks, verdict.claims, strict=True)
    )
    return capital("; ".join(each))


def claim_title(claim: Claim) -> str:
    """Return the claim on one click metric, in one line; the names of metrics stay as they are."""
    title = _TITLES[claim.kind](claim)
    return title if claim.kind in {"metric_best", "metric_tied"} else capital(title)


PREDICTED: Mapping[Quantity, str] = {
    "correlation": "clicks",
    "correlation of differences": "which of two rankings users prefer",
    "correlation within queries": "which of two rankings users prefer",
}
"""What metrics are ranked by how well they predict."""


def _predicted(claim: Claim) -> str:
    return PREDICTED[claim.ranking.quantity]


def _tied_title(claim: Claim) -> str:
    names = claim.rivals
    others = listed(names) if len(names) <= MOST_NAMES else f"{len(names)} other metrics"
    than = "better than the baselines" if claim.ranking.baselines else "first"
    return (
        f"{claim.subject} is {than} at predicting {_predicted(claim)}, but not significantly better than "
        f"{others}"
    )


_TITLES: dict[str, Callable[[Claim], str]] = {
    "metric_best": lambda claim: f"{claim.subject} best predicts {_predicted(claim)}",
    "metric_tied": _tied_title,
    "baseline_best": lambda claim: (
        f"{spoken(claim.winning_baseline or '')} is significantly better than every metric at predicting "
        f"{_predicted(claim)}"
    ),
    "baseline_not_beaten": lambda claim: (
        f"no metric is significantly better than {spoken(claim.ranking.unbeaten[0])} at predicting "
        f"{_predicted(claim)}"
        if claim.ranking.unbeaten
        else f"no metric that predicts {_predicted(claim)} is significantly better than every baseline"
    ),
    "nothing_predicts": lambda claim: f"no offline metric measurably predicts {_predicted(claim)}",
    "not_tested": lambda claim: f"whether a metric predicts {_predicted(claim)} could not be tested",
    "no_correlation": lambda _: "no correlation of metrics and clicks could be computed",
}


# ---- findings 1 and 2 -----------------------------------------------------------------------------


def write_findings(findings: Findings) -> tuple[Finding, Finding, Finding]:
    """Return the three main findings."""
    return (
        first_finding(findings.correlation),
        second_finding(findings.differences),
        third_finding(findings.depends),
    )


def first_finding(claim: Claim) -> Finding:
    """Say which metric correlates best with the headline click metric, and what it is better than."""
    ranking = claim.ranking
    if not ranking.competitors:
        with_click = "" if ranking.sample is None else f" with {ranking.click}"
        return Finding(
            MISSING, (sentence(f"There is no correlation{with_click} to report: {ranking.reason}"),)
        )
    cell = ranking.values[ranking.highest]
    opening = (
        f"{capital(_introduced(ranking.highest))} has the highest correlation with {ranking.click}, "
        f"{number(cell.value)} ({interval_text(cell)})"
    )
    return Finding(number(cell.value), _with_cautions(tuple(_sentences(claim, opening))))


def within_finding(claim: Claim, *, is_sum: bool = False) -> Finding:
    """Say which metric best tells the list that users prefer of two; `is_sum`: over several markets."""
    where = "Within queries of all markets" if is_sum else "Within queries"
    return _of_two(
        claim,
        "Rankings of the same query cannot be compared",
        lambda name: f"{where}, {name} has the highest correlation with {claim.ranking.click}",
        "of two rankings",
    )


def second_finding(claim: Claim) -> Finding:
    """Say which metric's differences between two rankings predict differences of clicks best."""
    both = "Between two rankings of the same queries, differences in"
    return _of_two(
        claim,
        "The choice between two rankings cannot be evaluated",
        lambda name: f"{both} {name} and in {claim.ranking.click} have the highest correlation",
        "ranking",
    )


def _of_two(claim: Claim, without: str, opening: Callable[[str], str], same: str) -> Finding:
    """Say which metric is highest, and how often it and clicks prefer the same (noun) of two.

    without, opening: the sentence of no value; the first one for a metric, without its number.
    """
    ranking = claim.ranking
    if not ranking.competitors:
        return Finding(MISSING, (sentence(f"{without}: {ranking.reason}"),))
    name = ranking.highest
    cell, share = ranking.values[name], claim.sign_agreement.get(name)
    first, *rest = _sentences(
        claim, f"{opening(_introduced(name))}, {number(cell.value)} ({interval_text(cell)})"
    )
    agreement = (
        f"{capital(spoken(name))} and {ranking.click} prefer the same {same} in {percent(share)} of "
        f"cases (coin toss: 50%)."
    )
    return Finding(percent(share), _with_cautions((first, _Said(agreement), *rest)))


def _introduced(name: str) -> str:
    """Return the name of a metric; of a baseline with its meaning."""
    return f"{spoken(name)} (the baseline {name})" if name in BASELINE_MEANINGS else name


def _sentences(claim: Claim, opening: str) -> Iterator[_Said]:
    ranking, subject = claim.ranking, claim.subject
    highest = ranking.competitors[ranking.highest]
    if claim.kind == "nothing_predicts":
        yield _Said(f"{opening}, not significantly above zero.", highest.estimate)
        yield _Said("No other metric or baseline is significantly better.")
        return
    yield _Said(f"{opening}.", highest.estimate)
    if claim.kind == "not_tested":
        yield _Said("Whether the correlation exceeds 0 could not be tested.")
        return
    if subject is not None and subject != ranking.highest:
        cell = ranking.values[subject]
        what = "the highest metric" if subject == ranking.best else "the highest that beats every baseline"
        yield _Said(f"{subject}, {what}, has {number(cell.value)} ({interval_text(cell)}).", cell)
    if claim.depends_on_few:
        yield _Said(f"The correlation of {ranking.best} depends mostly on {N_INFLUENTIAL} queries.")
    if subject is not None:
        yield from _baseline_sentences(claim, subject)
        yield from _metric_sentences(claim, subject)


def _baseline_sentences(claim: Claim, subject: str) -> Iterator[_Said]:
    """Say which baselines the subject is significantly above, with the lead over the nearest."""
    ranking = claim.ranking
    if not ranking.baselines:
        return
    level = ranking.not_above(subject, ranking.baselines)
    nearest = claim.winning_baseline or (level or ranking.baselines)[0]
    lead = ranking.lead(subject, nearest)
    if claim.winning_baseline is not None:
        text = f"{capital(spoken(nearest))} is significantly better than every metric"
    elif level:
        text = f"{subject} is not significantly better than {all_spoken(level, 'or')}"
    else:
        text = f"{subject} is significantly better than every baseline"
    test = f"the difference from {spoken(nearest)} could not be tested"
    if lead.p_adjusted is not None:
        test = f"{subject} minus {spoken(nearest)} is {signed(lead.value or 0.0)} ({test_text(lead)})"
    yield _Said(f"{text}: {test}.", lead.estimate)


def _metric_sentences(claim: Claim, subject: str) -> Iterator[_Said]:
    ranking = claim.ranking
    others = tuple(name for name in ranking.metrics if name != subject)
    untested = tuple(name for name in others if name in ranking.untested(subject))
    tied = tuple(name for name in claim.rivals if name not in untested)
    behind = tuple(name for name in others if name not in (*tied, *untested))
    if not others:
        yield _Said("No other metric has a correlation.")
    if behind:
        lead = ranking.lead(subject, behind[0])
        is_next = behind[0] == others[0]
        which = "the next metric" if is_next else "the next that is significantly different"
        text = f"{subject} is {number(lead.value)} higher than {behind[0]}, {which} ({test_text(lead)})."
        yield _Said(text, lead.estimate)
    if tied:
        nearest = ranking.lead(subject, tied[0])
        text, needed = f"{subject} is not significantly better than {listed(tied)}", needed_text(nearest)
        if needed is not None:
            text += f"; to show a difference from {tied[0]} would take {needed} judged queries, and there "
            text += f"are {count(nearest.n_queries)}."
        yield _Said(sentence(text))
    elif others and not untested:
        yield _Said(f"{subject} is significantly better than all other metrics.")
    if untested:
        yield _Said(f"Whether it differs from {listed(untested)} was not tested.")


# ---- finding 3 ------------------------------------------------------------------------------------


_EACH = {
    "click metric": "on {}",
    "market": "in market {}",
    "depth": "at depth {}",
    "judge": "with the grades of {}",
}
_EVERY = {
    "click metric": "on every click metric",
    "market": "in every market",
    "depth": "at every depth",
    "judge": "with the grades of every judge",
}


def third_finding(claim: DependsClaim) -> Finding:
    """Say whether the best metric depends on the click metric, the market, the depth or the judge."""
    if claim.reason is not None:
        return Finding(MISSING, (sentence(claim.reason),))
    if not claim.varied:
        return Finding(MISSING, ("There is one sample and one click metric: nothing else to compare with.",))
    depending = [one for one in claim.varied if one.depends]
    verdict = f"Which metrics lead depends significantly on {listed(f'the {one.by}' for one in depending)}."
    if not depending:
        choices = listed((f"{one.by}s" for one in claim.varied), "or")
        verdict = f"No significant disagreement between {choices} about which metrics lead."
    clicks = f" (click metrics: {', '.join(claim.counted)})" if len(claim.counted) > 1 else ""
    texts = [verdict]
    for one in claim.varied:
        each = _EACH[one.by]
        if one.depends:
            best = (f"{few_spoken(choice.best, 'or')} {each.format(choice.value)}" for choice in one.known)
            texts.append(f"{capital('; '.join(best))}.")
        elif len(one.known) > 1:
            verb = "is" if len(one.shared) == 1 else "are"
            texts.append(f"{capital(few_spoken(one.shared))} {verb} among the leaders {_EVERY[one.by]}.")
        unknown = listed(choice.value for choice in one.choices if not choice.best)
        if unknown:
            of = unknown if one.by == "click metric" else f"clicks {each.format(unknown)}"
            texts.append(f"No metric measurably predicts {of}.")
    texts.append(
        "A leader is not significantly worse than any other metric or baseline; each choice is varied "
        f"alone{clicks}."
    )
    return Finding(f"{len(depending)} of {len(claim.varied)}", tuple(texts))


def scope_text(run: Run, sample: SampleKey | None, by_other_judges: Mapping[str, str]) -> str:
    """Return which sample decides, and what would be decided by other judges.

    sample: market, depth and judge; the market is ``all`` for all markets together.
    by_other_judges: the decision of each judge who decides otherwise, without a full stop.
    """
    if run.headline is None or sample is None:
        return ""
    is_sum = sample.market != run.headline.market
    why = ", the sample with the most usable sessions" if run.n_samples > 1 and not is_sum else ""
    texts = [f"All markets combined, {sample.label}." if is_sum else f"{capital(sample.label)}{why}."]
    for text in dict.fromkeys(by_other_judges.values()):
        judges = [visible(judge) for judge, other in by_other_judges.items() if other == text]
        texts.append(f"With the grades of {listed(judges)} the answer would be: \u201c{text}\u201d.")
    return " ".join(texts)
