"""Which queries people judged of those that a judge judged: at random, or as a plan drew them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clickassay.core.errors import NothingInCommonError
from clickassay.core.records import Floats
from clickassay.core.text.words import plural, visible
from clickassay.inputs.normalise import normalise_query

Rows = NDArray[np.int64]


@dataclass(frozen=True)
class Design:
    """How a plan chose the queries that people judge."""

    draws: tuple[str, ...]  # Queries, normalised, in the order of the draws.
    ratios: Floats  # (n,) p / q of each draw; above 0.
    # By query of the pool, normalised: p, the share of the query among all that are asked.
    weights: Mapping[str, float]


@dataclass(frozen=True)
class Sampled:
    """The queries that means are over, and the queries or draws that people judged."""

    kept: Rows  # Places of the queries of the mean among the queries of the judge.
    # rows, both: (n,) places of the queries that people judged, among theirs and among the judge's.
    rows: Rows
    both: Rows
    # shares, weights: Of the n, and of the kept; None = all alike.
    shares: Floats | None = None
    weights: Floats | None = None
    cautions: tuple[str, ...] = ()  # Sentences on what is left out.


def at_random(judge: Sequence[str], people: Sequence[str]) -> Sampled:
    """Return the queries of the judge, and of people among them, which count as a random sample."""
    place = {query: at for at, query in enumerate(judge)}
    rows = np.array([at for at, query in enumerate(people) if query in place], np.int64)
    both = np.array([place[people[at]] for at in rows], np.int64)
    alone = len(people) - len(rows)
    have = "has" if alone == 1 else "have"
    text = f"{plural(alone, 'query', 'queries')} judged by people {have} no grade by the judge: not used."
    return Sampled(np.arange(len(place)), rows, both, cautions=(text,) if alone else ())


def drawn_by(design: Design, judge: Sequence[str], people: Sequence[str]) -> Sampled:
    """Return the queries of a plan that the judge judged, and its draws up to the first without a judgment.

    Judgments missing after that draw are not missing at random.
    """
    by_judge, by_people = (
        {normalise_query(query): at for at, query in enumerate(side)} for side in (judge, people)
    )
    kept = {name: at for name, at in by_judge.items() if name in design.weights}
    if not kept:
        raise NothingInCommonError("the plan and the judgments by --judge have no query in common")
    drawn = [at for at, name in enumerate(design.draws) if name in kept]
    upto = next((at for at, draw in enumerate(drawn) if design.draws[draw] not in by_people), len(drawn))
    counted = drawn[:upto]
    ratios, names = design.ratios[counted], [design.draws[at] for at in counted]
    weights = np.array([design.weights[name] for name in sorted(kept, key=kept.__getitem__)])
    return Sampled(
        np.array(sorted(kept.values()), np.int64),
        np.array([by_people[name] for name in names], np.int64),
        np.array([kept[name] for name in names], np.int64),
        ratios / ratios.sum(),
        weights / weights.sum(),
        tuple(_left_out(design, (kept, by_people, by_judge), (upto, drawn))),
    )


def _left_out(
    design: Design, sides: tuple[Mapping[str, int], ...], draws: tuple[int, Sequence[int]]
) -> Iterator[str]:
    """Yield which queries and draws do not count."""
    kept, by_people, by_judge = sides
    upto, drawn = draws
    if upto < len(drawn):
        missing = visible(design.draws[drawn[upto]])
        yield f"Draw {drawn[upto] + 1} of the plan ({missing}) has no judgment: {upto} draws before it count."
    if lacking := len(design.weights) - len(kept):
        yield f"{_queries(lacking)} of the plan that the judge did not grade: left out."
    if more := len(by_judge) - len(kept):
        yield f"{_queries(more)} of the judge outside the plan: left out."
    if others := len(by_people.keys() - set(design.draws)):
        yield f"{_queries(others)} judged by people, but not drawn by the plan: not used."


def _queries(number: int) -> str:
    return plural(number, "query", "queries")
