"""Which ranker gave each result of an interleaved list, and the counts of these sessions."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from clickassay.core.numbering import Growing, Keys, Numbers, Rows, Small
from clickassay.core.settings import Settings
from clickassay.core.settings.of_tests import DeclaredTest
from clickassay.logs.arrays.columns import Columns, Flags, Searches
from clickassay.logs.arrays.shown import LogTexts
from clickassay.logs.arrays.steps.normalise_urls import Texts
from clickassay.logs.assignments import ends_of_tests
from clickassay.logs.sql.steps import FIRST_MS, NEVER_MS
from clickassay.patterns.funnel import TeamRow
from clickassay.patterns.sums import WORD_BITS, Sums, WordLayout, counted

if TYPE_CHECKING:
    from clickassay.logs.arrays.steps.sessions import Sessions

TEAMS_KEY = (pl.col("teams").hash(7) ^ pl.col("experiment").hash(8)).alias("teams_key")
"""Key of the draft of a search: the test that it names, and the ranker of each result."""

NO_DRAFT = -1

DRAFT_BITS = 19
"""Bits of a draft in keys, beside 31 of its list; sessions of drafts that need more are added up apart."""

_DRAFT = pl.Schema({"experiment": pl.String(), "teams": pl.List(pl.String)})
_NO_TEST, _OTHER_LENGTH = "null experiment", "another number than results"
_DIFFER, _AGAIN = "searches differ in teams", "a result is shown again"


class NumberedDrafts:
    """The drafts read so far, numbered: an experiment, and the ranker of each place of a list."""

    def __init__(self, tests: Mapping[str, DeclaredTest]) -> None:
        self._read, self._numbers = Numbers(), Numbers()
        self._texts = Texts(_DRAFT)
        # of each as read, the number of the draft that it means, or `NO_DRAFT`; of each draft its places,
        # whether it names a test, and the times (ms) between which that lasts
        self._meant, self._length, self._has_test = Growing(np.int32), Growing(np.int64), Growing(np.bool_)
        self.since, self.until = Growing(np.int64), Growing(np.int64)
        self._ends = ends_of_tests(tests)
        self._counts: list[Counter[str | None]] = []  # of searches since `take_counts`, by fault

    @property
    def texts(self) -> pl.DataFrame:
        """Return experiment and teams by number."""
        return self._texts.all()

    def of_searches(self, keys: Keys, texts: Callable[[Rows], pl.DataFrame], lengths: Rows) -> Small:
        """Return the drafts of searches; `NO_DRAFT` where they have none, or none of use, which is counted.

        texts: gives experiment and teams of some of the searches.
        lengths: how many results each has.
        """
        read = self._read.get_or_add(keys, lambda rows: self._learn(texts(rows)))
        drafts: Small = self._meant.values.take(read)
        named = np.flatnonzero(drafts != NO_DRAFT)
        of_named = drafts[named]
        is_off = self._length.values.take(of_named) != lengths[named]
        has_test = self._has_test.values.take(of_named)
        drafts[named[is_off | ~has_test]] = NO_DRAFT
        no_test = int((~has_test).sum())
        off = int((is_off & has_test).sum())
        counts = {None: len(named) - no_test - off, _NO_TEST: no_test, _OTHER_LENGTH: off}
        self._counts.append(Counter(counts))
        return drafts

    def _learn(self, texts: pl.DataFrame) -> None:
        one = pl.element()
        plain = pl.when(one != "").then(one)  # an empty name is none
        drafts = texts.select("experiment", pl.col("teams").list.eval(plain))
        names = drafts["teams"].list.eval(one.is_not_null()).list.any().fill_null(value=False).to_numpy()
        meant = np.full(len(names), NO_DRAFT, np.int32)
        named = np.flatnonzero(names)
        own = drafts[named]
        meant[named] = self._numbers.get_or_add(
            own.select(TEAMS_KEY)["teams_key"].to_numpy(), lambda rows: self._keep(own[rows])
        )
        self._meant.append(meant)

    def _keep(self, drafts: pl.DataFrame) -> None:
        ends = drafts.select("experiment").join(
            self._ends, on="experiment", how="left", maintain_order="left"
        )
        self._texts.append(drafts)
        self._length.append(drafts["teams"].list.len().cast(pl.Int64).to_numpy())
        self._has_test.append((drafts["experiment"] != "").fill_null(value=False).to_numpy())
        self.since.append(ends["since_ms"].fill_null(FIRST_MS).to_numpy())
        self.until.append(ends["until_ms"].fill_null(NEVER_MS).to_numpy())

    def take_counts(self) -> Iterator[TeamRow]:
        """Yield what became of the searches that name rankers and were read since."""
        counts, self._counts = self._counts, []
        for fault, number in sum(counts, Counter[str | None]()).items():
            yield False, fault, False, number

    def contents(self, drafts: Small) -> list[str]:
        """Return a text for each of a few drafts, to be compared; an empty one for none."""
        texts = self.texts
        return ["" if draft == NO_DRAFT else _as_text(*texts.row(draft)) for draft in drafts.tolist()]

    def as_read(self, drafts: Small) -> pl.DataFrame:
        """Return experiment and teams of drafts; null where there is none."""
        return self.texts[drafts.clip(min=0)].with_columns(
            pl.when(pl.Series(drafts != NO_DRAFT)).then(pl.all())
        )


def _as_text(experiment: str, teams: list[str | None]) -> str:
    return "\x1f".join(
        (name or "").replace("\\", "\\\\").replace("\x1f", "\\u") for name in (experiment, *teams)
    )


def drafts_of_sessions(
    searches: Searches, counts: Flags, made: "Sessions", drafts: NumberedDrafts, shown: LogTexts
) -> tuple[Searches, list[TeamRow]]:
    """Return searches with the drafts of those that begin a session which counts, and what became of these.

    counts: searches that are no repeated delivery.
    """
    draft = searches.draft
    if draft is None:
        return searches, []
    first, time = made.first, searches.time.take(made.first)
    of_first = draft.take(first)
    there = (of_first != NO_DRAFT) & (searches.page.take(first) == 1)
    there &= shown.queries.is_kept.values.take(searches.query.take(first))
    there &= (time >= _at(drafts.since, of_first)) & (time < _at(drafts.until, of_first))
    later = np.flatnonzero(counts & (searches.page == 1) & (made.first_of != np.arange(len(draft))))
    begun = made.first_of.take(later)
    differs, repeats = np.zeros(len(draft), bool), np.zeros(len(first), bool)
    differs[begun[draft.take(later) != draft.take(begun)]] = True
    if shown.lists.any_repeats:
        repeats = shown.lists.repeats.values.take(searches.list.take(first))
    faults = np.where(differs.take(first), 2, np.where(repeats, 1, 0))
    kinds = np.bincount(2 * faults[there] + made.is_open[there], minlength=6).tolist()
    names = (None, _AGAIN, _DIFFER)
    rows: list[TeamRow] = [(True, names[kind // 2], bool(kind % 2), n) for kind, n in enumerate(kinds) if n]
    used = np.full(len(draft), NO_DRAFT, np.int32)
    chosen = first[there & (faults == 0)]
    used[chosen] = draft.take(chosen)
    return replace(searches, draft=used), rows


def _at(values: Growing, drafts: Small) -> Rows:
    return values.values.take(drafts, mode="clip") if values.count else np.zeros(len(drafts), np.int64)


class TeamCounts:
    """Adds up sessions of a part of the users by list and draft."""

    def __init__(self, drafts: NumberedDrafts, settings: Settings) -> None:
        self.drafts, self._folds = drafts, settings.folds
        self.layout = WordLayout(settings.stored_depth, settings.folds, number_bits=31 + DRAFT_BITS)
        self.sums: dict[tuple[int, str], Sums] = {}  # by what drafts have above their bits, and signal

    def add(self, signal: str, searches: Searches, first: Rows, masks: Rows) -> None:
        """Count sessions that begin on a first page and have a signal: their first searches, and masks."""
        if searches.draft is None:
            return
        place = np.flatnonzero(searches.draft.take(first) != NO_DRAFT)
        rows = first[place]
        drafts, above = np.divmod(searches.draft.take(rows), 1 << DRAFT_BITS)[::-1]
        numbers = (searches.list.take(rows).astype(np.int64) << DRAFT_BITS) | drafts
        words = self.layout.packed(numbers, searches.bucket.take(rows) % self._folds, masks[place])
        for part in np.unique(above).tolist():
            own = tuple(word[above == part] for word in words)
            self.sums.setdefault((part, signal), Sums(self.layout)).add(counted(own))

    def rows(self, rank: Small, signals: Sequence[str]) -> "TeamRows":
        """Return the sessions so far, which are then no longer held.

        rank: place of the configuration by list; below 0 for lists that do not count.
        signals: names of all signals, in order.
        """
        of_parts = [TeamRows.empty()]
        for (above, name), sums in self.sums.items():
            for table in sums.tables(drained=True):
                numbers, folds, masks = self.layout.unpacked(table)
                lists, drafts = np.divmod(numbers, 1 << DRAFT_BITS)
                places = rank.take(lists)
                of_part = TeamRows(
                    place=places,
                    draft=(drafts + (above << DRAFT_BITS)).astype(np.int32),
                    fold=folds.astype(np.uint16),
                    signal=np.full(len(numbers), signals.index(name), np.uint16),
                    mask=masks,
                    sessions=table.sessions,
                )
                of_parts.append(of_part.take(np.flatnonzero(places >= 0)))
        return TeamRows.concat(of_parts)


@dataclass(frozen=True)
class TeamRows(Columns):
    """Sessions by place of the configuration, draft, fold, signal and mask; rows may be alike."""

    place: Small
    draft: Small
    fold: NDArray[np.uint16]
    signal: NDArray[np.uint16]
    mask: Rows
    sessions: NDArray[Any]

    @classmethod
    def empty(cls) -> Self:
        """Return no row."""
        small, tiny = np.zeros(0, np.int32), np.zeros(0, np.uint16)
        return cls(small, small, tiny, tiny, np.zeros(0, np.int64), np.zeros(0, np.uint8))

    def by_team(self, teams: Rows) -> tuple[Rows, ...]:
        """Return place, fold, team, signal, mask and sessions, added up and in this order.

        teams: of each draft a number, 0 or more; below 0 for drafts that are left out.
        """
        team = teams.take(self.draft)
        own = self.take(np.flatnonzero(team >= 0))
        keys: list[Rows] = [key.astype(np.int64) for key in (own.fold, team[team >= 0], own.signal)]
        sizes = [int(key.max(initial=0)) + 1 for key in keys]
        head: Rows = own.place.astype(np.int64)
        for key, size in zip(keys, sizes, strict=True):
            head = head * size + key
        bits = int(own.mask.max(initial=0)).bit_length()
        is_one = int(head.max(initial=0)).bit_length() + bits <= WORD_BITS
        heads, masks = head.astype(np.uint64), own.mask.astype(np.uint64)
        words = ((heads << np.uint64(bits)) | masks,) if is_one else (heads, masks)
        table = counted(words, own.sessions)
        head = (table.words[0] >> np.uint64(bits) if is_one else table.words[0]).astype(np.int64)
        columns = [table.sessions, (table.words[-1] & np.uint64((1 << bits) - 1)).astype(np.int64)]
        for size in reversed(sizes):
            head, key = np.divmod(head, size)
            columns.append(key)
        return head, *reversed(columns)
