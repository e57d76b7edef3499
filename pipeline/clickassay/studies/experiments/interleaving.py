"""Interleaving: which of two rankers users prefer, from rankings that mix both, and what metrics say of it.

A session prefers the ranker of which it clicked more distinct results. DCG, NDCG, ERR and RBP are sums over
places, so that the value of a mixed ranking splits into the parts of its two rankers.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from clickassay.core.contracts.columns import EVERY
from clickassay.core.contracts.experiments import INTERLEAVED, PREFERENCE
from clickassay.core.contracts.patterns import INTERLEAVED as DRAFTS
from clickassay.core.errors import SettingsError
from clickassay.core.records import CLICK_JUDGE, USER_FOLDS, Floats
from clickassay.core.settings import Settings
from clickassay.core.settings.of_tests import DeclaredTest, control_of
from clickassay.correlation.classes import DECILES, LENGTHS
from clickassay.metrics.catalogue import named_measure
from clickassay.metrics.clicks import signal_metric, signal_of
from clickassay.metrics.definition import Measure
from clickassay.metrics.editorial import EDITORIAL, Grades
from clickassay.patterns.arms import CLICK
from clickassay.studies.experiments.arms import Judged, Rankings, grid
from clickassay.studies.experiments.checks import checks_of_drafts
from clickassay.studies.experiments.effects import FEWEST_FOLDS, Effects, by_days, by_queries
from clickassay.studies.experiments.parts import Comparison, LogOptions, Matched, Row, RowsOfTest, row_of

_DCG = next(metric for metric in EDITORIAL if metric.name == "DCG")
_SUMS = ("DCG", "NDCG", "ERR", "RBP")
"""Metrics whose values are sums over places."""


# ---- input -----------------------------------------------------------------------------------------


def by_place(values: Floats, grades: Grades, measure: Measure, settings: Settings) -> Floats:
    """Return the (N, k) parts that the places of N rankings have in the values of a metric of `_SUMS`.

    A part depends on the results above it alone, so it is the sum to its place less that before it. NDCG is
    its DCG on another scale.

    values: (N,) values of the metric.
    grades: (N, k) grades.
    """
    depth = min(grades.shape[1], measure.depth or grades.shape[1])
    summed = measure
    if measure.metric.name == "NDCG":
        kept = tuple(pair for pair in measure.arguments if pair[0] != "ideal")
        summed = replace(measure, metric=_DCG, arguments=kept)
    sums = np.stack(
        [summed.compute({"grades": grades[:, :place]}, settings) for place in range(depth + 1)], axis=1
    )
    parts = np.zeros(grades.shape)
    whole = sums[:, -1:]
    scale = np.divide(values[:, None], whole, out=np.zeros(whole.shape), where=whole > 0)
    parts[:, :depth] = np.diff(sums, axis=1) * scale
    return parts


@dataclass(frozen=True)
class Drafts:
    """The sessions of a log on rankings that mix two rankers, at the depth of `Rankings`."""

    # Columns of `contracts.patterns.INTERLEAVED`, with masks of the first results and a configuration_id that
    # is null where a ranking is shorter; query; and is_mixed, whether the whole ranking has results of both.
    rows: pl.DataFrame
    # By judge: configuration_id, and a list of the parts of its places for each metric that is such a sum.
    places: Mapping[str, pl.DataFrame]

    @classmethod
    def of(
        cls, rows: pl.DataFrame, shown: pl.DataFrame, configurations: pl.DataFrame, metrics: Sequence[str],
        depth: int, settings: Settings,
    ) -> "Drafts":  # fmt: skip
        """Return the interleaved sessions of a run.

        rows: in the form of `contracts.patterns.INTERLEAVED`.
        shown: configuration_id of these, query, `cut`: that of the first results; null where it is shorter.
        configurations: the table of the run, whose columns `metrics` are its offline metrics.
        """
        first = pl.lit((1 << depth) - 1, pl.Int64)
        masks = pl.col("team_a", "team_b", "click_mask") & first
        is_mixed = (pl.col("team_a") > 0) & (pl.col("team_b") > 0)
        cut = rows.join(shown.select("configuration_id", "query", "cut"), on="configuration_id", how="left")
        cut = cut.with_columns(masks, is_mixed=is_mixed, configuration_id="cut").drop("cut")
        key = [*DRAFTS.key, "query", "is_mixed"]
        kept = (pl.col("signal") == CLICK) | (pl.col("click_mask") > 0)
        summed = cut.filter(kept).group_by(key).agg(pl.col("sessions").sum()).sort(key)
        judged = configurations.filter(~pl.col("judge").str.starts_with(CLICK_JUDGE), depth=depth)
        own = judged.join(summed.select("configuration_id").unique(), on="configuration_id", how="semi")
        grades = np.array(own["grades"].to_list(), dtype=np.int64).reshape(own.height, depth)
        parts = {
            name: pl.Series(by_place(own[name].to_numpy(), grades, measure, settings).tolist(), dtype=_LIST)
            for name, measure in _sums_of(metrics)
        }
        split = own.select("judge", "configuration_id").with_columns(**parts)
        judges = judged["judge"].unique().sort()  # some may have judged none of these rankings
        return cls(summed, {judge: split.filter(judge=judge).drop("judge") for judge in judges})

    @property
    def experiments(self) -> tuple[str, ...]:
        """The names of the tests."""
        return tuple(self.rows["experiment"].unique().sort())


_LIST = pl.List(pl.Float64)


def _sums_of(metrics: Sequence[str]) -> Iterator[tuple[str, Measure]]:
    for name in metrics:
        with suppress(SettingsError):  # scores of the user's own have other names than metrics
            if (measure := named_measure(name)).metric.name in _SUMS:
                yield name, measure


# ---- one test --------------------------------------------------------------------------------------


def interleaved_tests(
    drafts: Drafts, rankings: Rankings, declared: Mapping[str, DeclaredTest], options: LogOptions
) -> Iterator[RowsOfTest]:
    """Hold each treatment of the interleaved tests of a log against its control.

    Raises SettingsError if the control of a test is not known, or a declared ranker is not there.
    """
    for name in drafts.experiments:
        rows, told = drafts.rows.filter(experiment=name), declared.get(name, DeclaredTest())
        rankers = pl.concat([rows["ranker_a"], rows["ranker_b"]]).unique().sort()
        names = rankers.filter(rankers != "").to_list()
        control = control_of(name, names, told)
        others = share_of_others(rows.filter(signal=CLICK), control)
        for ranker in names:
            pair = against(rows, control, ranker, alone=len(names) == 2)
            if ranker != control and pair.height:
                sessions = MixedSessions.of(pair, (control, ranker), rankings, drafts.places)
                yield _rows_of(sessions, name, others, told, options)


def against(rows: pl.DataFrame, control: str, ranker: str, *, alone: bool) -> pl.DataFrame:
    """Return the sessions on rankings of two rankers, with their places as `control` and `treatment`.

    alone: whether rankings of one of them alone, of whose other there was nothing, are of this pair too.
    """
    turned = {"ranker_a": "ranker_b", "ranker_b": "ranker_a", "team_a": "team_b", "team_b": "team_a"}
    both = pl.concat([rows, rows.rename(turned).select(rows.columns)])
    wanted = [(control, ranker), *([(control, ""), ("", ranker)] if alone else [])]
    pairs = pl.DataFrame(wanted, schema=["ranker_a", "ranker_b"], orient="row")
    kept = both.join(pairs, on=pairs.columns, how="semi")
    return kept.rename({"team_a": "control", "team_b": "treatment"}).drop("ranker_a", "ranker_b")


def share_of_others(rows: pl.DataFrame, control: str) -> float:
    """Return the share of sessions on rankings that lack control, though two others were mixed.

    A ranking of three rankers has a row for each two of them, and so one with control.
    """
    has_control = (pl.col("ranker_a") == control) | (pl.col("ranker_b") == control)
    with_control, others = rows.filter(has_control), rows.filter(~has_control, pl.col("ranker_b") != "")
    side = ["configuration_id", "ranker", "team"]
    sides = pl.concat(
        with_control.select("configuration_id", ranker=f"ranker_{one}", team=f"team_{one}") for one in "ab"
    )
    beside = others  # whose rankers are both beside control in the same ranking
    for one in "ab":
        own = ["configuration_id", f"ranker_{one}", f"team_{one}"]
        beside = beside.join(sides, left_on=own, right_on=side, how="semi", nulls_equal=True)
    known, every, explained = (int(part["sessions"].sum()) for part in (with_control, others, beside))
    return (every - explained) / max(every - explained + known, 1)


@dataclass(frozen=True)
class MixedSessions:
    """The sessions on rankings of a control and a treatment; in pairs control comes first."""

    names: tuple[str, str]
    # fold, control, treatment (masks of their places), is_mixed (whether both have one), signal, click_mask,
    # sessions, query, n (of `Rankings.numbers`), first (whether treatment has the first place), and sessions
    # with a click on a ranker (on_ranker), and that prefer one (lost, won).
    rows: pl.DataFrame
    rankings: Rankings
    places: Mapping[str, pl.DataFrame]  # Of `Drafts`.

    @classmethod
    def of(
        cls, rows: pl.DataFrame, names: tuple[str, str], rankings: Rankings,
        places: Mapping[str, pl.DataFrame],
    ) -> "MixedSessions":  # fmt: skip
        """Return the sessions of the rows of `against`."""
        mask, every = pl.col("click_mask"), pl.col("control") | pl.col("treatment")
        own, others = ((mask & pl.col(name)).bitwise_count_ones() for name in ("treatment", "control"))
        n, top = pl.col("sessions"), every & (0 - every)  # the bit of the first place that a ranker has
        numbers = rankings.numbers.select("configuration_id", "n")
        found = rows.with_columns(
            pl.col("fold").cast(pl.Int64) % USER_FOLDS,
            on_ranker=n * ((mask & every) > 0), lost=n * (own < others), won=n * (own > others),
            first=(top & pl.col("treatment")) > 0,
        ).join(numbers, on="configuration_id", how="left", maintain_order="left")  # fmt: skip
        return cls(names, found, rankings, places)

    @property
    def signals(self) -> list[str]:
        """Clicks, and other signals."""
        return [CLICK, *(one for one in self.rows["signal"].unique().sort() if one != CLICK)]

    def preference(self, rows: pl.DataFrame) -> Effects:
        """Return what the sessions of some rows prefer: errors leave out one fold of users at a time."""
        return self._by_folds(rows, "on_ranker", "lost", "won")

    def _by_folds(self, rows: pl.DataFrame, *names: str) -> Effects:
        fold = rows["fold"].to_numpy()
        every, lost, won = (
            np.bincount(fold, rows[name].cast(pl.Float64).to_numpy(), USER_FOLDS)[None, :, None]
            for name in names
        )
        return by_days(np.stack([every, every]), np.stack([lost, won]))

    @cached_property
    def shown(self) -> pl.DataFrame:
        """The sessions, clicked or not, and in how many of their places is which ranker."""
        n = pl.col("sessions")
        of_control, of_treatment = (
            n * pl.col(name).bitwise_count_ones() for name in ("control", "treatment")
        )
        return self.rows.filter(signal=CLICK).with_columns(
            of_control=of_control, of_treatment=of_treatment, places=of_control + of_treatment,
            behind=n * ~pl.col("first"), ahead=n * pl.col("first"),
        )  # fmt: skip

    def checks(self, others: float, told: DeclaredTest) -> list[Row]:
        """Return the checks of the data."""
        mixed = self.shown.filter("is_mixed")
        first = self._by_folds(mixed, "sessions", "behind", "ahead")
        places = self._by_folds(self.shown, "places", "of_control", "of_treatment")
        return checks_of_drafts(self.names, first, places, others, told)

    # ---- judged rankings -----------------------------------------------------------------------------

    @cached_property
    def listed(self) -> pl.DataFrame:
        """Clicks on rankings of the whole depth, by place of their query among those of the test."""
        rows = self.rows.filter(pl.col("n").is_not_null())
        own = self.rankings.numbers.select("n", unit="unit", of="query")
        return rows.join(own, on="n", maintain_order="left").with_columns(
            q=pl.col("of").rank("dense").cast(pl.Int64) - 1
        )

    @cached_property
    def units(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        """The unit of each of the Q queries."""
        return self.listed.unique("q").sort("q")["unit"].to_numpy()

    def _of_judged(self, judged: Judged, signal: str = CLICK) -> pl.DataFrame:
        rows = self.listed.filter(signal=signal)
        return rows.filter(pl.Series(judged.is_judged[rows["n"].to_numpy()], dtype=pl.Boolean))

    def judged_shares(self, judged: Judged) -> Effects:
        """Return the shares of sessions on judged rankings, where either ranker leads, matched by query.

        One leads if it has more places, or as many and the first. If rankings on which one leads are judged
        more often, the metric compares places, not rankers.
        """
        rows = self.listed.filter(signal=CLICK)
        control, treatment = (
            np.bitwise_count(rows[name].to_numpy()).astype(np.int64) for name in ("control", "treatment")
        )
        is_ahead = (treatment > control) | ((treatment == control) & rows["first"].to_numpy())
        leads = is_ahead.astype(np.int64)
        own = judged.is_judged[rows["n"].to_numpy()]
        n, q = rows["sessions"].to_numpy().astype(np.float64), rows["q"].to_numpy()
        every, known = (grid((2, len(self.units)), (leads, q), values)[..., None] for values in (n, n * own))
        return by_queries(every, known[..., None], self.units, users=False)

    def share_compared(self, judged: Judged) -> float:
        """Return the share of the sessions that are on judged rankings."""
        own = self._of_judged(judged)
        return int(own["sessions"].sum()) / max(int(self.shown["sessions"].sum()), 1)

    def offline(self, judged: Judged) -> tuple[Sequence[str], Effects]:
        """Return the metrics that can be split, and ΔE of each.

        ΔE, over sessions of judged rankings, is what the treatment's results add less what control's add.
        """
        rows, places = self._of_judged(judged), self.places[judged.name]
        key = ["configuration_id", "q", "control", "treatment"]
        rows = rows.group_by(key).agg(pl.col("sessions").sum()).sort(key)
        rows = rows.join(places, on="configuration_id", maintain_order="left")
        names = [name for name in places.columns if name != "configuration_id"]
        bits = np.arange(self.rankings.depth)
        n, q = rows["sessions"].to_numpy().astype(np.float64), rows["q"].to_numpy()
        of = [(rows[side].to_numpy()[:, None] >> bits) & 1 for side in ("control", "treatment")]
        size = (len(self.units), 1)
        totals = np.zeros((2, *size, len(names)))
        for at, name in enumerate(names):
            parts = np.array(rows[name].to_list(), dtype=np.float64).reshape(rows.height, len(bits))
            for side in (0, 1):
                values = n * (of[side] * parts).sum(axis=1)
                totals[side, ..., at] = grid(size, (q, np.zeros_like(q)), values)
        every = grid(size, (q, np.zeros_like(q)), n)
        return names, by_queries(np.stack([every, every]), totals, self.units, users=False)

    def matched(self, judged: Judged) -> Matched:
        """Return what sessions on judged rankings prefer, by signal.

        Errors leave out queries, and folds of users.
        """
        found = {}
        for signal in self.signals:
            rows = self._of_judged(judged, signal)
            axes, size = (rows["q"].to_numpy(), rows["fold"].to_numpy()), (len(self.units), USER_FOLDS)
            every, lost, won = (
                grid(size, axes, rows[name].cast(pl.Float64).to_numpy())
                for name in ("on_ranker", "lost", "won")
            )
            totals = np.stack([lost, won])[..., None]
            effects = by_queries(np.stack([every, every]), totals, self.units, users=True)
            found[preference_of(signal)] = effects.three(0)
        return found

    # ---- classes of queries --------------------------------------------------------------------------

    def classes(self) -> Iterator[tuple[str, str, pl.DataFrame]]:
        """Yield split, class and its rows: all, and queries by their words, and by tenths of their number."""
        yield EVERY, EVERY, self.rows
        known = self.rows.filter(pl.col("query").is_not_null())
        issued = known.filter(signal=CLICK).group_by("query").agg(pl.col("sessions").sum())
        words = pl.col("query").str.extract_all(r"\S+").list.len().cast(pl.Int64).clip(1, len(LENGTHS))
        tenth = len(DECILES) * pl.int_range(pl.len()) // pl.len()
        of = issued.sort("sessions", "query").select("query", length=words - 1, frequency=tenth)
        rows = known.join(of, on="query", maintain_order="left")
        for split, names in (("length", LENGTHS), ("frequency", DECILES)):
            for at, name in enumerate(names):
                if (own := rows.filter(pl.col(split) == at)).height:
                    yield split, name, own


def _rows_of(
    sessions: MixedSessions, name: str, others: float, told: DeclaredTest, options: LogOptions
) -> RowsOfTest:
    """Return the rows of a treatment and its control.

    others: share of the sessions of the test whose rankings lack control.
    """
    control, treatment = sessions.names
    of_users = {
        preference_of(signal): row_of(sessions.preference(sessions.rows.filter(signal=signal)), 0)
        for signal in sessions.signals
    }
    asked = signal_of(options.click_metric)
    click = preference_of(asked if asked in sessions.signals else CLICK)  # what users are measured by
    key: Row = {"kind_of_test": INTERLEAVED, "experiment": name, "variant": treatment}
    margin = (options.effect_margin, f"{options.effect_margin:g}")
    n = int(sessions.shown["sessions"].sum())
    base: Row = {"control": control, "depth": sessions.rankings.depth, "sessions_control": n, "sessions": n}
    compared = Comparison(key, sessions, of_users, click, margin, options)
    part = compared.part(base, sessions.checks(others, told), [], told, sessions.rankings.by_judge)
    base = {"experiment": name, "variant": treatment, "control": control, "depth": base["depth"]}
    part.preferences.extend(base | row for row in _preferences(sessions))
    return part


def _preferences(sessions: MixedSessions) -> Iterator[Row]:
    """Yield what users prefer by signal and class of queries; no interval of users in few folds."""
    for split, name, rows in sessions.classes():
        for signal in sessions.signals:
            own = rows.filter(signal=signal)
            row: Row = {"signal": signal, "split": split, "class": name}
            sums = own.select(pl.col("on_ranker", "lost", "won").sum()).row(0)
            if own.filter(pl.col("on_ranker") > 0)["fold"].n_unique() >= FEWEST_FOLDS:
                row |= dict(zip(("sessions", "preferred_control", "preferred"), sums, strict=True))
                effects = sessions.preference(own)
                ends = ("preference", "preference_low", "preference_high")
                row |= dict(zip(ends, effects.three(0), strict=True)) | {"p_value": float(effects.p[0])}
            yield row


def preference_of(signal: str) -> str:
    """Return the name of the preference by a signal."""
    return PREFERENCE if signal == CLICK else signal_metric(PREFERENCE, signal)
