"""Simulate a log: draw a corpus, let editors judge it, then draw and write period after period."""

from collections import Counter
from dataclasses import asdict
from functools import partial
from pathlib import Path

import numpy as np

from clickassay.core.errors import SimulationError
from clickassay.core.output import new_folder, write_json
from clickassay.core.progress import Event, Progress, silent
from clickassay.inputs.simulate.corpus import DEPTH, RANKERS, Corpus, make_corpus
from clickassay.inputs.simulate.judging import judge
from clickassay.inputs.simulate.rows import ClickRows, draw_rows
from clickassay.inputs.simulate.traffic import draw_traffic, periods
from clickassay.inputs.simulate.worlds import WORLDS, World, with_gain_map
from clickassay.inputs.simulate.writing import (
    CLICK_SCHEMA,
    click_table,
    row_groups,
    search_schema,
    search_table,
    write_judgments,
    write_queries,
)

MOST_SEARCHES = 10**11
MOST_QUERIES = 1_000_000
FEWEST_DEFAULT_QUERIES = 50
MOST_DEFAULT_QUERIES = 50_000
SEARCHES_PER_QUERY = 2_000

_CORPUS, _EDITORS, _PERIODS = range(3)  # streams of random numbers that share a seed


def simulate(
    world: str,
    *,
    searches: int,
    queries: int | None = None,
    seed: int = 0,
    gain_map: tuple[float, ...] | None = None,
    out: Path,
    progress: Progress = silent,
) -> Path:
    """Write the log of a world whose truth is known, in the canonical form of method 2.

    The folder holds ``searches.parquet``, ``clicks.parquet`` (both in order of time),
    ``judgments.parquet``, ``queries.parquet`` and ``truth.json``. It appears by one rename when all
    of it is written. Memory grows with `queries`, not with `searches`.

    Parameters
    ----------
    world
        A name in `WORLDS`.
    searches
        Number of searches; 1..10^11. What is delivered again comes on top.
    queries
        Number of distinct queries; 1..1,000,000. By default one per 2,000 searches, within
        50..50,000.
    seed
        The same seed and library versions give the same bytes; 0..2^63 - 1.
    gain_map
        Chances R(0..4) that a result satisfies, for the world cascade; None = those of the paper.
    out
        The folder to make.
    progress
        Told the part done after every period.

    Returns
    -------
    `out`.

    Raises
    ------
    SimulationError
        If the world is unknown or a number is out of its range.
    OutputError
        If `out` exists, or cannot be written.
    """
    if queries is None:
        queries = min(max(FEWEST_DEFAULT_QUERIES, searches // SEARCHES_PER_QUERY), MOST_DEFAULT_QUERIES)
    chosen = _checked(world, searches, queries, seed)
    if gain_map is not None:
        chosen = with_gain_map(chosen, gain_map)
    with new_folder(out) as folder:
        progress(Event("making up queries"))
        corpus = make_corpus(queries, _stream(seed, _CORPUS))
        judgments, planted = judge(corpus, chosen.flaws, _stream(seed, _EDITORS))
        write_judgments(folder / "judgments.parquet", corpus, judgments)
        write_queries(folder / "queries.parquet", corpus)
        planted.update(_write_log(folder, chosen, corpus, searches=searches, seed=seed, progress=progress))
        asked = {"seed": seed, "searches": searches, "queries": queries}
        write_json(folder / "truth.json", _truth(chosen, asked, planted), sort_keys=False)
    return out


def _checked(world: str, searches: int, queries: int, seed: int) -> World:
    if world not in WORLDS:
        raise SimulationError(f"world {world!r} is unknown; choose one of {', '.join(WORLDS)}")
    limits = (("searches", searches, 1, MOST_SEARCHES), ("queries", queries, 1, MOST_QUERIES))
    for name, value, least, most in (*limits, ("seed", seed, 0, 2**63 - 1)):
        if not least <= value <= most:
            raise SimulationError(f"{name} is {value}; it must lie in {least}..{most}")
    return WORLDS[world]


def _stream(seed: int, *key: int) -> np.random.Generator:
    return np.random.default_rng([seed, *key])


def _write_log(
    folder: Path, world: World, corpus: Corpus, *, searches: int, seed: int, progress: Progress
) -> Counter[str]:
    """Write searches and clicks, one period at a time; return counts of what was planted."""
    planted: Counter[str] = Counter()
    waiting = ClickRows.none()  # clicks that come after the end of the period of their search
    as_searches = partial(search_table, corpus=corpus, markets=world.markets)
    as_clicks = partial(click_table, corpus=corpus)
    with (
        row_groups(folder / "searches.parquet", search_schema(world.markets), as_searches) as search_file,
        row_groups(folder / "clicks.parquet", CLICK_SCHEMA, as_clicks) as click_file,
    ):
        for period in periods(searches):
            rng = _stream(seed, _PERIODS, period.number)
            traffic = draw_traffic(period, corpus.popularity, world.flaws, len(world.markets), rng)
            rows, clicks, counts = draw_rows(traffic, corpus, world, searches, rng)
            planted.update(counts)
            search_file.add(rows)
            clicks = waiting.then(clicks)
            now = clicks.time_ms < period.end_ms
            click_file.add(clicks.take(now))
            waiting = clicks.take(~now)
            progress(
                Event(f"simulating {world.name}", (period.first_search + period.searches - 1) / searches)
            )
        click_file.add(waiting)
    return planted


def _truth(world: World, asked: dict[str, int], planted: Counter[str]) -> dict[str, object]:
    """Return what is true of a log: its world, what was asked for, and the counts of the planted but 0."""
    return {
        "world": world.name,
        "summary": world.summary,
        **asked,
        "markets": list(world.markets),
        "depth": DEPTH,
        "rankers": RANKERS,
        "law": asdict(world.law),
        "parameters": dict(world.parameters),
        "flaws": asdict(world.flaws),
        "planted": {name: count for name, count in sorted(planted.items()) if count},
    }
