"""The first screen of a report as ten lines of Markdown."""

from collections.abc import Sequence

from clickassay.core.text.escape import markdown
from clickassay.core.text.words import capital, number
from clickassay.findings.ranking import Ranking
from clickassay.report.verdict.decision import Advice
from clickassay.report.verdict.words import spoken

MOST = 12
"""Metrics that are listed."""


def summary_markdown(decision: Advice, ranking: Ranking, facts: Sequence[tuple[str, str]]) -> str:
    """Return decision, reason, ranking and the size of the data; those among the best are bold."""
    lead = " ".join(filter(None, (decision.scope, decision.lead)))
    lines = [f"**{markdown(decision.sentence)}.** {markdown(lead)}".rstrip(), ""]
    lines += [f"Next: {markdown(decision.next_step)}", ""]
    if ranking.competitors:
        what = f"{capital(ranking.quantity)} with {markdown(ranking.click)}"
        lines += [f"{what}: {_values(ranking)}.", ""]
    lines += [f"- {markdown(name)}: {markdown(text)}" for name, text in facts]
    return "\n".join([*lines, "", "All of it: `report.html`.", ""])


def _values(ranking: Ranking) -> str:
    shown = list(ranking.competitors.values())[:MOST]
    best = set(ranking.among_best)
    texts = (f"{markdown(spoken(one.name))} {markdown(number(one.value))}" for one in shown)
    marked = (f"**{text}**" if one.name in best else text for one, text in zip(shown, texts, strict=True))
    rest = len(ranking.competitors) - len(shown)
    return ", ".join(marked) + (f", and {rest} more" if rest else "")
