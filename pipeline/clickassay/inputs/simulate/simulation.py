"""Simulate a log: draw a corpus, judge it, then draw and write period after period."""

from collections import Counter, deque
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, Generic

import numpy as np
from pyarrow import csv

from clickassay.core.errors import SimulationError
from clickassay.core.files.output import new_folder, write_json
from clickassay.core.progress import Event, Progress, silent
from clickassay.inputs.simulate.corpus import (
    DEPTH,
    MAX_GRADE,
    RANKERS,
    Corpus,
    RankedLists,
    judge,
    make_corpus,
    make_lists,
    popularity_of,
)
from clickassay.inputs.simulate.rows import (
    BOUGHT,
    OUTCOME_SCHEMA,
    ClickRows,
    Rows,
    draw_rows,
    join,
    outcome_table,
    prices_of,
    with_actions,
)
from clickassay.inputs.simulate.tests import NO_TESTS, PlanOfTests, Results, SimulatedTests, planned_tests
from clickassay.inputs.simulate.traffic import draw_traffic, periods
from clickassay.inputs.simulate.worlds import WORLDS, World, with_gains
from clickassay.inputs.simulate.writing import (
    click_schema,
    click_table,
    parquet_writer,
    search_schema,
    search_table,
    write_judgments,
    write_queries,
    write_tests,
)

ROW_GROUP = 100_000
"""A row group is written when at least this many rows are gathered."""

MOST_WAITING = 2
"""Row groups that wait for the threads of their file, so that these always have work."""


class RowGroups(Generic[Rows]):
    """Gathers rows and has them written as row groups of one file.

    At most `MOST_WAITING` row groups wait, so memory does not grow with the file.
    """

    def __init__(
        self,
        file: Any,  # noqa: ANN401 - pyarrow
        arrow: Callable[[Rows], Any],
        makes: Executor,
        writes: Executor,
    ) -> None:
        self._file = file
        self._arrow: Callable[[Rows], Any] = arrow
        self._makes = makes
        self._writes = writes
        self._gathered: list[Rows] = []
        self._waiting: deque[Future[None]] = deque()

    def add(self, rows: Rows) -> None:
        """Take rows; have a row group written when enough are gathered."""
        self._gathered.append(rows)
        if sum(map(len, self._gathered)) >= ROW_GROUP:
            self._flush()
        while len(self._waiting) > MOST_WAITING:
            self._waiting.popleft().result()

    def finish(self) -> None:
        """Write what is left."""
        if any(map(len, self._gathered)):
            self._flush()
        while self._waiting:
            self._waiting.popleft().result()

    def _flush(self) -> None:
        table = self._makes.submit(self._arrow, join(self._gathered))
        self._waiting.append(self._writes.submit(self._write, table))
        self._gathered = []

    def _write(self, made: Future[Any]) -> None:
        table = made.result()
        self._file.write_table(table, row_group_size=len(table))


@contextmanager
def row_groups(file: Any, arrow: Callable[[Rows], Any]) -> Iterator[RowGroups[Rows]]:  # noqa: ANN401 - pyarrow
    """Write to a Parquet writer of PyArrow, which is closed at the end; `arrow` turns rows into a table."""
    with file, ThreadPoolExecutor(max_workers=1) as writes, ThreadPoolExecutor(max_workers=1) as makes:
        groups = RowGroups(file, arrow, makes, writes)
        yield groups
        groups.finish()


MOST_SEARCHES = 10**11
MOST_QUERIES = 1_000_000
FEWEST_DEFAULT_QUERIES = 50
MOST_DEFAULT_QUERIES = 50_000
SEARCHES_PER_QUERY = 2_000

# streams of random numbers that share a seed
_CORPUS, _EDITORS, _PERIODS, _PRICES, _ACTIONS, _TESTS = range(6)


def simulate(  # noqa: PLR0913 - one for each choice
    world: str,
    *,
    n_searches: int,
    n_queries: int | None = None,
    seed: int = 0,
    gains: tuple[float, ...] | None = None,
    actions: bool = False,
    tests: PlanOfTests = NO_TESTS,
    out: Path,
    progress: Progress = silent,
) -> Path:
    """Write the log of a world whose truth is known, in the canonical form of method 2.

    The folder holds ``searches.parquet``, ``clicks.parquet`` (both in order of time),
    ``judgments.parquet``, ``queries.parquet`` and ``truth.json``; with `actions` also
    ``outcomes.parquet``, with `tests` also ``assignments.parquet`` (where there are A/B tests),
    ``truth_tests.csv`` and ``clickassay.toml``. It appears by one rename when all of it is written. Memory
    grows with `n_queries`, not with `n_searches`.

    world: a name in `WORLDS`.
    n_searches: number of searches; 1..10^11. Repeated deliveries come on top.
    n_queries: number of distinct queries; 1..1,000,000. By default one per 2,000 searches, within 50..50,000.
    seed: the same seed and library versions give the same bytes; 0..2^63 - 1.
    gains: probabilities R(0..4) that a result satisfies, for the world cascade; None = those of the paper.
    actions: whether users put results into the cart, with the chance R(g) of the result that they click, and
      buy a quarter of them; all else of the log is the same.
    tests: the A/B tests and interleaved tests that its users take part in.
    out: the folder to make.
    progress: receives the share done after every period.

    Returns `out`.

    Raises SimulationError if the world is unknown or a number is out of its range; OutputError if `out`
    exists, or cannot be written.
    """
    if n_queries is None:
        n_queries = min(max(FEWEST_DEFAULT_QUERIES, n_searches // SEARCHES_PER_QUERY), MOST_DEFAULT_QUERIES)
    if world not in WORLDS:
        raise SimulationError(f"world {world!r} is unknown; choose one of {', '.join(WORLDS)}")
    limits = (("n_searches", n_searches, 1, MOST_SEARCHES), ("n_queries", n_queries, 1, MOST_QUERIES))
    for name, value, least, most in (*limits, ("seed", seed, 0, 2**63 - 1)):
        if not least <= value <= most:
            raise SimulationError(f"{name} is {value}; it must be between {least} and {most}")
    chosen = WORLDS[world]
    if gains is not None:
        chosen = with_gains(chosen, gains)
    planted_tests = planned_tests(tests, _stream(seed, _TESTS))
    with new_folder(out) as folder:
        progress(Event("making up queries"))
        rng = _stream(seed, _CORPUS)
        corpus = make_corpus(n_queries, rng)
        judgments, planted = judge(corpus, chosen.noise, _stream(seed, _EDITORS))
        write_queries(folder / "queries.parquet", corpus)
        with ThreadPoolExecutor(max_workers=1) as thread:
            judged = thread.submit(write_judgments, folder / "judgments.parquet", corpus, judgments)
            lists = make_lists(corpus, rng)
            shown = None
            if planted_tests:
                shown = SimulatedTests.of(planted_tests, corpus, seed, _stream(seed, _TESTS, 1))
            log = partial(_write_log, folder, chosen, corpus, lists, shown, has_actions=actions)
            planted.update(log(n_searches=n_searches, seed=seed, progress=progress))
            judged.result()
        if shown is not None:
            progress(Event("writing the truth of its tests"))
            write_tests(folder, shown, n_searches)
            chances = np.array(gains or [(2**grade - 1) / 16 for grade in range(MAX_GRADE + 1)])
            truth_of = shown.truth(lists, popularity_of(n_queries), chances, len(chosen.markets))
            csv.write_csv(truth_of, folder / "truth_tests.csv")
        truth = {
            "world": chosen.name,
            "summary": chosen.summary,
            "seed": seed,
            "searches": n_searches,
            "queries": n_queries,
            "markets": list(chosen.markets),
            "depth": DEPTH,
            "rankers": RANKERS,
            "law": asdict(chosen.law),
            "parameters": dict(chosen.parameters),
            "noise": asdict(chosen.noise),
            "planted": {name: count for name, count in sorted(planted.items()) if count},
        } | ({"tests": asdict(tests)} if planted_tests else {})
        write_json(folder / "truth.json", truth, sort_keys=False)
    return out


def _stream(seed: int, *key: int) -> np.random.Generator:
    return np.random.default_rng([seed, *key])


def _write_log(  # noqa: PLR0913 - the parts of a log
    folder: Path,
    world: World,
    corpus: Corpus,
    lists: RankedLists,
    tests: SimulatedTests | None,
    *,
    has_actions: bool,
    n_searches: int,
    seed: int,
    progress: Progress,
) -> Counter[str]:
    planted: Counter[str] = Counter()
    waiting = ClickRows.none()  # clicks that come after the end of the period of their search
    has_drafts = tests is not None and tests.has_drafts
    schema = search_schema(world.markets, has_drafts=has_drafts)
    searches = parquet_writer(folder / "searches.parquet", schema)
    clicked = parquet_writer(folder / "clicks.parquet", click_schema(has_actions=has_actions))
    as_searches = partial(search_table, corpus=corpus, markets=world.markets, tests=tests)
    with (
        row_groups(searches, as_searches) as search_file,
        row_groups(clicked, partial(click_table, corpus=corpus, has_actions=has_actions)) as click_file,
        _revenue(folder, corpus, seed) if has_actions else nullcontext() as revenue,
    ):
        for period in periods(n_searches):
            rng = _stream(seed, _PERIODS, period.number)
            traffic = draw_traffic(period, corpus.popularity, world.noise, len(world.markets), rng)
            pages = traffic.query * RANKERS + traffic.ranker
            shown = Results.plain(lists, pages) if tests is None else tests.shown(traffic, lists, pages)
            rows, clicks, counts = draw_rows(traffic, shown, world, n_searches, rng)
            planted.update(counts)
            search_file.add(rows)
            if revenue is not None:
                clicks, more = with_actions(clicks, corpus, _stream(seed, _ACTIONS, period.number))
                planted.update(more)
                revenue.add(clicks.take(clicks.action == BOUGHT))
            clicks = waiting.then(clicks)
            now = clicks.time_ms < period.end_ms
            click_file.add(clicks.take(now))
            waiting = clicks.take(~now)
            progress(
                Event(f"simulating {world.name}", (period.first_search + period.searches - 1) / n_searches)
            )
        click_file.add(waiting)
    return planted


@contextmanager
def _revenue(folder: Path, corpus: Corpus, seed: int) -> Iterator[RowGroups[ClickRows]]:
    prices = prices_of(corpus, _stream(seed, _PRICES))
    file = parquet_writer(folder / "outcomes.parquet", OUTCOME_SCHEMA)
    with row_groups(file, partial(outcome_table, prices=prices)) as groups:
        yield groups
