"""The worlds: how users click on a page, and which law then holds exactly in expectation.

A world is a record: a user model (grades of the shown pages in, clicks out), its law, and the noise of its
log. R(g) = (2^g - 1) / 2^4 is always the probability that a result of grade g satisfies its user
(Chapelle et al. 2009, equation 4); method 5 and 6 define the metrics that the laws name.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from clickassay.core.errors import SimulationError
from clickassay.inputs.simulate.indices import first_of_each_row

Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Pages:
    """The pages shown to n searches."""

    grades: NDArray[np.int8]  # (n, depth) true grade of each result; 0..4.
    clickbait: Bools  # (n, depth) whether the snippet promises more than the page holds.


UserModel = Callable[[Pages, np.random.Generator], Bools]
"""Which results are clicked: (n, depth) booleans."""


@dataclass(frozen=True)
class Law:
    """A law of every configuration: E[click_metric] = factor * editorial_metric, at every depth."""

    words: str
    click_metric: str | None = None
    editorial_metric: str | None = None
    factor: float | None = None


@dataclass(frozen=True)
class Noise:
    """Noise of a log: shares of rows that are not clean, 0 in the worlds with an exact law."""

    # repeated_search, other_list: Share of the later searches of a visit that repeat the query before them,
    # and the share of those that get another ranker's list.
    repeated_search: float = 0.0
    other_list: float = 0.0
    bot_searches: float = 0.0  # Share of searches made by bots, which click everything or nothing.
    # repeated_click, late_click: Share of clicks that are made again, and that come two hours late.
    repeated_click: float = 0.0
    late_click: float = 0.0
    # null_query, null_user, empty_results, null_in_results, delivered_again: Shares of searches.
    null_query: float = 0.0
    null_user: float = 0.0
    empty_results: float = 0.0
    null_in_results: float = 0.0
    delivered_again: float = 0.0
    # null_url, orphan_click: Share of clicks without a URL, and clicks of no search per click.
    null_url: float = 0.0
    orphan_click: float = 0.0
    # editor_error, unjudged: Share of judgments that are one grade off, and of documents without a judgment.
    editor_error: float = 0.0
    unjudged: float = 0.0


CLEAN = Noise()


@dataclass(frozen=True)
class World:
    """A planted truth."""

    # name, summary: Its name, and one line on it.
    name: str
    summary: str
    law: Law  # The law that holds exactly.
    clicks: UserModel  # The user model.
    # Parameters of the user model, as ``truth.json`` shows them.
    parameters: Mapping[str, object] = field(default_factory=dict)
    noise: Noise = CLEAN  # Noise of the log.
    markets: tuple[str, ...] = ()  # Market labels, or none.


def satisfied(grades: NDArray[np.int8], rng: np.random.Generator) -> Bools:
    """Draw True with probability R(g) = (2^g - 1) / 2^4: exact, because sixteenths are drawn."""
    sixteenths = rng.integers(0, 16, grades.shape, dtype=np.uint8)
    return np.asarray(sixteenths < (1 << grades) - 1)


def cascade(pages: Pages, rng: np.random.Generator) -> Bools:
    """Read from the top, click the first result that satisfies, and stop (Algorithm 1 of the paper)."""
    return first_of_each_row(satisfied(pages.grades, rng))


def mapped_cascade(pages: Pages, rng: np.random.Generator, *, chances: tuple[float, ...]) -> Bools:
    """Like `cascade`, with other probabilities that a result of grade 0..4 satisfies."""
    return first_of_each_row(np.asarray(rng.random(pages.grades.shape) < np.array(chances)[pages.grades]))


def persistent(pages: Pages, rng: np.random.Generator, *, persistence: float) -> Bools:
    """Go on to the next result with probability p; click every result that satisfies.

    One draw per page gives the last position examined: P(position r examined) = p^(r-1).
    """
    last = rng.geometric(1 - persistence, len(pages.grades))
    positions = np.arange(1, pages.grades.shape[1] + 1)
    return np.asarray((positions <= last[:, None]) & satisfied(pages.grades, rng))


def discounted(pages: Pages, rng: np.random.Generator) -> Bools:
    """Examine position r with probability 1 / log2(r + 1), independently; click what satisfies."""
    chance = 1 / np.log2(np.arange(2, pages.grades.shape[1] + 2))
    return np.asarray((rng.random(pages.grades.shape) < chance) & satisfied(pages.grades, rng))


def first_relevant(pages: Pages, _rng: np.random.Generator, *, relevant_grade: int) -> Bools:
    """Click the first result whose grade is `relevant_grade` or more, and stop."""
    return first_of_each_row(pages.grades >= relevant_grade)


def relevance_blind(pages: Pages, rng: np.random.Generator, *, first: float, decay: float) -> Bools:
    """Click position r with probability first * decay^(r-1), whatever is shown there."""
    chance = first * decay ** np.arange(pages.grades.shape[1])
    return np.asarray(rng.random(pages.grades.shape) < chance)


@dataclass(frozen=True)
class Browsing:
    """Parameters of the user model of the world `web`, fitted to a real log (tests/unit/inputs/simulate)."""

    leaves_at_once: float = 0.20  # Share of users who leave without examining a result.
    # Share of users who collect results instead of seeking one: no result ends their search.
    thorough: float = 0.25
    # Chance that an examined result of grade 0..4 is clicked.
    attraction: tuple[float, ...] = (0.11, 0.17, 0.27, 0.36, 0.43)
    clickbait_attraction: float = 0.30  # The same for a bad or fair result with a clickbait snippet.
    # Thorough users look so many times at a result: their chance is 1 - (1 - attraction)^looks.
    looks: float = 3.5
    # Chance that a clicked result of grade 0..4 ends the search.
    satisfaction: tuple[float, ...] = (0.05, 0.25, 0.50, 0.70, 0.90)
    # goes_on, goes_on_after_click: Chance to go on to the next result.
    goes_on: float = 0.93
    goes_on_after_click: float = 0.80


def browse(pages: Pages, rng: np.random.Generator, *, habits: Browsing) -> Bools:
    """Read from the top, click results that look good, stop when satisfied or tired.

    A click does not imply satisfaction, and no click does not imply dissatisfaction: no editorial
    metric predicts these clicks exactly.
    """
    count, depth = len(pages.grades), pages.grades.shape[1]
    thorough = rng.random(count) < habits.thorough
    ordinary = np.array(habits.attraction)
    chance = np.concatenate([ordinary, np.full_like(ordinary, habits.clickbait_attraction)])
    chances = np.concatenate([chance, 1 - (1 - chance) ** habits.looks])  # of every result and every user
    kind = pages.grades + np.int8(len(ordinary)) * pages.clickbait
    attracted = rng.random((count, depth)) < chances[kind + np.int8(len(chance)) * thorough[:, None]]
    contented = rng.random((count, depth)) < np.array(habits.satisfaction)[pages.grades]
    contented &= ~thorough[:, None]
    clicked = np.ascontiguousarray(attracted.T)  # place by place, as they are read
    ends = np.ascontiguousarray(contented.T)
    reading = rng.random(count) >= habits.leaves_at_once
    for place in range(depth):
        clicked[place] &= reading
        drawn, clicks = rng.random(count), clicked[place]
        goes_on = np.where(clicks, drawn < habits.goes_on_after_click, drawn < habits.goes_on)
        reading &= goes_on & ~(clicks & ends[place])
    return np.ascontiguousarray(clicked.T)


PERSISTENCE = 0.8
RELEVANT_GRADE = 3
NULL_FIRST, NULL_DECAY = 0.4, 0.75

_WEB_NOISE = Noise(
    repeated_search=0.10,
    other_list=0.5,
    bot_searches=0.01,
    repeated_click=0.11,
    late_click=0.001,
    null_query=0.0005,
    null_user=0.0005,
    empty_results=0.0005,
    null_in_results=0.0005,
    delivered_again=0.003,
    null_url=0.001,
    orphan_click=0.002,
    editor_error=0.10,
    unjudged=0.02,
)

WORLDS: Mapping[str, World] = MappingProxyType(
    {
        world.name: world
        for world in (
            World(
                "web",
                "looks like a real log: snippets that mislead, repeats, bots, broken rows, editors who err",
                Law("no offline metric predicts these clicks exactly"),
                partial(browse, habits=Browsing()),
                MappingProxyType(asdict(Browsing())),
                _WEB_NOISE,
                ("north", "south"),
            ),
            World(
                "cascade",
                "users read from the top, click the first result that satisfies them and stop",
                Law("the mean of MeanRR over sessions is ERR", "MeanRR", "ERR", 1.0),
                cascade,
            ),
            World(
                "rbp",
                "users go on to the next result with probability p and click what satisfies them",
                Law("the mean of QCTR over sessions is RBP / (1 - p)", "QCTR", "RBP", 1 / (1 - PERSISTENCE)),
                partial(persistent, persistence=PERSISTENCE),
                MappingProxyType({"persistence": PERSISTENCE}),
            ),
            World(
                "dcg",
                "users examine position r with probability 1 / log2(r + 1) and click what satisfies them",
                Law("the mean of QCTR over sessions is DCG / 16", "QCTR", "DCG", 1 / 16),
                discounted,
            ),
            World(
                "rr",
                "users click the first result of grade 3 or 4 and stop",
                Law("MaxRR of every session is RR", "MaxRR", "RR", 1.0),
                partial(first_relevant, relevant_grade=RELEVANT_GRADE),
                MappingProxyType({"relevant_grade": RELEVANT_GRADE}),
            ),
            World(
                "null",
                "users click by position, whatever is shown there",
                Law("clicks are independent of the grades: only SS correlates with them"),
                partial(relevance_blind, first=NULL_FIRST, decay=NULL_DECAY),
                MappingProxyType({"first": NULL_FIRST, "decay": NULL_DECAY}),
            ),
        )
    }
)
"""The worlds by name, the default first."""


def with_gains(world: World, chances: tuple[float, ...]) -> World:
    """Return the world `cascade` with other probabilities R(0..4) that a result satisfies.

    Raises SimulationError if it is another world, or not five chances that do not fall with the grade.
    """
    if world.name != "cascade":
        raise SimulationError(f"gains are for the world cascade, not for {world.name}")
    if (
        len(chances) != 5
        or any(not 0 <= chance <= 1 for chance in chances)
        or list(chances) != sorted(chances)
    ):
        raise SimulationError(
            f"gains {', '.join(map(str, chances))}: expected five numbers of 0..1 in ascending order, "
            "for the grades 0 to 4, e.g. 0,0.1,0.35,0.4,0.8"
        )
    return replace(
        world,
        law=Law("the mean of MeanRR over sessions is ERR with R(g) of the gains"),
        clicks=partial(mapped_cascade, chances=chances),
        parameters=MappingProxyType({"gains": chances}),
    )
