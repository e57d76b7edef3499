"""The first screen for a chat, a mail or another program: ``summary.json`` and ten lines of Markdown."""

import math
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

from clickassay.core.records import SampleKey
from clickassay.core.text.escape import markdown
from clickassay.core.text.words import capital
from clickassay.correlation.uncertainty.intervals import ALPHA
from clickassay.findings.claims import Claim, DependsClaim
from clickassay.findings.draw import Findings
from clickassay.findings.estimates import Estimate
from clickassay.findings.ranking import Ranking, prefers_the_same
from clickassay.report.verdict.decision import Advice
from clickassay.report.verdict.sentences import (
    claim_title,
    clicks_of,
    is_of_rankings,
    shown_value,
    spoken,
    verdict_sentence,
    within_finding,
    write_findings,
)

SUMMARY_FILE = "summary.json"

MOST = 12
"""Metrics that the Markdown lists."""

SCHEMA = 4
"""Number of the form of ``summary.json``: one more when a key gets another name or meaning."""

SEVERITIES = ("caution", "finding", "stop")
"""How severe a check of the log is, the mildest first."""

METHOD = "excluding one query at a time (jackknife), Student's t"
FAMILY = "all pairs of offline metrics of one market, depth, judge and click metric, baselines included"
FAMILY_NOTHING = "all offline metrics of one market, depth, judge and click metric, baselines included"


TEST = {
    "method": METHOD,
    "adjustment": "Holm",
    "alpha": ALPHA,
    "family": FAMILY,
    "family_of_numbers": FAMILY_NOTHING,
}


def summary(
    findings: Findings,
    decision: Advice,
    days: tuple[date, date] | None = None,
    tests: Sequence[Mapping[str, Any]] = (),
) -> dict[str, Any]:
    """Return the content of ``summary.json`` (schema: docs/reference/summary.md).

    days: the first and the last day of the log. tests: its A/B tests, an entry each.
    """
    texts = [one.text for one in (*write_findings(findings), within_finding(findings.within))]
    claims = (
        _claim(findings.correlation), _claim(findings.differences), _depends(findings.depends),
        _claim(findings.within),
    )  # fmt: skip
    means = []
    for name, one in findings.means.items():
        low, high = (None if math.isnan(end) else end for end in (one.low, one.high))
        means.append(
            {"metric": name, "mean": one.mean, "ci_low": low, "ci_high": high, "caution": one.caution}
        )
    return {
        "schema": SCHEMA,
        "log_status": max((str(one.status) for one in findings.health), key=SEVERITIES.index, default=None),
        "days": None if days is None else [str(day) for day in days],
        "decision": decision.content,
        "verdict": {
            "kind": findings.verdict.kind,
            "sentence": verdict_sentence(findings.verdict),
            "question": findings.verdict.question,
            "quantity": findings.verdict.claims[0].ranking.quantity,
            "sample": _sample(findings.verdict.claims[0].ranking.sample),
            "by_click": [
                {
                    "click_metric": claim.ranking.click,
                    "kind": claim.kind,
                    "subject": claim.subject,
                    "among_best": list(claim.ranking.among_best),
                    "unbeaten_baselines": list(claim.ranking.unbeaten),
                    "sentence": claim_title(claim),
                }
                for claim in findings.verdict.claims
            ],
        },
        "findings": [{**claim, "sentence": text} for claim, text in zip(claims, texts, strict=True)],
        "means": means,
        "health": [one.as_entry() for one in findings.health],
        "experiments": list(tests),
    }


def _sample(key: SampleKey | None) -> dict[str, str | int] | None:
    return None if key is None else dict(key.columns)


def _claim(claim: Claim) -> dict[str, Any]:
    ranking, compared = claim.ranking, []
    for name in ranking.competitors:
        if claim.subject is not None and name != claim.subject:  # how far the subject is ahead of it
            lead = ranking.lead(claim.subject, name)
            compared.append(
                {
                    "metric": name,
                    "is_baseline": ranking.competitors[name].is_baseline,
                    **_estimate(lead.estimate, "difference"),
                    "p_adjusted": lead.p_adjusted,
                    "significant": None if lead.p_adjusted is None else lead.is_significant,
                    "queries_needed": lead.queries_needed,
                    "n_queries": lead.n_queries,
                }
            )
    numbers = [
        {
            "metric": one.name,
            "is_baseline": one.is_baseline,
            **_estimate(one.estimate, "value"),
            "null": one.null,
            "p_adjusted": one.p_adjusted,
            "above_null": one.is_above_nothing,
            "sign_agreement": claim.sign_agreement.get(name),
            **_share_ends(one.estimate if name in claim.sign_agreement else Estimate(None)),
        }
        for name, one in ranking.competitors.items()
    ]
    return {
        "kind": claim.kind,
        "quantity": ranking.quantity,
        "sample": _sample(ranking.sample),
        "click_metric": ranking.click,
        "subject": claim.subject,
        "among_best": list(ranking.among_best),
        "unbeaten_baselines": list(ranking.unbeaten),
        "numbers": numbers,
        "compared_with": compared,
        "influential_share": claim.influential_share,
        "test": TEST,
        "reason": ranking.reason,
    }


def _share_ends(cell: Estimate) -> dict[str, Any]:
    """Return the ends of an interval of correlations as shares of pairs of rankings, 0..1."""
    ends = {"sign_agreement_low": cell.low, "sign_agreement_high": cell.high}
    return {name: None if end is None else prefers_the_same(end) for name, end in ends.items()}


def _estimate(cell: Estimate, name: str) -> dict[str, Any]:
    return {name: cell.value, "ci_low": cell.low, "ci_high": cell.high, "caution": cell.caution}


def _depends(claim: DependsClaim) -> dict[str, Any]:
    return {
        "kind": claim.kind,
        "click_metrics": list(claim.counted),
        "varied": [
            {
                "by": one.by,
                "depends": one.depends,
                "shared": list(one.shared),
                "choices": [{"value": each.value, "among_best": list(each.best)} for each in one.choices],
            }
            for one in claim.varied
        ],
        "test": TEST,
        "reason": claim.reason,
    }


def summary_markdown(
    decision: Advice, ranking: Ranking, facts: Sequence[tuple[str, str]], tests: Sequence[str] = ()
) -> str:
    """Return decision, reason, ranking and the size of the data; those among the best are bold."""
    lead = " ".join(filter(None, (decision.scope, decision.lead)))
    lines = [f"**{markdown(decision.sentence)}.** {markdown(lead)}".rstrip(), ""]
    for text in (f"Next: {decision.next_step}", *tests):
        lines += [markdown(text), ""]
    if ranking.competitors:
        texts = []
        for one in list(ranking.competitors.values())[:MOST]:
            text = f"{markdown(spoken(one.name))} {markdown(shown_value(ranking, one.name))}"
            texts.append(f"**{text}**" if one.name in ranking.among_best else text)
        rest = len(ranking.competitors) - len(texts)
        values = ", ".join(texts) + (f", and {rest} more" if rest else "")
        what = f"{capital(ranking.quantity)} with {markdown(ranking.click)}"
        if is_of_rankings(ranking):
            what = f"Picks the ranking users prefer, on {markdown(clicks_of(ranking.click))}"
        lines += [f"{what}: {values}.", ""]
    lines += [f"- {markdown(name)}: {markdown(text)}" for name, text in facts]
    return "\n".join([*lines, "", "Full report: `report.html`.", ""])
