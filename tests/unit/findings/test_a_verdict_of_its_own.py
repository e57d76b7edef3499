"""A study with a verdict of its own takes run and ranking from findings: it adds a record and a section."""

from dataclasses import dataclass

import pytest

from clickassay.findings.ranking import rank
from clickassay.report.model import Section, briefly
from support.reports.verdict_world import correlations, pairs, run_of

VALUES = {"ERR": 0.40, "DCG": 0.36, "AP": 0.10, "MeanGrade": 0.25}


@dataclass(frozen=True)
class LowestClaim:
    """Which metric predicts clicks worst, and whether all others are significantly above it."""

    metric: str
    value: float
    is_proven: bool


def lowest(run):
    """The part that would be a module of findings."""
    ranking = rank(run, run.headline)
    metric = ranking.metrics[-1]
    others = ranking.metrics[:-1]
    return LowestClaim(
        metric, ranking.competitors[metric].value, ranking.above(metric, others) == tuple(others)
    )


def section_on(claim):
    """The part that would be a section of the report."""
    proven = "every other metric predicts clicks better" if claim.is_proven else "others may be as low"
    return Section("lowest", "Which metric is lowest?", (f"{claim.metric} ({claim.value:.2f}): {proven}.",))


@pytest.mark.parametrize(
    ("significant", "is_proven"), [([{"ERR", "AP"}, {"DCG", "AP"}], True), ([{"ERR", "AP"}], False)]
)
def test_a_verdict_of_its_own_is_one_record_and_one_section(significant, is_proven):
    run = run_of(correlations=correlations(VALUES), comparisons=pairs(VALUES, significant))
    claim = lowest(run)
    assert claim == LowestClaim("AP", 0.10, is_proven)
    words = "every other metric predicts clicks better" if is_proven else "others may be as low"
    assert briefly(section_on(claim)).reading == (f"AP (0.10): {words}.",)
