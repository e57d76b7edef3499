"""The sentences of each kind of decision: title, reasons, and what to do next."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from clickassay.core.text.words import capital, count, number, percent, signed
from clickassay.findings.claims import Claim, Verdict
from clickassay.findings.decision import USUAL, Decision, Kind
from clickassay.findings.estimates import not_computed
from clickassay.findings.ranking import REACH, WITHIN_QUERIES, Lead, Question, Ranking, prefers_the_same
from clickassay.findings.signals import Evidence
from clickassay.health.checks import HealthCheck
from clickassay.report.tables import caution_reason, p_text
from clickassay.report.verdict.sentences import (
    PREDICTED,
    adds_text,
    all_spoken,
    approximate_count,
    clicks_of,
    few_spoken,
    interval_text,
    rounded_out,
    rounded_up,
    spoken,
    told_apart,
)

PURPOSE: Mapping[Question, str] = {
    "rankings": "at comparing two rankings",
    "queries": "at finding badly served queries",
}
"""What a metric is to be good for."""

_USERS: Mapping[Question, str] = {
    "rankings": "which of two rankings users prefer",
    "queries": "which queries are badly served",
}
_NUMBER: Mapping[Question, str] = {
    "rankings": "Within-query correlation with {}",
    "queries": "Correlation with {} over all queries",
}
_DECIDE_SIGNAL = "Decide which signal means success for you, and list it first in --click-metric."


Told = tuple[str, ...]
"""A sentence without its full stop, reasons as sentences, and the next step."""


def told_of(
    verdict: Verdict,
    decision: Decision,
    health: Sequence[HealthCheck],
    evidence: Sequence[Evidence],
    ceiling: float | None,
) -> Told:
    """Return a decision in sentences; its arguments are those of `decision.advise`."""
    if decision.kind == "log_at_fault":
        return f"The log has a problem: {health[0].fault}", health[0].sentence, health[0].remedy
    if decision.kind == "cannot_decide":
        return _undecided(verdict.claims[0])
    return _TELL[decision.kind](_Case(verdict, decision, tuple(evidence), ceiling))


# ---- parts of sentences ---------------------------------------------------------------------------


@dataclass(frozen=True)
class _Case:
    verdict: Verdict
    decision: Decision
    evidence: tuple[Evidence, ...]
    ceiling: float | None

    @property
    def ranking(self) -> Ranking:
        return self.verdict.claims[0].ranking

    @property
    def purpose(self) -> str:
        return PURPOSE[self.decision.question]

    @property
    def current(self) -> str:
        return self.decision.current or ""

    @property
    def subject(self) -> str:
        return self.decision.subject or ""


def _bounds(lead: Lead) -> str:
    """Return the interval that is meant; with the p-value in the family where the two tests differ."""
    low, high = lead.together
    if low is None or high is None:
        return "no interval"
    p = f", Holm-adjusted p {p_text(lead.p_adjusted)}" if lead.is_significant and low <= 0 <= high else ""
    is_plain = lead.together == (lead.estimate.low, lead.estimate.high)
    return f"{'' if is_plain else 'simultaneous '}95% CI {rounded_out(low, high)}{p}"


def _other_leaders(case: _Case) -> Iterator[str]:
    """Say which signals tell leaders apart, or have one that is significantly worse on the first."""
    for click, names in case.decision.by_others.items():
        are = "is" if len(names) == 1 else "are"
        yield f"On {clicks_of(click)}, {few_spoken(names)} {are} significantly better than another of these."
    for one in case.evidence[1:]:
        if one.best is not None and one.best not in case.ranking.among_best:
            yield f"On {clicks_of(one.click)}, {spoken(one.best)} is highest."


def _ahead(lead: Lead) -> str:
    """Return a difference with its interval, as ``+0.035, simultaneous 95% CI 0.010 to 0.060``."""
    return f"{signed(lead.value or 0.0)}, {_bounds(lead)}"


def _compared(case: _Case, first: str, second: str, lead: Lead) -> Iterator[str]:
    """Say how often each of two picks the ranking that users prefer, and their difference in correlation."""
    known = case.ranking.competitors
    if case.decision.question == "rankings" and {first, second} <= set(known):
        one, other = (percent(prefers_the_same(known[name].value)) for name in (first, second))
        most = "" if case.ceiling is None else percent(prefers_the_same(case.ceiling))
        most = f"; best possible here: {most}" if most else ""
        yield (
            f"{capital(spoken(first))} picks the ranking users prefer in {one} of pairs, "
            f"{spoken(second)} in {other} (coin toss: 50%{most})."
        )
    what = _NUMBER[case.decision.question].format(clicks_of(case.ranking.click))
    value = lead.value or 0.0
    apart = f"{number(abs(value))} {'lower' if value < 0 else 'higher'} than"
    yield f"{what}: {spoken(first)} is {apart} {spoken(second)} ({_bounds(lead)})."


def _margin(case: _Case) -> str:
    """Say which differences do not matter, and what they mean at the correlations that there are."""
    decision = case.decision
    if not decision.margin:
        return ""
    text = f"Differences under {decision.margin:g} are treated as negligible"
    if decision.question == "queries":
        return f"{text}."
    reference = (decision.is_compared and decision.current) or case.ranking.highest
    value = case.ranking.competitors[reference].value
    points = 100 * (prefers_the_same(value + decision.margin) - prefers_the_same(value))
    return f"{text}: about {number(points, 1)} of 100 pairs of rankings."


def _signals(case: _Case) -> Iterator[str]:
    """Say what each further signal says of the metric in use, and of the one that is advised."""
    current, subject = case.current, case.subject
    for one in case.evidence[1:]:
        words = clicks_of(one.click)
        if one.lead is not None and one.best != subject and not one.has_consent:
            text = f"On {words}, {spoken(one.best or '')} is significantly better than {current} "
            text += f"({_ahead(one.lead)})"
            if one.advised is not None:
                verb = "is too, by less" if one.advised.is_ahead else "is not"
                text += f"; {spoken(subject)} {verb} ({_ahead(one.advised)})"
            yield f"{text}."
        elif one.advised is not None and one.kind == "supports":
            better = f"{spoken(subject)} is significantly better than {current} ({_ahead(one.advised)})"
            yield f"On {words} too, {better}."
        elif one.advised is not None:
            value = one.advised.value or 0.0
            apart = f"{number(abs(value))} {'lower' if value < 0 else 'higher'}"
            sure = "significant" if one.advised.is_significant else "not significant"
            verb = "contradict" if one.kind == "opposes" else "do not confirm"
            there = f"there {spoken(subject)} is {apart} ({_bounds(one.advised)}, {sure})"
            yield f"{capital(words)} {verb} this: {there}."
        elif one.lead is None and current in one.ranking.competitors:
            yield f"On {words}, {_no_winner(case, one.ranking)}."


# ---- a metric in use ------------------------------------------------------------------------------


def _switch(case: _Case) -> Told:
    current, subject, lead = case.current, case.subject, case.decision.lead or Lead(not_computed())
    ranking = case.ranking
    users = _USERS[case.decision.question]
    level = ranking.not_above(subject, ranking.baselines)
    margin, value = case.decision.margin, lead.value or 0.0
    small = (
        f"The gain is significant but small: under {margin:g}, which is treated as negligible."
        if value < margin
        else ""
    )
    higher = tuple(
        name for name in level if ranking.competitors[name].value > ranking.competitors[subject].value
    )
    beats = f"{subject} does not significantly beat {all_spoken(level, 'or')}." if level else ""
    if higher:
        beats += f" A baseline is advised only where no metric beats {current}."
    also, too = case.decision.names, ""
    if also:
        are = "is" if len(also) == 1 else "are"
        too = f"{capital(few_spoken(also))} {are} significantly better than {current}, too."
    return (
        f"Switch from {current} to {subject}: {subject} predicts significantly better {users}",
        *_compared(case, subject, current, lead),
        small,
        too,
        beats,
        *_signals(case),
        f"Report {subject} alongside {current} through the next ranker change, then drop {current}.",
    )


def _baseline_better(case: _Case) -> Told:
    baseline, current = spoken(case.subject), case.current
    return (
        f"{capital(baseline)} is significantly better than {current} {case.purpose}",
        *_compared(case, case.subject, current, case.decision.lead or Lead(not_computed())),
        adds_text(case.ranking, case.subject, [current]),
        *_signals(case),
        f"Look at {baseline} alongside {current}.",
    )


def _keep(case: _Case) -> Told:
    ranking, current, bound, other = case.ranking, case.current, case.decision.bound, case.decision.other
    level = ranking.not_above(current, ranking.baselines)
    why, nearest = "there is no other metric to compare with", ""
    if bound is not None and other is not None:
        if bound < 0:
            why = f"every other metric is worse {case.purpose}"
            least = number(math.floor(round(-bound * 1000, 6)) / 1000)
            nearest = f"The closest competitor, {spoken(other)}, is at least {least} lower."
        else:
            why = f"no metric is {f'more than {rounded_up(bound)} ' if bound else ''}better {case.purpose}"
            nearest = (
                f"The upper limit, {rounded_up(bound)}, is that of {spoken(other)}. {_margin(case)}".strip()
            )
    return (
        f"Keep {current}: {why}",
        nearest,
        f"{current} does not significantly beat {all_spoken(level, 'or')}." if level else "",
        *_signals(case),
        "No change needed. Run again after a change of ranker, audience or grading guidelines.",
    )


def _disagree(case: _Case) -> Told:
    """Say what wins on each signal; or, without a metric in use, which metrics lead on each."""
    decision, current = case.decision, case.current
    if not decision.is_compared:
        each = [(claim.ranking.click, claim.ranking.among_best) for claim in case.verdict.claims]
        leading = "; ".join(f"{few_spoken(names)} on {clicks_of(click)}" for click, names in each if names)
        return (
            f"Your signals disagree about the best metric {case.purpose}",
            f"Not significantly worse than any other: {leading}.",
            _at_one_moment(decision),
            _DECIDE_SIGNAL,
        )
    words = told_apart(decision.winners)
    first = {words[click]: names[0] for click, names in decision.winners.items()}
    title = f"Your signals disagree about {current}"
    if len(set(first.values())) > 1:
        (signal, winner), *rest = first.items()
        on = [
            f"on {signal} {spoken(winner)} is better",
            *(f"on {other} {spoken(name)}" for other, name in rest),
        ]
        title = f"Replace {current}: {', '.join(on)}"
    rankings = [claim.ranking for claim in case.verdict.claims]
    whole = next(iter(decision.winners), None)  # the click metric whose sentence is in full
    shares = (_won(case, ranking, ranking.click == whole) for ranking in rankings)
    called = told_apart(ranking.click for ranking in rankings)
    further = (text for ranking in rankings for text in _not_won(case, ranking, called[ranking.click]))
    gains = [
        ranking.against(current)[names[0]].value or 0.0
        for ranking in rankings
        if (names := decision.winners.get(ranking.click))
    ]
    is_small = min(gains, default=math.inf) < decision.margin
    small = f"Gains under {decision.margin:g} are significant but small." if is_small else ""
    higher = [
        f"On {called[ranking.click]}, {spoken(ranking.highest)} is higher still."
        for ranking in rankings
        if (won := decision.winners.get(ranking.click)) and ranking.highest not in won
        if ranking.competitors[ranking.highest].is_baseline
    ]
    if higher:
        higher.append(f"A baseline is advised only where no metric beats {current}.")
    return title, *shares, *further, small, *higher, _at_one_moment(decision), _DECIDE_SIGNAL


def _won(case: _Case, ranking: Ranking, is_first: bool) -> str:
    """Say how often the winner on a signal and the metric in use pick the ranking that users prefer."""
    current, known = case.current, ranking.competitors
    called = capital(clicks_of(ranking.click))
    if not (names := case.decision.winners.get(ranking.click)):
        return f"{called}: {_no_winner(case, ranking)}."
    lead = ranking.against(current)[names[0]]
    low, high = lead.together
    ends = _bounds(lead) if is_first or low is None or high is None else rounded_out(low, high)
    ahead = f"{number(lead.value or 0.0)} higher ({ends})"
    if case.decision.question == "queries":
        return f"{called}: the correlation of {spoken(names[0])} over all queries is {ahead}."
    won, own = (percent(prefers_the_same(known[name].value)) for name in (names[0], current))
    picks, of = (" picks the ranking users prefer in", " of pairs") if is_first else ("", "")
    return f"{called}: {spoken(names[0])}{picks} {won}{of}, {current} {own}; correlation {ahead}."


def _leads(case: _Case, ranking: Ranking) -> dict[str, Lead]:
    return ranking.against(case.current) if case.current in ranking.competitors else {}


def _no_winner(case: _Case, ranking: Ranking) -> str:
    """Say that no metric wins; one may be ahead, but by little, or without being better than chance."""
    if any(lead.is_ahead for lead in _leads(case, ranking).values()):
        return f"no metric is shown to beat both chance and {case.current} by enough to matter"
    return f"no metric is significantly better than {case.current}"


def _not_won(case: _Case, ranking: Ranking, called: str) -> Iterator[str]:
    """Say what a signal says of the metrics that win on other signals; else of those that signals reverse."""
    winners, leads = case.decision.winners, _leads(case, ranking)
    own, named = winners.get(ranking.click, ())[:1], [names[0] for names in winners.values()]
    if not named:
        tested = [_leads(case, claim.ranking) for claim in case.verdict.claims]
        sure = [{name: one.is_ahead for name, one in own.items() if one.is_significant} for own in tested]
        named = [name for name in leads if {own[name] for own in sure if name in own} == {True, False}]
    for name in dict.fromkeys(named):
        if name in leads and name not in own:
            lead, what = leads[name], "is not significantly better"
            if lead.is_significant:
                what = f"is significantly {'better' if lead.is_ahead else 'worse'}"
            yield f"On {called}, {spoken(name)} {what} ({_ahead(lead)})."


def _open(case: _Case) -> Told:
    ranking, decision, purpose = case.ranking, case.decision, case.purpose
    lead, one_moment = decision.lead, _at_one_moment(decision)
    seen: tuple[str, ...] = ()
    if lead is not None and lead.value is not None:
        seen = tuple(_compared(case, case.subject, decision.other or "", lead))
    if decision.is_taken_back:
        name = decision.subject or decision.names[0]
        value = ranking.competitors[name].estimate
        return (
            "Inconclusive: all rankings changed at one moment",
            f"Queries whose ranking improved more in {spoken(name)} gained more in "
            f"{clicks_of(ranking.click)} ({number(value.value)}, {interval_text(value)}).",
            *seen,
            "This is evidence only if nothing else that changed at the same moment favoured these queries.",
            _SETTLE_CHANGE,
        )
    if decision.unproven is not None:
        why = f"{spoken(decision.unproven)} does not measurably beat chance {purpose}"
        return f"Inconclusive: {why}", *seen, one_moment, _settled(decision)
    if not decision.is_compared:
        return _leading(case)
    current, alone = case.current, []
    for click, names in decision.by_others.items():
        are = "is" if len(names) == 1 else "are"
        alone.append(f"On {clicks_of(click)}, {few_spoken(names)} {are} significantly better than {current}.")
    if decision.bound is not None and decision.bound < decision.margin:
        (click, names), *_ = decision.by_others.items()
        words = told_apart((click, ranking.click))
        why = f"on {words[click]} {spoken(names[0])} is better than {current}, on {words[ranking.click]} not"
        return f"Inconclusive: {why}", *seen, *alone, _DECIDE_SIGNAL
    by = "" if decision.bound is None else f"up to {rounded_up(decision.bound)} "
    return (
        f"Inconclusive: {spoken(case.subject)} could be {by}better than {current} {purpose}",
        *seen,
        *alone,
        one_moment,
        *(() if alone else _signals(case)),
        _settled(decision),
    )


_SETTLE_CHANGE = "Run an A/B test, or wait for another ranker release and run again."


def _at_one_moment(decision: Decision) -> str:
    if decision.shared is None or not decision.shared.is_one_change:
        return ""
    return "All rankings changed at one moment, so whatever else changed then may be in these numbers."


def _settled(decision: Decision) -> str:
    """Say what would settle it: how many judged queries bring the difference above 0, or below the margin."""
    if _at_one_moment(decision):
        return _SETTLE_CHANGE
    is_rankings = decision.question == "rankings"
    what = "queries with two fully judged rankings" if is_rankings else "judged queries"
    lead = decision.lead
    if lead is not None and (high := lead.together[1]) is not None:
        value = lead.value or 0.0
        room = decision.margin - value if value < decision.margin else value
        # an interval narrows with the root of the number of queries
        needed = lead.n_queries * ((high - value) / room) ** 2 if room > 0 else math.inf
        if lead.n_queries < needed <= REACH * lead.n_queries:
            return (
                f"Judge more queries: a clear answer takes at least {approximate_count(needed)} {what}; "
                f"you have {count(lead.n_queries)}."
            )
    listed_there = "the results listed under \u201cWhat to judge next\u201d"
    return f"Judge {listed_there}, or use a longer log: more {what} are needed."


# ---- no metric in use -----------------------------------------------------------------------------


def _leading(case: _Case) -> Told:
    """Say which metrics lead, whether any beats the baselines, and what a metric in use would change."""
    ranking, decision, users = case.ranking, case.decision, _USERS[case.decision.question]
    leading = tuple(name for name in ranking.metrics if not ranking.above(name, ranking.metrics))
    worse = tuple(name for name in ranking.metrics if name not in leading)
    above_all = [name for name in ranking.baselines if not ranking.not_above(name, ranking.metrics)]
    if above_all:
        title = f"{spoken(above_all[0])} is significantly better than every metric {case.purpose}"
    elif len(ranking.metrics) == 1:
        title = f"{ranking.best} is the only metric: there is no other one to compare it with"
    elif worse:
        all_below = all((one, name) in ranking.ahead for one in leading for name in worse)
        verb, are = ("predict" if len(leading) > 1 else "predicts"), ("are" if len(worse) > 1 else "is")
        title = f"{few_spoken(leading)} {verb} best {users}; {few_spoken(worse)} {are} significantly worse"
        title += "" if all_below else " than another metric"
    else:
        title = f"No metric is significantly better than another {case.purpose}"
    usual, then = decision.with_usual, ""
    step = "Run again with --current and the name of your metric, to learn whether to keep it."
    if usual is not None:
        step = (
            f"Run again with --current {USUAL} (or your metric) to get a decision about the metric you use."
        )
        told = told_of(case.verdict, usual, (), (), None)[0]
        then = f"With --current {USUAL} the answer is: \u201c{told}\u201d."
    reasons = (*_baselines(case), *_other_leaders(case), then, _at_one_moment(decision))
    return capital(title), *reasons, step


def _baselines(case: _Case) -> Iterator[str]:
    """Say which baselines no metric beats, and by how much at most where that is known."""
    ranking, decision = case.ranking, case.decision
    if not ranking.baselines:
        return
    if decision.kind == "baseline_as_good":
        baseline, bound = case.subject, decision.bound
        if bound is not None and bound >= 0:
            by = f" by more than {rounded_up(bound)} in correlation" if bound else ""
            yield f"No metric beats {spoken(baseline)}{by}."
            yield _margin(case)
        yield adds_text(ranking, baseline)
    elif level := ranking.not_above(ranking.best, ranking.baselines):
        yield f"{ranking.best}, the highest metric, does not significantly beat {all_spoken(level, 'or')}."
    else:
        yield f"{ranking.best} significantly beats every baseline."


_TELL: Mapping[Kind, Callable[[_Case], Told]] = {
    "choose_click_metric": _disagree,
    "switch": _switch,
    "baseline_better": _baseline_better,
    "keep": _keep,
    "use": _leading,
    "baseline_as_good": _leading,
    "use_any": _leading,
    "cannot_say": _open,
}


# ---- nothing can be decided -----------------------------------------------------------------------


def _undecided(claim: Claim) -> Told:
    """Say why the tests of a click metric decide nothing, and what would help."""
    ranking = claim.ranking
    if claim.kind == "no_correlation":
        why = ranking.reason or "no value"
        step = "Judge all top results of a ranking: the report counts the excluded sessions, and why."
        if ranking.sample is not None:
            why = f"there is no correlation ({ranking.reason})"
            step = "Judge several rankings that differ in grades and in clicks."
        return f"This log cannot decide: {why}", step
    more = "Judge more queries: intervals get narrower."
    if claim.kind == "not_tested":
        return "This log cannot decide: no correlation could be tested", more
    if claim.kind != "nothing_predicts":
        caution = ranking.competitors[ranking.highest].estimate.caution
        return f"This log cannot decide: its intervals are unreliable ({caution_reason(caution)})", more
    metrics = [ranking.competitors[name] for name in ranking.metrics]
    clicks = clicks_of(ranking.click)
    if all(one.is_below_nothing for one in metrics):
        return (
            f"This log cannot decide: every metric correlates negatively with {clicks}",
            f"All metrics are significantly worse than chance; the highest has {number(metrics[0].value)}.",
            "Check whether the grading scale is reversed; if it is not, graders and users disagree.",
        )
    caution = next((one.estimate.caution for one in metrics if one.estimate.caution), None)
    ends = [end for one in metrics if (end := one.together[1]) is not None]
    ruled_out, highest = "", None  # none by an interval that is not reliable
    if caution:
        ruled_out = (
            f"A correlation cannot be ruled out: intervals are unreliable ({caution_reason(caution)})."
        )
    elif len(ends) == len(metrics):
        highest, queries = rounded_up(max(*ends, 0.0)), count(ranking.n_queries)
        ruled_out = f"{queries} queries show that no metric's correlation exceeds {highest}."
    users = f"{PREDICTED[ranking.quantity]}, on {clicks}" if ranking.quantity == WITHIN_QUERIES else clicks
    small = (
        "smaller correlations would not matter to you"
        if highest is None
        else f"a correlation of {highest} would be too small to matter"
    )
    return (
        f"This log cannot decide: no metric measurably predicts {users}",
        ruled_out,
        f"If {small}, review the judgments; otherwise judge more queries.",
    )
