"""Records that several floors share: judged configurations as arrays, from metrics to correlations."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from clickassay.core.contracts.columns import EVERY
from clickassay.core.text.words import visible

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

CLICK_JUDGE = "clicks ("
"""The name of a judge that is made of clicks begins so."""

SAMPLE_COLUMNS = ("market", "depth", "judge")
"""Columns that identify the sample of a row in a run's tables: the fields of `SampleKey`."""


@dataclass(frozen=True, order=True)
class SampleKey:
    """The key of a sample: a market, a depth and a judge (``all`` where the run has no such label)."""

    market: str
    depth: int
    judge: str

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> "SampleKey":
        """Return the sample of a row that has `SAMPLE_COLUMNS`."""
        return cls(*(row[name] for name in SAMPLE_COLUMNS))

    @property
    def label(self) -> str:
        """Words for the sample, without the labels that the run does not have."""
        parts = [] if self.market == EVERY else [f"market {visible(self.market)}"]
        parts.append(f"top {self.depth}")
        parts += [] if self.judge == EVERY else [f"judge {visible(self.judge)}"]
        return ", ".join(parts)

    @property
    def market_and_depth(self) -> str:
        """Words for the market and the depth."""
        return replace(self, judge=EVERY).label

    @property
    def columns(self) -> dict[str, str | int]:
        """The values of `SAMPLE_COLUMNS`."""
        return dict(zip(SAMPLE_COLUMNS, astuple(self), strict=True))

    def rows(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return the rows of `frame` that belong to this sample."""
        return frame.filter(**self.columns)


@dataclass(frozen=True)
class SampleChoice:
    """A choice of samples: None = any market, depth or judge."""

    market: str | None = None
    depth: int | None = None
    judge: str | None = None

    @property
    def label(self) -> str:
        """The choice in words; empty for any sample."""
        return ", ".join(f"{name} {value}" for name, value in self._chosen.items())

    def rows(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return the rows of `frame` that belong to such samples."""
        return frame.filter(**self._chosen)

    @property
    def _chosen(self) -> dict[str, str | int]:
        every = zip(SAMPLE_COLUMNS, astuple(self), strict=True)
        return {name: value for name, value in every if value is not None}


ANY_SAMPLE = SampleChoice()


class NamedMetrics(Protocol):
    """Judged configurations of a key, with the names of their click metrics and offline metrics."""

    @property
    def key(self) -> SampleKey:
        """The sample of these configurations: market, depth and judge."""

    @property
    def click_names(self) -> tuple[str, ...]:
        """The click metrics."""

    @property
    def editorial_names(self) -> tuple[str, ...]:
        """The offline metrics."""


def sums_by_unit(contributions: Floats, units: Sequence[str]) -> Floats:
    """Return the sums of (q, K) contributions with the same unit, sorted by its name."""
    return _sums_of(contributions, _codes(units))


def _codes(names: Sequence[str]) -> Integers:
    return np.unique(np.array(names), return_inverse=True)[1].astype(np.int64)


def _sums_of(contributions: Floats, codes: Integers) -> Floats:
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    return np.add.reduceat(contributions[order], starts, axis=0) if len(starts) else contributions


@dataclass(frozen=True)
class EstimatedClicks:
    """A click metric of N configurations that rests on numbers which are estimates themselves."""

    # values, variances: (N,) means over sessions, and unbiased variances between sessions.
    values: Floats
    variances: Floats
    # (N, D, 2) the means if these numbers were a standard error lower and higher, in D independent
    # directions.
    shifted: Floats
    reason: str | None  # Why it has no value; None if it has.


NO_DAY = -1 - 2**31
"""Stands for an unknown day: no date of a table, which has 32 bits, is so early."""


@dataclass(frozen=True)
class Shown:
    """When configurations were shown."""

    # rows, days, sessions: (M,) index of the configuration, days since 1970-01-01 (UTC) or `NO_DAY`, and
    # sessions that began then; sorted by the first two.
    rows: Integers
    days: Integers
    sessions: Integers

    @classmethod
    def of(cls, rows: Integers, shown: pl.DataFrame) -> "Shown":
        """Return the rows (day, sessions) of configurations; those of index -1 are left out."""
        kept = np.flatnonzero(rows >= 0)
        days = shown["day"].to_physical().cast(pl.Int64).fill_null(NO_DAY).to_numpy()[kept]
        order = np.lexsort((days, rows[kept]))
        return cls(rows[kept][order], days[order], shown["sessions"].to_numpy()[kept][order])

    def of_rows(self, rows: Integers) -> "Shown":
        """Return the sessions of some configurations, ascending, numbered anew."""
        place, kept = _among(rows, self.rows)
        return Shown(place, self.days[kept], self.sessions[kept])


def _among(rows: Integers, every: Integers) -> tuple[Integers, Integers]:
    """Return the places of `every` among ascending rows, of those that are, and which these are."""
    place = np.full(1 + max(rows.max(initial=-1), every.max(initial=-1)), -1, np.int64)
    place[rows] = np.arange(len(rows))
    found = place[every]
    kept = np.flatnonzero(found >= 0)
    return (found, kept) if len(kept) == len(every) else (found[kept], kept)


@dataclass(frozen=True)
class ByFold:
    """Click metrics of configurations by fold of users: a cell for each that has a session."""

    # rows, folds, sessions: (M,) index of the configuration, number of the fold below `USER_FOLDS`, sessions;
    # sorted by the first two.
    rows: Integers
    folds: Integers
    sessions: Integers
    values: Floats  # (M, C) means over these sessions.

    def of_rows(self, rows: Integers) -> "ByFold":
        """Return the cells of some configurations, ascending, numbered anew."""
        place, kept = _among(rows, self.rows)
        return replace(self if len(kept) == len(self.rows) else self.chosen(kept), rows=place)

    def chosen(self, cells: Any) -> "ByFold":  # noqa: ANN401 - an index or a mask
        """Return some of the cells."""
        return ByFold(self.rows[cells], self.folds[cells], self.sessions[cells], self.values[cells])


USER_FOLDS = 16
"""Folds of users that are told apart: those of a table with more are joined by number."""


@dataclass(frozen=True)
class Rated:
    """A rating of N configurations: a click metric over the sessions that rated alone."""

    sessions: Integers  # (N,) sessions that rated.
    # values, variances: (N,) means over these, NaN without any; and unbiased variances, NaN below two.
    values: Floats
    variances: Floats
    by_fold: ByFold | None = None  # The same by fold of users; None where it is not counted.


@dataclass(frozen=True)
class Sample:
    """Arrays over the N judged configurations and Q queries of one market, depth and judge."""

    key: SampleKey  # Market, depth and judge.
    queries: tuple[str, ...]  # The Q distinct normalised queries, sorted by code point.
    query_index: Integers  # (N,) index into `queries` of each configuration; ascending.
    sessions: Integers  # (N,) sessions of each configuration, >= 1: the weights of method 7.
    # click_names, click_values: Names of the C click metrics, and their (N, C) means over sessions.
    click_names: tuple[str, ...]
    click_values: Floats
    # (N, C) unbiased variance of the metric between the sessions of a configuration (divisor n - 1); NaN
    # where a configuration has one session.
    click_variances: Floats
    # (N,) SS of each configuration if click patterns were drawn from the patterns of all configurations.
    null_success: Floats
    # editorial_names, editorial_values: Names of the E offline metrics, and their (N, E) values.
    editorial_names: tuple[str, ...]
    editorial_values: Floats
    configuration_ids: pl.Series  # (N,) ids of the configurations.
    click_entropy: Floats  # (Q,) entropy in bits of the clicked URLs of each query; 0 without a click.
    # (Q,) the name of the unit that each query belongs to: intervals leave out one unit at a time. None: each
    # query is one.
    units: tuple[str, ...] | None = None
    # By name: click metrics that rest on estimates; they are not among `click_names`.
    estimated: Mapping[str, EstimatedClicks] = field(default_factory=dict)
    # By name: ratings; they are not among `click_names`, since each has sessions of its own.
    ratings: Mapping[str, Rated] = field(default_factory=dict)
    shown: Shown | None = None  # When; None where times are not known.
    by_fold: ByFold | None = None  # The click metrics by fold of users; None where it is not counted.

    def by_unit(self, contributions: Floats, queries: Integers | None = None) -> Floats:
        """Return the sums of (q, K) contributions of queries over their units; None = of all queries."""
        if self.units is None:
            return contributions
        return _sums_of(contributions, self._unit_codes if queries is None else self._unit_codes[queries])

    @property
    def unit_names(self) -> tuple[str, ...]:
        """Names of the units of `by_unit`, in its order."""
        return self.queries if self.units is None else tuple(sorted(set(self.units)))

    @cached_property
    def _unit_codes(self) -> Integers:
        return _codes(self.units or ())

    @property
    def starts(self) -> Integers:
        """(Q,) the first configuration of each query."""
        return np.flatnonzero(np.diff(self.query_index, prepend=-1))

    def of_rows(self, rows: Integers) -> "Sample":
        """Return some configurations, ascending, and their queries, without estimates and ratings."""
        present, index = np.unique(self.query_index[rows], return_inverse=True)
        return replace(
            self,
            queries=tuple(self.queries[query] for query in present),
            query_index=index.astype(np.int64),
            sessions=self.sessions[rows],
            click_values=self.click_values[rows],
            click_variances=self.click_variances[rows],
            null_success=self.null_success[rows],
            editorial_values=self.editorial_values[rows],
            configuration_ids=self.configuration_ids.gather(rows),
            click_entropy=self.click_entropy[present],
            units=None if self.units is None else tuple(self.units[query] for query in present),
            estimated={},
            ratings={},
            shown=self.shown and self.shown.of_rows(rows),
            by_fold=self.by_fold and self.by_fold.of_rows(rows),
        )

    def rated(self, name: str) -> "Sample":
        """Return the sample of a rating: lists, weights, noise and errors of sessions that rated alone."""
        own = self.ratings[name]
        values, variances = own.values[:, None], own.variances[:, None]
        return replace(
            self, sessions=own.sessions, click_names=(name,), click_values=values, click_variances=variances,
            by_fold=own.by_fold,
        ).of_rows(self.rated_rows(name))  # fmt: skip

    def rated_rows(self, name: str) -> Integers:
        """Return the rows of the configurations that a rating has a session of."""
        return np.flatnonzero(self.ratings[name].sessions)

    def each_rating(self, names: Collection[str] | None = None) -> Iterator["Sample"]:
        """Yield the sample of each rating that any session has; of these names only."""
        named = [name for name in sorted(self.ratings) if names is None or name in names]
        return (self.rated(name) for name in named if len(self.rated_rows(name)))

    def of_click(self, name: str) -> "Sample":
        """Return the sample that has a click metric: of a rating, its own."""
        return self.rated(name) if name in self.ratings else self

    @property
    def every_click(self) -> tuple[str, ...]:
        """Names of the click metrics, and of ratings."""
        return (*self.click_names, *sorted(self.ratings))

    def narrowed(self, clicks: Sequence[str], editorial: Sequence[str]) -> "Sample":
        """Return the sample with these click and offline metrics only, in this order."""
        of_clicks = [self.click_names.index(name) for name in clicks]
        of_editorial = [self.editorial_names.index(name) for name in editorial]
        return replace(
            self,
            click_names=tuple(clicks),
            click_values=self.click_values[:, of_clicks],
            click_variances=self.click_variances[:, of_clicks],
            editorial_names=tuple(editorial),
            editorial_values=self.editorial_values[:, of_editorial],
            by_fold=self.by_fold and replace(self.by_fold, values=self.by_fold.values[:, of_clicks]),
        )


def pairs_of(clicks: Sequence[str], editorial: Sequence[str]) -> dict[str, list[str]]:
    """Return the columns click_metric and editorial_metric of all pairs, the click metrics outermost."""
    return {
        "click_metric": [click for click in clicks for _ in editorial],
        "editorial_metric": [*editorial] * len(clicks),
    }


@dataclass(frozen=True)
class Split:
    """One way to split the Q queries of a sample into classes."""

    name: str  # e.g. ``length``, ``frequency``, ``navigational``.
    classes: tuple[str, ...]  # Class labels in the order of reports.
    labels: Integers  # (Q,) index into `classes` of each query.


Grades = NDArray[np.int8]


@dataclass(frozen=True)
class JudgedConfigurations:
    """Configurations of one depth and judge whose top-k results all have a grade, over all markets."""

    # One row per judged configuration, sorted by (market, query, configuration_id): these columns, and
    # `results` (top k), `n` (row number).
    rows: pl.DataFrame
    grades: Grades  # (N, k) grades of the results.
    # (N, k) numbers of the results: equal where market, query and URL are; grouped by query.
    urls: NDArray[np.integer[Any]]
    filled: NDArray[np.bool_]  # (N, k) whether a grade was filled in by a rule, so is no judgment.
    pool: NDArray[np.int64]  # (N, g_max + 1) the query's judged results by grade.
    # Rows (n, fold, click_mask, sessions) of these configurations, masks cut to k, sorted.
    patterns: pl.DataFrame
    # too_short, not_judged, not_scored: Sessions by market that are left out at this depth.
    too_short: dict[str, int]
    not_judged: dict[str, int]
    not_scored: dict[str, int] = field(default_factory=dict)
    # score_names, scores: Names of the S scores that users brought, and their (N, S) values, which every
    # configuration has.
    score_names: tuple[str, ...] = ()
    scores: Floats | None = None
    # Rows (n, day, sessions), sorted, of all users; None where times are not known.
    shown: pl.DataFrame | None = None
    # By name: rows (n, fold, click_mask, sessions) of sessions with the signal, masks above 0 and cut to k.
    signals: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    # Rows (n, fold, outcome, sessions, total, total_of_squares), totals in thousandths; None where none are
    # counted.
    outcomes: pl.DataFrame | None = None


# ---- ids of configurations in order: as numbers, since texts are sorted several times slower ----------

_FIRST_DIGITS = 15  # as many as a signed 64-bit number holds
_DIGITS = f"^[0-9a-f]{{{_FIRST_DIGITS}}}"


def first_digits(ids: pl.Series) -> NDArray[np.int64]:
    """Return the first 15 hexadecimal digits of each id as a number; 0 where it is none."""
    numbers = ids.str.head(_FIRST_DIGITS).str.to_integer(base=16, strict=False)
    return numbers.fill_null(0).to_numpy()


def order_by_id(ids: pl.Series, before: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
    """Return the order of rows by a number, if one is given, then by id; equal rows keep theirs.

    Texts are sorted only where the first digits do not tell: two ids share them by a rare chance.
    """
    number = np.zeros(len(ids), np.int64) if before is None else before
    if ids.str.contains(_DIGITS).all():
        first = first_digits(ids)
        order: NDArray[np.int64] = np.lexsort((first, number))
        is_same = (first[order][1:] == first[order][:-1]) & (number[order][1:] == number[order][:-1])
        texts = ids.gather(order)
        if not (is_same & (texts[1:] != texts[:-1]).to_numpy()).any():
            return order
    rows = pl.DataFrame({"number": number, "id": ids})
    sort = pl.arg_sort_by("number", "id", maintain_order=True)
    return rows.select(sort).to_series().to_numpy().astype(np.int64)
