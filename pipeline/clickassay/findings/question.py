"""Which question decides: comparing two rankings, or telling queries apart; and by which lists."""

from dataclasses import dataclass, replace

from clickassay.core.contracts.columns import EVERY
from clickassay.core.records import SampleKey
from clickassay.core.text.words import count
from clickassay.correlation.uncertainty.intervals import MIN_QUERIES
from clickassay.findings.ranking import Question, Ranking, rank, rank_within
from clickassay.findings.run import Run


@dataclass(frozen=True)
class Deciding:
    """The question that decides, and the lists that answer it."""

    question: Question  # Comparing two rankings, or telling queries apart.
    sample: SampleKey  # Market, depth and judge; the market is ``all`` for all markets together.
    instead: str | None = None  # Why it is not the question that was asked; None where it is.

    def rank(self, run: Run, click: str | None = None) -> Ranking:
        """Rank metrics and baselines by what answers the question; None = the headline click metric."""
        by_question = {"rankings": rank_within, "queries": rank}
        return by_question[self.question](run, self.sample, click)


def deciding(run: Run, sample: SampleKey) -> Deciding:
    """Return the question that decides about a sample, by all markets together where they answer it.

    Fewer than `MIN_QUERIES` queries with two judged lists cannot compare rankings.
    """
    together = replace(sample, market=EVERY)
    return deciding_in(run, together if together in run.places else sample, sample)


def deciding_in(run: Run, place: SampleKey, sample: SampleKey) -> Deciding:
    """Return the same by the lists of a place alone; a sample answers where it cannot."""
    if run.settings.question == "queries":
        return Deciding("queries", sample)
    queries = n_units(run, place)
    if queries >= MIN_QUERIES:
        return Deciding("rankings", place)
    return Deciding("queries", sample, _too_few(queries))


def n_units(run: Run, place: SampleKey) -> int:
    """Return the queries of a place that have two judged lists or more."""
    queries = place.rows(run.tables["within"]).filter(split=EVERY)["n_queries"]
    return int(max(queries, default=0))


def _too_few(queries: int) -> str:
    has = {0: "No query has", 1: "Only 1 query has"}.get(queries, f"Only {count(queries)} queries have")
    return f"{has} two judged lists, too few to compare rankings: more months or an A/B test would have them."
