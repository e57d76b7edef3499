"""The pattern table of a log, made of the counts of the parts of its users (method 4)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from clickassay.core.contracts.patterns import ARM_PATTERNS, ARM_USERS, OUTCOMES, SIGNALS
from clickassay.core.errors import EngineError
from clickassay.core.numbering import Rows, Small
from clickassay.logs.arrays.columns import order_of_parts
from clickassay.logs.arrays.shown import LogTexts, lists_of
from clickassay.logs.arrays.steps.arms import added_outcomes
from clickassay.logs.arrays.steps.patterns import ONE, PatternCounts
from clickassay.logs.arrays.steps.teams import TeamRows
from clickassay.logs.arrays.workers import Workers
from clickassay.patterns.digests import configuration_digests, ids_of
from clickassay.patterns.funnel import LogFunnel
from clickassay.patterns.health import LogCounts
from clickassay.patterns.interleaving import ranker_pairs
from clickassay.patterns.sums import BY_DAY, Counted, Sums, WordLayout, added, dates, order_of, order_of_both
from clickassay.patterns.table import ARM_TABLES, Pieces, StagedTable, give_back, smallest_digests

_PIECE = 10_000
"""Configurations whose texts are put together at a time: they then stay in the cache."""
_SECTION_BITS = 12
_ROWS = 100_000
"""Rows of patterns, or of days, that are put together at a time."""


def pattern_table(
    parts: Sequence[PatternCounts],
    shown: LogTexts,
    workers: Workers,
    funnel: LogFunnel,
    health: LogCounts,
    *,
    is_open: bool,
) -> StagedTable:
    """Return the pattern table of all that was counted, which is then no longer held.

    funnel, health: counts of the same log; of its sessions that may still grow if `is_open`.
    """
    layout, lists = parts[0].layout, shown.lists
    # sessions on each list: of later pages, and of the first
    formed = np.zeros(2 * lists.query.count, np.int64)
    numbers = len(formed)
    for of_part in workers.each(lambda part: _sessions_of(part.sums, numbers), parts):
        formed += of_part
    is_begun = formed.reshape(-1, 2).any(axis=1) & (lists.query.values[: len(formed) // 2] >= 0)
    is_used = np.zeros(shown.queries.pairs, bool)
    is_used[shown.queries.pair.values.take(lists.query.values.take(np.flatnonzero(is_begun)))] = True
    pairs = np.flatnonzero(is_used)
    buckets = np.zeros(len(is_used), np.uint64)
    for part in parts:
        buckets[: part.buckets.count] |= part.buckets.values
    texts = shown.queries.normal_texts[pairs]
    queries = texts.with_columns(pl.Series("user_buckets", buckets[pairs])).sort("market", "query")
    configurations = Configurations.of(np.flatnonzero((formed[1::2] > 0) & is_begun), shown, workers)
    ranked = workers.map(lambda part: _ranked(part.sums, configurations), parts)
    by_day = workers.map(lambda part: _ranked(part.by_day, configurations), parts)
    masks = workers.map(lambda of_part: _by_mask(layout, of_part), ranked)
    give_back()
    threads = workers.threads
    days = Pieces(
        lambda: (
            rows.select("configuration_id", dates(rows["click_mask"]), "sessions")
            for rows in _pattern_pieces(BY_DAY, by_day, configurations, threads)
        )
    )
    return StagedTable(
        configurations=Pieces(lambda: configurations.pieces(threads)),
        patterns=Pieces(lambda: _pattern_pieces(layout, ranked, configurations, threads)),
        queries=Pieces.in_memory(queries),
        funnel=funnel.frame(_summed(masks, "sessions"), _begun(formed, shown), is_open=is_open),
        info={"stored_depth": layout.depth},
        health=health.frame(),
        shown=None if parts[0].periods == "none" else days,
        signals=_signal_table(parts, configurations),
        outcomes=_outcome_table(parts, configurations),
        **_arm_tables(parts, configurations),
        interleaved=_interleaved(parts, configurations),
    )


def _sessions_of(sums: Sums, numbers: int) -> Rows:
    sessions = np.zeros(numbers, np.int64)
    for table in sums.tables():
        of_rows, _, _ = sums.layout.unpacked(table)
        starts = np.flatnonzero(np.diff(of_rows, prepend=-1))
        sessions[of_rows[starts]] += np.add.reduceat(table.sessions, starts, dtype=np.int64)
    return sessions


def _begun(formed: Rows, shown: LogTexts) -> list[tuple[str, bool, bool, int]]:
    """Return market, whether queries are kept, whether on a first page, and sessions that were formed."""
    numbers = np.flatnonzero(formed)
    lists = numbers >> 1
    queries = shown.lists.query.values.take(lists)
    left_out = shown.lists.left_out
    markets = shown.queries.texts["market"].gather(np.maximum(queries, 0))
    out = np.flatnonzero(queries < 0)
    markets = markets.scatter(out, [left_out[number] for number in lists[out].tolist()])
    columns = {"market": markets, "is_kept": queries >= 0, "first": numbers & 1 == 1}
    return _summed([pl.DataFrame({**columns, "sessions": formed[numbers]})], "sessions").rows()


Sections = list[list[Counted]]
"""Counts by the place of the configuration, in sections of neighbouring places; their keys are not sorted."""


def _ranked(sums: Sums, configurations: "Configurations") -> Sections:
    """Return sums by the place of the configuration, of sessions on first pages; the others are drained."""
    # places that differ in no higher bit are neighbours, of one section; there are at most 64
    layout, bits = sums.layout, max(_SECTION_BITS, len(configurations.example).bit_length() - 6)
    count = (len(configurations.example) >> bits) + 1
    sections: Sections = [[] for _ in range(count)]
    for table in sums.tables(drained=True):
        numbers, folds, masks = layout.unpacked(table)
        ranks = np.where(numbers & 1 == 1, configurations.rank.take(numbers >> 1), np.int32(-1))
        order, ends = order_of_parts(np.where(ranks < 0, count, ranks >> bits), count)
        order = order[: ends[-1]]
        words = layout.packed(ranks.take(order), folds.take(order), masks.take(order))
        sessions = table.sessions.take(order)
        for section, (first, end) in zip(sections, pairwise([0, *ends.tolist()]), strict=True):
            if end > first:
                section.append(Counted(tuple(word[first:end] for word in words), sessions[first:end]))
    return sections


def _by_mask(layout: WordLayout, sections: Sections) -> pl.DataFrame:
    frames = [pl.DataFrame(schema=_MASKS)]
    for section in sections:
        for table in section:
            columns = {"click_mask": layout.unpacked(table)[2], "sessions": table.sessions}
            frames.append(pl.DataFrame(columns, schema=_MASKS))
    return _summed(frames, "sessions")


_MASKS = {"click_mask": pl.Int64, "sessions": pl.Int64}


def _summed(frames: Sequence[pl.DataFrame], what: str) -> pl.DataFrame:
    return pl.concat(frames).group_by(pl.exclude(what)).agg(pl.col(what).sum())


def _pattern_pieces(
    layout: WordLayout, ranked: Sequence[Sections], configurations: "Configurations", threads: int
) -> Iterator[pl.DataFrame]:
    def rows_of(tables: list[Counted]) -> list[pl.DataFrame]:
        if not tables:
            return []
        sums = added(tables)
        places, folds, masks = layout.unpacked(sums)
        first = int(places[0])
        ids = ids_of(configurations.digests[first : int(places[-1]) + 1]).gather(places - first)
        columns = {"fold": folds, "click_mask": masks, "sessions": sums.sessions}
        rows = pl.DataFrame({"configuration_id": ids, **columns})
        return [rows[at : at + _ROWS] for at in range(0, rows.height, _ROWS)]

    with Workers(threads) as workers:
        for pieces in workers.each(rows_of, _together(ranked)):
            yield from pieces


def _together(ranked: Sequence[Sections]) -> Iterator[list[Counted]]:
    """Yield the counts of all parts section by section."""
    for of_parts in zip(*ranked, strict=True):
        yield [*chain(*of_parts)]


def _signal_table(parts: Sequence[PatternCounts], configurations: "Configurations") -> pl.DataFrame:
    names = sorted({name for part in parts for name in part.signals})
    ranked = {
        name: [_ranked(part.signals[name], configurations) for part in parts if name in part.signals]
        for name in names
    }
    pieces = _signal_pieces(ranked, parts[0].layout, configurations)
    return SIGNALS.canonical(pl.concat([SIGNALS.empty(), *pieces]))


def _signal_pieces(
    ranked: Mapping[str, Sequence[Sections]], layout: WordLayout, configurations: "Configurations"
) -> Iterator[pl.DataFrame]:
    """Yield configuration_id, fold, signal, click_mask, sessions, in order, of counts of users' parts."""
    names = sorted(ranked)
    of_parts = [_together(ranked[name]) for name in names]
    for sections in zip(*of_parts, strict=True):
        found = [(number, added(tables)) for number, tables in enumerate(sections) if tables]
        if not found:
            continue
        columns = [(np.full(len(one), number), *layout.unpacked(one), one.sessions) for number, one in found]
        signal, place, fold, mask, sessions = (
            np.concatenate(column).astype(np.int64) for column in zip(*columns, strict=True)
        )
        order = order_of_both((place * layout.folds + fold) * len(names) + signal, mask)
        first = int(place.min())
        ids = ids_of(configurations.digests[first : int(place.max()) + 1])
        yield pl.DataFrame(
            {
                "configuration_id": ids.gather(place[order] - first),
                "fold": fold[order].astype(np.int32),
                "signal": pl.Series(names, dtype=pl.String).gather(signal[order]),
                "click_mask": mask[order],
                "sessions": sessions[order],
            }
        )


def _rows_of(sums: Sequence[Sums], configurations: "Configurations") -> tuple[Rows, Rows, Rows, Rows]:
    ranked = [_ranked(of_part, configurations) for of_part in sums]
    summed = [added(tables) for tables in _together(ranked) if tables]
    tables = [(*sums[0].layout.unpacked(table), table.sessions) for table in summed]
    empty = (np.zeros(0, np.int64),) * 4
    place, fold, mask, sessions = (
        np.concatenate(column).astype(np.int64) for column in zip(empty, *tables, strict=True)
    )
    return place, fold, mask, sessions


def _outcome_table(parts: Sequence[PatternCounts], configurations: "Configurations") -> pl.DataFrame:
    tables = [OUTCOMES.empty()]
    if not any(part.ones or part.outcomes for part in parts):
        return tables[0]
    ids = ids_of(configurations.digests)
    for name in sorted({name for part in parts for name in part.ones}):
        ones = [part.ones[name] for part in parts if name in part.ones]
        place, fold, _, sessions = _rows_of(ones, configurations)
        rows = {"configuration_id": ids.gather(place), "fold": fold, "sessions": sessions}
        total, squares = pl.col("sessions") * ONE, pl.col("sessions") * (ONE * ONE)
        tables.append(
            pl.DataFrame(rows).with_columns(outcome=pl.lit(name), total=total, total_of_squares=squares)
        )
    given = [sums for part in parts for sums in part.outcomes]
    if given:
        sums_given = added_outcomes(given, "list", "fold")
        ranks = configurations.rank.take(sums_given["list"].to_numpy()).astype(np.int64)
        own = sums_given.filter(pl.Series(ranks >= 0))
        own = own.with_columns(ids.gather(ranks[ranks >= 0]).alias("configuration_id")).drop("list")
        tables.append(own.group_by("configuration_id", "fold", "outcome").agg(pl.all().sum()))
    form = OUTCOMES.empty().schema
    typed = (table.select(pl.col(name).cast(dtype) for name, dtype in form.items()) for table in tables)
    return OUTCOMES.canonical(pl.concat(typed))


def _arm_tables(parts: Sequence[PatternCounts], configurations: "Configurations") -> dict[str, Any]:
    """Return the tables of arms of A/B tests, by name; none where there are no tests."""
    counts = [part.arms for part in parts if part.arms is not None]
    if not counts:
        return {}
    layout, arms = counts[0].layout, counts[0].finder.arms
    rows: dict[str, list[pl.DataFrame]] = {"arms": [], "arm_outcomes": [], "arm_users": []}
    ranked: dict[int, dict[str, list[Sections]]] = {}
    for arm, signal in sorted({key for part in counts for key in part.by_day}):
        key = arm, signal
        sums = added([table for part in counts if key in part.by_day for table in part.by_day[key].tables()])
        day, fold, mask = layout.unpacked(sums)
        columns = {"fold": fold, "click_mask": mask, "sessions": sums.sessions}
        days = pl.DataFrame({"day": dates(pl.Series(day)), **columns})
        rows["arms"].append(days.with_columns(arm=pl.lit(arm, pl.Int64), signal=pl.lit(signal)))
        own = [part.by_list[key] for part in counts if key in part.by_list]
        ranked.setdefault(arm, {})[signal] = [_ranked(of_part, configurations) for of_part in own]
    given = [sums for part in counts for sums in part.outcomes]
    if given:
        outcomes = added_outcomes(given, "arm", "day", "fold")
        rows["arm_outcomes"].append(outcomes.with_columns(dates(outcomes["day"])))
    rows["arm_users"] = [
        pl.DataFrame({"digest": part.users.digests(arm)}).with_columns(arm=pl.lit(arm, pl.Int64))
        for part in counts
        for arm in range(arms.height)
    ]
    made: dict[str, Any] = {}
    for name, frames in rows.items():
        form = ARM_TABLES[name]
        typed = [pl.col(column).cast(dtype) for column, dtype in form.empty().schema.items()]
        every = pl.concat([form.empty(), *(one.join(arms, on="arm").select(typed) for one in frames)])
        made[name] = smallest_digests(every) if form is ARM_USERS else form.canonical(every)

    def pieces() -> Iterator[pl.DataFrame]:
        for arm, of_arm in ranked.items():
            experiment, variant = arms.select("experiment", "variant").row(arm)
            head = [pl.lit(experiment).alias("experiment"), pl.lit(variant).alias("variant")]
            for piece in _signal_pieces(of_arm, layout, configurations):
                yield piece.select(*head, pl.all()).select(ARM_PATTERNS.empty().columns)

    return {**made, "arm_patterns": Pieces(pieces)}


def _interleaved(parts: Sequence[PatternCounts], configurations: "Configurations") -> Pieces | None:
    counts = [part.teams for part in parts if part.teams is not None]
    if not counts:
        return None
    drafts = counts[0].drafts.texts.with_row_index("draft")
    pairs = ranker_pairs(drafts, counts[0].layout.depth)
    signals = sorted({name for part in counts for _, name in part.sums})
    rows = TeamRows.concat([part.rows(configurations.rank, signals) for part in counts])
    sections = rows.cut(*order_of_parts(rows.place // _PIECE, len(configurations.digests) // _PIECE))

    def pieces() -> Iterator[pl.DataFrame]:
        names = ["experiment", "ranker_a", "ranker_b"]
        for test, pair in pairs.sort(names).group_by(names, maintain_order=True):
            teams = pair.select("team_a", "team_b").unique().sort("team_a", "team_b").with_row_index("team")
            own = pair.join(teams, on=["team_a", "team_b"], maintain_order="left")
            of_drafts = np.full(drafts.height, -1, np.int64)
            of_drafts[own["draft"].to_numpy()] = own["team"].to_numpy()
            of_test = (pl.lit(one).alias(column) for column, one in zip(names, test, strict=True))
            head = teams.select(*of_test, "team_a", "team_b")
            for section in sections:
                place, fold, team, signal, mask, sessions = section.by_team(of_drafts)
                begins = np.diff(place, prepend=-1) > 0
                ids = ids_of(configurations.digests[place[begins]]).gather(np.cumsum(begins) - 1)
                columns = [
                    ids.alias("configuration_id"),
                    pl.Series("signal", signals, dtype=pl.String).gather(signal),
                ]
                counts_of = pl.DataFrame({"fold": fold, "click_mask": mask, "sessions": sessions})
                yield head[team].hstack(counts_of.with_columns(columns))

    return Pieces(pieces)


@dataclass(frozen=True)
class Configurations:
    """The configurations that lists show, in the order of their ids."""

    # For each list by its number, the place of its configuration; -1 for lists that are not among them.
    rank: Small
    # example, digests: For each configuration, a list that shows it, and its digest.
    example: Rows
    digests: NDArray[np.uint8]
    shown: LogTexts  # The texts.

    @classmethod
    def of(cls, lists: Rows, shown: LogTexts, workers: Workers) -> "Configurations":
        """Address each configuration once; EngineError if two ids begin with the same 16 digits."""
        made = workers.map(lambda rows: configuration_digests(_texts(rows, shown)), _cut(lists))
        digests = np.concatenate([np.empty((0, 16), np.uint8), *made])
        leading = digests[:, :8].copy().view(">u8").ravel().astype(np.uint64)
        order = order_of(leading)
        begins = np.ones(len(order), bool)
        begins[1:] = leading[order[1:]] != leading[order[:-1]]
        if (digests[order[1:]] != digests[order[:-1]])[~begins[1:]].any():
            raise EngineError("the ids of two configurations begin with the same digits; nothing was written")
        rank = np.full(shown.lists.query.count, -1, np.int32)
        rank[lists[order]] = np.cumsum(begins) - 1
        return cls(rank, lists[order[begins]], digests[order[begins]], shown)

    def pieces(self, threads: int) -> Iterator[pl.DataFrame]:
        """Yield configuration_id, market, query and results."""
        with Workers(threads) as workers:
            texts = workers.each(lambda rows: _texts(rows, self.shown), _cut(self.example))
            for rows, digests in zip(texts, _cut(self.digests), strict=True):
                yield rows.select(ids_of(digests).alias("configuration_id"), "market", "query", "results")


def _cut(rows: NDArray[Any]) -> list[NDArray[Any]]:
    return [rows[at : at + _PIECE] for at in range(0, len(rows), _PIECE)]


def _texts(lists: Rows, shown: LogTexts) -> pl.DataFrame:
    pairs: Small = shown.queries.pair.values[shown.lists.query.values[lists]]
    top = shown.lists.top.values[lists]
    is_there = top >= 0
    results = lists_of(shown.urls.texts, top[is_there], is_there.sum(axis=1))
    return shown.queries.normal_texts[pairs].with_columns(results.alias("results"))
