"""A/B tests and interleaved tests of a simulated log: who takes part, what is shown, and what users like.

Each user takes part in one test. Control shows the rankings of the log; the new ranker moves results up or
down by their grades. What users think of the new rankings may be unrelated to that: then they click as if
other results stood there.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from clickassay.core.errors import SimulationError
from clickassay.core.text.words import listed
from clickassay.inputs.columns import ASSIGNMENTS, arrow_schema
from clickassay.inputs.simulate.corpus import DEPTH, RANKERS, Corpus, RankedLists, grades_of
from clickassay.inputs.simulate.traffic import (
    DAY_MS,
    DAYS,
    FIRST_DAY_MS,
    FIRST_MARKET_TENTHS,
    Period,
    Traffic,
    ranker_shares,
)

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Looks = NDArray[np.int8]
Strengths = NDArray[np.float32]

RELATIONS = ("related", "unrelated", "gated")
"""How users' liking relates to the grades.

They like what the grades say; or both are drawn apart; or drawn apart, but only rankings that the grades like
are tested, and users like these on average.
"""

MOST_TESTS = 1000

ARMS = ("control", "new")

A_A, WRONG_SPLIT, TWO_VARIANTS, RAMP_UP = "a_a", "wrong_split", "two_variants", "ramp_up"
UNEQUALLY_JUDGED, EMPTY_LISTS = "unequally_judged", "empty_lists"
FIRST_PLACE, SAME_RANKERS = "first_place", "same_rankers"
TRAPS = (A_A, WRONG_SPLIT, TWO_VARIANTS, RAMP_UP, UNEQUALLY_JUDGED, EMPTY_LISTS)
TRAPS_OF_DRAFTS = (FIRST_PLACE, SAME_RANKERS)
"""What is wrong with one test each, where there are `FEWEST_WITH_TRAPS` of a kind."""

FEWEST_WITH_TRAPS = 12
_WITHOUT_EFFECT = (A_A, RAMP_UP, EMPTY_LISTS, SAME_RANKERS)

CHANGED, VARIES = 0.5, 0.5
"""Share of the queries whose rankings a test changes, and how its effect varies between them."""

HARM = 0.2
"""Rankings are good: to harm them is easier than to improve them, so that bad rankers are less bad."""

SPLIT, WRONG = 0.5, 0.4
"""Share of users who see the new ranker, and that of the test whose split is wrong."""

RAMP = (0.1, 0.1, 0.2, 0.3, 0.4, 0.5, 0.5)
"""The same by day, of the test that grows; each of its users takes part on one day."""

DRIFT = 0.2
"""Share of the clicks of that test that are missing on its first day; none on its last."""

IN_TWO, EMPTY, FIRST = 0.05, 0.05, 0.6
"""Shares of users in both arms, of empty lists, and of drafts in which the new ranker comes first."""

UNJUDGED_PLACE = 2
"""Where the new ranker of `UNEQUALLY_JUDGED` shows a result of another query, which has no grade there."""

TRUTH_DEPTHS = (5, DEPTH)

_LAYER, _ARM, _DAY, _TWO, _EMPTY, _COINS, _FIRST, _KEPT = range(8)  # streams of `uniform`


@dataclass(frozen=True)
class PlantedTest:
    """A test, and by how many places a grade moves results up in new rankings, on average; below 0, down."""

    name: str
    is_interleaved: bool
    trap: str = ""  # One of `TRAPS` or `TRAPS_OF_DRAFTS`; empty = nothing is wrong.
    offline: float = 0.0  # As they are shown.
    users: float = 0.0  # As users think of them.

    @property
    def has_effect(self) -> bool:
        """Whether its rankers differ."""
        return self.trap not in _WITHOUT_EFFECT

    @property
    def declared(self) -> str:
        """The section of the project file that declares it."""
        last = np.datetime64(FIRST_DAY_MS + (DAYS - 1) * DAY_MS, "ms").astype("datetime64[D]")
        more = "is_aa = true\n" if self.trap in (A_A, SAME_RANKERS) else ""
        if self.trap == RAMP_UP:
            new = round(100 * sum(RAMP) / len(RAMP))
            more = f"shares = {{ control = {100 - new}, new = {new} }}\n"
        return f'[tests.{self.name}]\ncontrol = "{ARMS[0]}"\nuntil = {last}\n{more}'


@dataclass(frozen=True)
class PlanOfTests:
    """How many A/B tests and interleaved tests a log has, 0..1000 each, and one of `RELATIONS`."""

    experiments: int = 0
    interleaved: int = 0
    relation: str = RELATIONS[0]


NO_TESTS = PlanOfTests()


def planned_tests(plan: PlanOfTests, rng: np.random.Generator) -> tuple[PlantedTest, ...]:
    """Draw the tests of a plan.

    Raises SimulationError if a number is out of its range, the relation is unknown, or it is of no test.
    """
    for name, value in (("experiments", plan.experiments), ("interleaved", plan.interleaved)):
        if not 0 <= value <= MOST_TESTS:
            raise SimulationError(f"{name} is {value}; it must be between 0 and {MOST_TESTS}")
    if plan.relation not in RELATIONS:
        raise SimulationError(f"tests {plan.relation!r} are unknown; choose {listed(RELATIONS, 'or')}")
    if plan.relation != RELATIONS[0] and not plan.experiments + plan.interleaved:
        raise SimulationError(f"tests are {plan.relation}, but there are none; give --experiments N")
    kinds = ((False, plan.experiments, TRAPS, "ab"), (True, plan.interleaved, TRAPS_OF_DRAFTS, "mixed"))
    planned = []
    for is_interleaved, number, traps, called in kinds:
        own = traps if number >= FEWEST_WITH_TRAPS else ()
        for place in range(number):
            offline, apart = rng.standard_normal(2).tolist()
            users = offline
            if plan.relation == "unrelated":
                users = apart
            elif plan.relation == "gated":
                offline, users = abs(offline), 0.5 + apart
            trap = own[place] if place < len(own) else ""
            name = trap or f"{called}_{place + 1 - len(own):02d}"
            planned.append(PlantedTest(name, is_interleaved, trap, offline, users))
    return tuple(planned)


@dataclass(frozen=True)
class Results:
    """What n searches show."""

    documents: NDArray[np.int32]  # (n, DEPTH) documents, best first.
    looks: Looks  # (n, DEPTH) how users see them, as `RankedLists.looks`.
    # Number of the interleaved test, -1 = none, and the mask of the places that its new ranker gave.
    draft: Integers
    teams: Integers
    is_empty: Bools  # Whether the list is empty, because of a test.
    clicks: Bools  # Whether users click at all.

    @classmethod
    def plain(cls, lists: RankedLists, pages: Integers) -> "Results":
        """Return the lists of rows of `lists`."""
        none, never = np.full(len(pages), -1), np.zeros(len(pages), np.bool_)
        documents, looks = lists.documents.take(pages, axis=0), lists.looks.take(pages, axis=0)
        return cls(documents, looks, none, np.zeros(len(pages), np.int64), never, ~never)


@dataclass(frozen=True)
class SimulatedTests:
    """The T tests of a log."""

    planted: tuple[PlantedTest, ...]
    # (T, Q) by how many places a grade moves results of a query up in new rankings; 0 = the same rankings.
    offline: Strengths  # As they are shown.
    users: Strengths  # As users think of them.
    first_document: Integers  # (Q,) of the corpus.
    seed: int

    @classmethod
    def of(
        cls, planted: tuple[PlantedTest, ...], corpus: Corpus, seed: int, rng: np.random.Generator
    ) -> "SimulatedTests":
        """Draw which queries they change, and how.

        Raises SimulationError if the corpus has one query alone.
        """
        queries = len(corpus.queries)
        if queries < 2:
            raise SimulationError(f"n_queries is {queries}; tests need 2 or more")
        sizes, shape = np.bincount(corpus.query_of), (len(planted), queries)
        means, likings = np.array([(one.offline, one.users) for one in planted]).T[..., None]
        changes = (rng.random(shape) < CHANGED) & np.array([[one.has_effect] for one in planted])

        def drawn(means: Floats) -> Strengths:
            drawn = means + VARIES * rng.standard_normal(shape)
            return np.where(changes, np.where(drawn > 0, drawn, drawn * HARM), 0).astype(np.float32)

        offline = drawn(means)
        users = offline if (means == likings).all() else drawn(likings)
        return cls(planted, offline, users, np.cumsum(sizes) - sizes, seed)

    def _uniform(self, keys: Integers, stream: int) -> Floats:
        """Return a number of [0, 1) for each key, always the same (SplitMix64; Steele, Lea, Flood 2014)."""
        start = np.random.SeedSequence([self.seed, stream]).generate_state(1, np.uint64)
        z = keys.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + start
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            z = (z ^ (z >> np.uint64(shift))) * np.uint64(factor)
        return ((z ^ (z >> np.uint64(31))) >> np.uint64(11)) / 2.0**53

    @cached_property
    def _traps(self) -> NDArray[np.str_]:
        return np.array([one.trap for one in self.planted], np.str_)

    def _test_and_arm(self, users: Integers) -> tuple[Integers, Bools, Integers]:
        """Return the test of users, whether they see its new ranker, and their day in the test that grows."""
        test = (self._uniform(users, _LAYER) * len(self.planted)).astype(np.int64)
        day = (self._uniform(users, _DAY) * DAYS).astype(np.int64)
        trap = self._traps[test]
        share = np.where(trap == WRONG_SPLIT, WRONG, SPLIT)
        share = np.where(trap == RAMP_UP, np.array(RAMP)[day], share)
        return test, self._uniform(users, _ARM) < share, day

    def shown(self, traffic: Traffic, lists: RankedLists, pages: Integers) -> Results:
        """Return what searches show, and how their users see it."""
        plain = Results.plain(lists, pages)
        test, is_new, own_day = self._test_and_arm(traffic.user)
        trap, day = self._traps[test], (traffic.time_ms - FIRST_DAY_MS) // DAY_MS
        takes_part = (trap != RAMP_UP) | (day == own_day)
        is_draft = self._is_draft[test]
        is_treated = is_new & ~is_draft & takes_part
        user_and_query = traffic.user * len(self.first_document) + traffic.query
        coins = (self._uniform(user_and_query, _COINS) * 2 ** (DEPTH // 2)).astype(np.int64)
        unfair = coins & ~1 | (self._uniform(user_and_query, _FIRST) < FIRST)
        coins = np.where(trap == FIRST_PLACE, unfair, coins)
        orders = []
        for strengths in (self.offline, self.users):
            moved = _order(plain.looks, strengths[test, traffic.query])
            order = np.where(is_treated[:, None], moved, np.arange(DEPTH))
            # the same coins for both: users see the new ranker's results where they are shown
            order[is_draft] = drafted(moved[is_draft], coins[is_draft])
            orders.append(order)
        documents = np.take_along_axis(plain.documents, orders[0], axis=1)
        looks = np.take_along_axis(plain.looks, orders[1], axis=1)
        changes = self.offline[test, traffic.query] != 0
        lacks = np.flatnonzero((trap == UNEQUALLY_JUDGED) & is_treated & changes)
        other = (traffic.query[lacks] + 1) % len(self.first_document)
        documents[lacks, UNJUDGED_PLACE], looks[lacks, UNJUDGED_PLACE] = self.first_document[other], 0
        of_search = self._uniform(traffic.search, _EMPTY), self._uniform(traffic.search, _KEPT)
        drifts = 1 - DRIFT * (1 - day / (DAYS - 1))
        is_empty = (trap == EMPTY_LISTS) & is_treated & (of_search[0] < EMPTY)
        return Results(
            documents, looks, np.where(is_draft, test, -1), teams_of(coins) * is_draft,
            is_empty, ~is_empty & ((trap != RAMP_UP) | (of_search[1] < drifts)),
        )  # fmt: skip

    @cached_property
    def _is_draft(self) -> Bools:
        return np.array([one.is_interleaved for one in self.planted])

    @property
    def has_drafts(self) -> bool:
        """Whether some tests are interleaved."""
        return bool(self._is_draft.any())

    @property
    def has_arms(self) -> bool:
        """Whether some tests are A/B tests."""
        return not self._is_draft.all()

    def assignments(self, period: Period) -> pa.Table:
        """Return the arms of the users of a period, those in two too."""
        users = np.arange(period.first_user, period.first_user + period.users)
        test, is_new, day = self._test_and_arm(users)
        kept = ~self._is_draft[test]
        users, test, is_new, day = users[kept], test[kept], is_new[kept], day[kept]
        in_two = np.flatnonzero((self._traps[test] == TWO_VARIANTS) & (self._uniform(users, _TWO) < IN_TWO))
        rows = np.sort(np.concatenate([np.arange(len(users)), in_two]), kind="stable")
        again = np.zeros(len(rows), np.bool_)
        again[1:] = rows[1:] == rows[:-1]
        since, is_always = FIRST_DAY_MS + day[rows] * DAY_MS, self._traps[test[rows]] != RAMP_UP
        names = [one.name for one in self.planted]
        columns = {
            "user_id": pa.array(users[rows]),
            "experiment": pa.DictionaryArray.from_arrays(pa.array(test[rows], pa.int32()), names),
            "variant": pa.DictionaryArray.from_arrays(
                pa.array((is_new[rows] ^ again).astype(np.int32)), list(ARMS)
            ),
            "timestamp": pa.array(since, mask=is_always).cast(_TIME),
            "until": pa.array(since + DAY_MS, mask=is_always).cast(_TIME),
        }
        return pa.table([columns[name] for name in ASSIGNMENT_SCHEMA.names], schema=ASSIGNMENT_SCHEMA)

    def truth(self, lists: RankedLists, popularity: Floats, chances: Floats, markets: int) -> pa.Table:
        """Return the true differences of each test: a row for each test and depth.

        offline: of ERR, on the log's traffic. users: of ERR as users see the rankings, which is the expected
        difference of MeanRR in the world `cascade`; of an interleaved test, between its two rankers.

        chances: (5,) R(0..4). popularity: (Q,) shares of the queries.
        """
        shares = ranker_shares()
        first = FIRST_MARKET_TENTHS / 10 if markets > 1 else 1.0
        weights = (popularity[:, None] * (first * shares + (1 - first) * shares[::-1])).ravel()
        rows = []
        for one, *of_test in zip(self.planted, self.offline, self.users, strict=True):
            moved = []
            for strengths in of_test:
                pages = np.flatnonzero(np.repeat(strengths, RANKERS))
                looks = lists.looks[pages]
                new = np.take_along_axis(looks, _order(looks, np.repeat(strengths, RANKERS)[pages]), axis=1)
                changes = (err(new, chances, depth) - err(looks, chances, depth) for depth in TRUTH_DEPTHS)
                moved.append([float(weights[pages] @ change) for change in changes])
            kind = "interleaved" if one.is_interleaved else "ab"
            rows += [(one.name, kind, one.trap, *of) for of in zip(TRUTH_DEPTHS, *moved, strict=True)]
        return pa.table(dict(zip(TRUTH_COLUMNS, zip(*rows, strict=True), strict=True)))


TRUTH_COLUMNS = ("experiment", "kind_of_test", "trap", "depth", "offline", "users")

_TIME = pa.timestamp("ms", tz="UTC")
_CODED = pa.dictionary(pa.int32(), pa.string())
ASSIGNMENT_SCHEMA = arrow_schema(
    ASSIGNMENTS, "experiment", "timestamp", "until", user_id=pa.int64(), experiment=_CODED, variant=_CODED,
    timestamp=_TIME, until=_TIME,
)  # fmt: skip
"""Columns of ``assignments.parquet``."""


def _order(looks: Looks, strengths: Strengths) -> Integers:
    """Return (n, DEPTH) places of the control ranking in the order of the new one."""
    keys = np.arange(DEPTH) - strengths[:, None] * grades_of(looks)
    return np.asarray(np.argsort(keys, axis=1, kind="stable"))


def drafted(order: Integers, coins: Integers) -> Integers:
    """Return (n, DEPTH) places of the control ranking in the order of a team draft with a new one.

    In each round either ranker gives its best result that is not there yet; bit r of a coin says whether the
    new one begins round r (Radlinski, Kurup and Joachims 2008).
    """
    rows, taken = np.arange(len(order)), np.zeros(order.shape, np.bool_)
    mixed = np.empty_like(order)
    for place in range(DEPTH):
        of_new = order[rows, np.argmin(np.take_along_axis(taken, order, axis=1), axis=1)]
        mixed[:, place] = np.where(_is_new(coins, place), of_new, np.argmin(taken, axis=1))
        taken[rows, mixed[:, place]] = True
    return mixed


def _is_new(coins: Integers, place: int) -> Bools:
    return np.asarray(((coins >> (place // 2)) & 1) != place % 2)


def teams_of(coins: Integers) -> Integers:
    """Return the masks of the places that the new ranker gives in drafts."""
    places: Iterator[Any] = (_is_new(coins, place).astype(np.int64) << place for place in range(DEPTH))
    return np.asarray(sum(places, np.zeros(len(coins), np.int64)))


def err(looks: Looks, chances: Floats, depth: int) -> Floats:
    """Return ERR of (n, DEPTH) rankings at a depth: Σ 1/r R(g_r) Π_{i<r} (1 - R(g_i))."""
    chance = chances[grades_of(looks[:, :depth])]
    goes_on = np.cumprod(1 - chance, axis=1)
    reached = np.concatenate([np.ones((len(looks), 1)), goes_on[:, :-1]], axis=1)
    found: Floats = (chance * reached / np.arange(1, depth + 1)).sum(axis=1)
    return found
