"""The verdict, the findings and the health of the log as the content of ``summary.json``."""

import math
from dataclasses import asdict
from datetime import date
from typing import Any

from clickassay.core.records import SampleKey
from clickassay.correlation.estimates import Level
from clickassay.correlation.uncertainty.intervals import ALPHA
from clickassay.findings.claims import Claim, DependsClaim, Verdict
from clickassay.findings.draw import Findings
from clickassay.findings.estimates import Estimate
from clickassay.findings.ranking import Competitor, Ranking
from clickassay.report.verdict.decision import Advice
from clickassay.report.verdict.sentences import claim_title, verdict_sentence, within_finding, write_findings

SUMMARY_FILE = "summary.json"

SCHEMA = 3
"""Number of the form of ``summary.json``: one more when a key gets another name or meaning."""

SEVERITIES = ("caution", "finding", "stop")
"""How severe a check of the log is, the mildest first."""

METHOD = "leaving out one query at a time (jackknife), Student's t"
FAMILY = "all pairs of editorial metrics of one market, depth, judge and click metric, baselines included"
FAMILY_NOTHING = "all editorial metrics of one market, depth, judge and click metric, baselines included"


def summary(findings: Findings, decision: Advice, days: tuple[date, date] | None = None) -> dict[str, Any]:
    """Return the content of ``summary.json``; docs/reference/summary.md has its schema.

    findings: verdict, findings and health of a run.
    decision: what they amount to, in words.
    days: the first and the last day of the log.
    """
    texts = [one.text for one in (*write_findings(findings), within_finding(findings.within))]
    claims = (
        _claim(findings.correlation), _claim(findings.differences), _depends(findings.depends),
        _claim(findings.within),
    )  # fmt: skip
    return {
        "schema": SCHEMA,
        "log_status": max((str(one.status) for one in findings.health), key=SEVERITIES.index, default=None),
        "days": None if days is None else [str(day) for day in days],
        "decision": asdict(decision),
        "verdict": _verdict(findings.verdict),
        "findings": [{**claim, "sentence": text} for claim, text in zip(claims, texts, strict=True)],
        "means": [_mean(name, one) for name, one in findings.means.items()],
        "health": [one.as_entry() for one in findings.health],
    }


def _mean(name: str, level: Level) -> dict[str, Any]:
    low, high = (None if math.isnan(end) else end for end in (level.low, level.high))
    return {"metric": name, "mean": level.mean, "ci_low": low, "ci_high": high, "caution": level.caution}


def _verdict(verdict: Verdict) -> dict[str, Any]:
    return {
        "kind": verdict.kind,
        "sentence": verdict_sentence(verdict),
        "question": verdict.question,
        "quantity": verdict.claims[0].ranking.quantity,
        "sample": _sample(verdict.claims[0].ranking.sample),
        "by_click": [
            {
                "click_metric": claim.ranking.click,
                "kind": claim.kind,
                "subject": claim.subject,
                "among_best": list(claim.ranking.among_best),
                "unbeaten_baselines": list(claim.ranking.unbeaten),
                "sentence": claim_title(claim),
            }
            for claim in verdict.claims
        ],
    }


def _sample(key: SampleKey | None) -> dict[str, str | int] | None:
    return None if key is None else dict(key.columns)


def _claim(claim: Claim) -> dict[str, Any]:
    ranking = claim.ranking
    return {
        "kind": claim.kind,
        "quantity": ranking.quantity,
        "sample": _sample(ranking.sample),
        "click_metric": ranking.click,
        "subject": claim.subject,
        "among_best": list(ranking.among_best),
        "unbeaten_baselines": list(ranking.unbeaten),
        "numbers": [
            {**_number(one), "sign_agreement": claim.sign_agreement.get(name)}
            for name, one in ranking.competitors.items()
        ],
        "compared_with": [] if claim.subject is None else _compared(ranking, claim.subject),
        "influential_share": claim.influential_share,
        "test": _test(),
        "reason": ranking.reason,
    }


def _test() -> dict[str, Any]:
    return {
        "method": METHOD,
        "adjustment": "Holm",
        "alpha": ALPHA,
        "family": FAMILY,
        "family_of_numbers": FAMILY_NOTHING,
    }


def _number(one: Competitor) -> dict[str, Any]:
    return {
        "metric": one.name,
        "is_baseline": one.is_baseline,
        **_estimate(one.estimate, "value"),
        "null": one.null,
        "p_adjusted": one.p_adjusted,
        "above_null": one.is_above_nothing,
    }


def _estimate(cell: Estimate, name: str) -> dict[str, Any]:
    return {name: cell.value, "ci_low": cell.low, "ci_high": cell.high, "caution": cell.caution}


def _compared(ranking: Ranking, subject: str) -> list[dict[str, Any]]:
    """Return how far the subject is ahead of each other metric and baseline."""
    leads = {name: ranking.lead(subject, name) for name in ranking.competitors if name != subject}
    return [
        {
            "metric": name,
            "is_baseline": ranking.competitors[name].is_baseline,
            **_estimate(lead.estimate, "difference"),
            "p_adjusted": lead.p_adjusted,
            "significant": None if lead.p_adjusted is None else lead.is_significant,
            "queries_needed": lead.queries_needed,
            "n_queries": lead.n_queries,
        }
        for name, lead in leads.items()
    ]


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
        "test": _test(),
        "reason": claim.reason,
    }
