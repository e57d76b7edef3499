"""Whether the best metric depends on the click metric, the market, the depth or the judge.

The best are the highest metric or baseline and all that it is not significantly above. Each choice is varied
alone, from the headline sample and click metric. The best metric depends on it when no metric is among
the best whatever is chosen: then each has been found significantly worse than another somewhere.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import polars as pl

from clickassay.core.records import SAMPLE_COLUMNS, SampleKey
from clickassay.core.text.words import visible
from clickassay.findings.ranking import Ranking, deciding
from clickassay.findings.run import Run
from clickassay.metrics.clicks import USES_GRADES

NOT_COUNTED = (USES_GRADES, "QCTR")
"""Click metrics that are not compared unasked: SS never is, QCTR counts every click."""


@dataclass(frozen=True)
class Choice:
    """One value of a choice, and the best metrics and baselines there; none where nothing predicts."""

    value: str
    best: tuple[str, ...]


@dataclass(frozen=True)
class Dependence:
    """The best metrics for every value of one choice."""

    by: str  # What is varied: ``click metric``, ``market``, ``depth`` or ``judge``.
    choices: tuple[Choice, ...]  # Its values, the headline's first.
    # Whether two metrics differ significantly in opposite directions, where that is known: significant by one
    # choice and not by another is no difference between the choices.
    is_opposed: bool = True

    @property
    def known(self) -> tuple[Choice, ...]:
        """The choices for which something predicts clicks."""
        return tuple(one for one in self.choices if one.best)

    @property
    def shared(self) -> tuple[str, ...]:
        """The metrics and baselines that are among the best for each known choice."""
        if not self.known:
            return ()
        first, *rest = self.known
        return tuple(name for name in first.best if all(name in one.best for one in rest))

    @property
    def depends(self) -> bool:
        """Whether no metric is among the best for all of two choices or more."""
        return len(self.known) > 1 and not self.shared and self.is_opposed


def by_click(run: Run) -> tuple[str, ...]:
    """Return the click metrics to compare: those asked for if several are, else all but `NOT_COUNTED`."""
    if len(run.counted) > 1:
        return run.counted
    return (run.click, *(one for one in run.clicks if one not in (run.click, *NOT_COUNTED)))


def dependence_on_clicks(rankings: Sequence[Ranking]) -> Dependence:
    """Return whether the best metric depends on the click metric."""
    ahead = [one.ahead for one in rankings]
    is_opposed = any((b, a) in other for own in ahead for a, b in own for other in ahead)
    choices = tuple(Choice(one.click, one.among_best) for one in rankings)
    return Dependence("click metric", choices, is_opposed=is_opposed)


def dependences(run: Run, clicks: Sequence[str]) -> tuple[Dependence, ...]:
    """Vary click metric, market, depth and judge, each alone, if it has several values."""
    if run.headline is None:
        return ()
    decided = deciding(run, run.headline)
    all_varied = [dependence_on_clicks([decided.rank(run, click) for click in clicks])]
    for column in SAMPLE_COLUMNS:
        choices = []
        for sample in varied(run, run.headline, column):
            # each market on its own; each depth or judge over the markets that decide
            place = sample if column == "market" else replace(sample, market=decided.sample.market)
            ranking = replace(decided, sample=place).rank(run)
            choices.append(Choice(visible(sample.columns[column]), ranking.among_best))
        all_varied.append(Dependence(column, tuple(choices)))
    return tuple(one for one in all_varied if len(one.choices) > 1)


def varied(run: Run, headline: SampleKey, column: str) -> list[SampleKey]:
    """Return the samples that differ from the headline one in this column at most; the headline first."""
    rows = run.frames["statistics"].filter(pl.col("n_sessions") > 0)
    same = {name: value for name, value in headline.columns.items() if name != column}
    keys = rows.filter(**same).sort(SAMPLE_COLUMNS).select(SAMPLE_COLUMNS).iter_rows()
    return [headline, *(key for key in (SampleKey(*row) for row in keys) if key != headline)]
