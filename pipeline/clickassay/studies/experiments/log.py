"""The A/B tests of a log: what each did to users, and what offline metrics say of its rankings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from clickassay.core.contracts.columns import EVERY
from clickassay.core.contracts.experiments import EXPERIMENT_CHECKS, EXPERIMENT_JUDGES, EXPERIMENTS
from clickassay.core.errors import SettingsError
from clickassay.core.records import NO_DAY, USER_FOLDS, Floats, Integers
from clickassay.core.settings.of_tests import TESTS, DeclaredTest
from clickassay.core.text.words import did_you_mean, listed, visible
from clickassay.correlation.uncertainty.intervals import ALPHA, benjamini_hochberg
from clickassay.metrics.clicks import CLICKS, SIGNAL_METRICS, USES_GRADES, search_success, signal_metric
from clickassay.patterns.arms import CLICK, ArmTables
from clickassay.studies.experiments.checks import FINDING, cautions_of, checks, users_of
from clickassay.studies.experiments.effects import Effects, by_days, by_queries
from clickassay.studies.experiments.order import CHANGED, PastTests
from clickassay.studies.experiments.verdicts import Compared, Difference, is_unequal, verdict

CALLED_CONTROL = ("control", "off", "0")
"""Names of variants that are control unless another is declared."""

NOT_CHANGED = 0.01
"""Share of changed rankings below which a test is probably an A/A test."""

MOST_TO_JUDGE = 20
"""Rankings that are proposed to be judged first, of each test and judge."""

UNEQUALLY_JUDGED = "unequally_judged"


@dataclass(frozen=True)
class LogOptions:
    """What tests of a log are asked."""

    current: str  # The offline metric in use.
    click_metric: str  # The metric of users that decides, as a run spells it.
    effect_margin: float = 0.01  # Smallest difference of users that matters, a share of control's mean.
    min_users: int = 5  # Arms of fewer users show no numbers.
    ratings: tuple[str, ...] = ()  # Outcomes whose means are over the sessions that have them.
    every_ranking: bool = True  # Whether `arm_patterns` has all rankings, not only those of judged queries.


@dataclass(frozen=True)
class Rankings:
    """The rankings of a log at one depth, and what each judge says of those that are judged."""

    depth: int
    # configuration_id, market, query, unit (what intervals leave out): all with `depth` results.
    lists: pl.DataFrame
    # By judge: configuration_id, good (mask of good grades), and a column for each offline metric.
    judged: Mapping[str, pl.DataFrame]

    @cached_property
    def numbers(self) -> pl.DataFrame:
        """configuration_id with the numbers n, query and unit of each ranking."""
        query, unit = pl.struct("market", "query").rank("dense"), pl.struct("market", "unit").rank("dense")
        return self.lists.select(
            "configuration_id",
            n=pl.int_range(pl.len()),
            query=query.cast(pl.Int64) - 1,
            unit=unit.cast(pl.Int64) - 1,
        )

    @cached_property
    def grades(self) -> Mapping[str, "Judged"]:
        """What each judge says, by the number of the ranking."""
        found = {}
        for judge, rows in sorted(self.judged.items()):
            own = self.numbers.join(rows, on="configuration_id", how="left", maintain_order="left")
            names = tuple(name for name in rows.columns if name not in ("configuration_id", "good"))
            is_judged = own["good"].is_not_null().to_numpy()
            good = own["good"].fill_null(0).to_numpy().astype(np.int64)
            values = own.select(pl.col(name).cast(pl.Float64).fill_null(0.0) for name in names).to_numpy()
            found[judge] = Judged(names, values, good, is_judged)
        return found


@dataclass(frozen=True)
class Judged:
    """What a judge says of N rankings."""

    metrics: tuple[str, ...]
    values: Floats  # (N, M) 0 where not judged.
    good: Integers  # (N,) masks of the positions with a good grade.
    is_judged: NDArray[np.bool_]  # (N,)


@dataclass(frozen=True)
class LogExperiments:
    """The tests of a log, as frames in the form of the contracts of these names."""

    experiments: pl.DataFrame
    checks: pl.DataFrame
    judges: pl.DataFrame
    # experiment, variant, judge, configuration_id, sessions: where arms are judged unequally, what to judge
    # first in the arm that lacks more.
    to_judge: pl.DataFrame


def experiments_of_log(
    tables: ArmTables, rankings: Rankings, declared: Mapping[str, DeclaredTest], options: LogOptions
) -> LogExperiments:
    """Hold the tests of a log against what offline metrics say of their rankings.

    tables: at the depth of `rankings`.

    Raises SettingsError if the control of a test is not known, or a declared test or variant is not there.
    """
    known = tables.experiments
    for name in declared:
        if name not in known:
            raise SettingsError(f"[{TESTS}.{name}]: no such test in the log; {did_you_mean(name, known)}")
    parts = [
        part
        for name in known
        for part in _parts(tables.of(name), name, declared.get(name, DeclaredTest()), rankings, options)
    ]

    def table(field: str, schema: Any) -> pl.DataFrame:  # noqa: ANN401 - a schema of Polars
        return pl.DataFrame(
            [row for part in parts for row in getattr(part, field)], schema=schema, orient="row"
        )

    schemas = {one: {column.name: column.dtype for column in one.columns} for one in
               (EXPERIMENTS, EXPERIMENT_CHECKS, EXPERIMENT_JUDGES)}  # fmt: skip
    to_judge = {
        "experiment": pl.String,
        "variant": pl.String,
        "judge": pl.String,
        "n": pl.Int64,
        "sessions": pl.Int64,
    }
    experiments = _moved(table("rows", schemas[EXPERIMENTS]))
    named = (
        table("to_judge", to_judge).join(rankings.numbers.select("n", "configuration_id"), on="n").drop("n")
    )
    return LogExperiments(
        EXPERIMENTS.canonical(experiments),
        EXPERIMENT_CHECKS.canonical(table("checks", schemas[EXPERIMENT_CHECKS])),
        EXPERIMENT_JUDGES.canonical(table("judges", schemas[EXPERIMENT_JUDGES])),
        named.sort(
            "experiment",
            "variant",
            "judge",
            "sessions",
            "configuration_id",
            descending=[False] * 3 + [True, False],
        ),
    )


def _moved(rows: pl.DataFrame) -> pl.DataFrame:
    """Add to the differences of users which are significant over all tests that count."""
    rows = rows.with_columns(pl.col(pl.Float64).fill_nan(None))
    family = ["kind", "metric", "judge"]
    tested = (pl.col("kind") == "click") & pl.col("counts") & pl.col("p_value").is_not_null()
    adjusted = pl.col("p_value").map_batches(
        lambda p: pl.Series(benjamini_hochberg(p.to_numpy())), return_dtype=pl.Float64
    )
    found = rows.filter(tested).with_columns(p_adjusted=adjusted.over(family))
    every = pl.concat([found, rows.filter(~tested)])
    return every.with_columns(moved=pl.col("p_adjusted") < ALPHA)


def past_tests(experiments: pl.DataFrame, judge: str, click_metric: str) -> PastTests:
    """Return the tests of a log that count as rows of past tests: what users did, and what one judge says.

    experiments: in the form of EXPERIMENTS.
    """
    rows = experiments.filter(pl.col("counts"), judge=judge).with_columns(
        pl.col(pl.Float64).fill_null(np.nan)
    )
    users = rows.filter(kind="click", metric=click_metric).sort("experiment", "variant")
    several = pl.len().over("experiment") > 1
    text = pl.when(several).then(pl.format("{}: {}", "experiment", "variant")).otherwise("experiment")
    key = users.select("experiment", "variant")
    offline = rows.filter(kind="editorial")
    metrics = tuple(offline["metric"].unique().sort())
    values = [
        key.join(offline.filter(metric=metric), on=key.columns, how="left", maintain_order="left")["difference"]
        .fill_null(np.nan).to_numpy()
        for metric in metrics
    ]  # fmt: skip
    difference, error, p = (users[name].to_numpy() for name in ("difference", "error", "p_value"))
    return PastTests(
        tuple(users.select(text).to_series()), tuple(users["group"]), difference, error, p, metrics,
        np.column_stack([np.zeros((users.height, 0)), *values]), users["changed"].to_numpy(),
    )  # fmt: skip


# ---- one test ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Part:
    """The rows that one treatment of a test adds to the tables."""

    rows: list[dict[str, Any]]
    checks: list[dict[str, Any]]
    judges: list[dict[str, Any]]
    to_judge: list[dict[str, Any]]


def _control(name: str, variants: Sequence[str], told: DeclaredTest) -> str:
    where = f"test “{visible(name)}”"
    unknown = next(
        (one for one in ([told.control] if told.control else []) + [*told.shares] if one not in variants),
        None,
    )
    if unknown is not None:
        raise SettingsError(
            f"[{TESTS}.{name}]: no variant {unknown!r} in the log; {did_you_mean(unknown, variants)}"
        )
    if told.shares and (missing := [one for one in variants if one not in told.shares]):
        raise SettingsError(
            f"[{TESTS}.{name}]: shares lack {listed(map(visible, missing))}; add the planned share"
        )
    called = (
        [told.control] if told.control else [one for one in variants if one.strip().lower() in CALLED_CONTROL]
    )
    if len(called) != 1:
        shown = listed(map(visible, variants))
        raise SettingsError(
            f"{where} has the variants {shown}, and it is not known which is control; write [{TESTS}.{name}] "
            f'with control = "{visible(variants[0])}" (or another) in clickassay.toml'
        )
    return called[0]


def _parts(
    tables: ArmTables, name: str, told: DeclaredTest, rankings: Rankings, options: LogOptions
) -> list[_Part]:
    """Hold each treatment of a test against its control."""
    every = pl.concat([tables.arms["variant"], tables.users["variant"]]).unique().sort().to_list()
    control = _control(name, every, told)
    return [
        _Comparison(tables, rankings, options, told, (name, control, variant)).part()
        for variant in every
        if variant != control
    ]


def _grid(axes: Sequence[tuple[NDArray[Any], int]], values: NDArray[Any]) -> Floats:
    """Return the sums of values by cell: axes are the (R,) numbers of rows and how many there are."""
    sizes = tuple(size for _, size in axes)
    cells = (
        np.ravel_multi_index(tuple(codes for codes, _ in axes), sizes)
        if len(values)
        else np.zeros(0, np.int64)
    )
    return np.bincount(cells, weights=values, minlength=int(np.prod(sizes))).reshape(sizes)


_OF_MASKS = tuple(metric for metric in CLICKS if metric.name in SIGNAL_METRICS)


def _of_masks(masks: Integers, sessions: Floats) -> list[Floats]:
    """Return the sums of each metric of clicks over the sessions of a pattern."""
    distinct, code = np.unique(masks, return_inverse=True)
    return [metric.function(distinct)[code] * sessions for metric in _OF_MASKS]


def _named(signal: str) -> list[str]:
    names = [metric.name for metric in _OF_MASKS]
    return names if signal == CLICK else [signal_metric(name, signal) for name in names]


class _Comparison:
    """One treatment of a test and its control."""

    def __init__(
        self, tables: ArmTables, rankings: Rankings, options: LogOptions, told: DeclaredTest,
        names: tuple[str, str, str],
    ) -> None:  # fmt: skip
        self.rankings, self.options, self.told = rankings, options, told
        self.name, self.control, self.variant = names
        self.users = users_of(tables.users, self.control, self.variant)
        self.arms, self.outcomes, own = (
            rows.filter(pl.col("variant").is_in(names[1:]))
            for rows in (tables.arms, tables.outcomes, tables.patterns)
        )
        self.signals = [CLICK, *(one for one in tables.arms["signal"].unique().sort() if one != CLICK)]
        # rankings of this test are numbered anew
        self.patterns = own.join(rankings.numbers, on="configuration_id")
        self.lists, self.list = np.unique(self.patterns["n"].to_numpy(), return_inverse=True)
        first = self.patterns.unique("n").sort("n")
        queries, self.query_of = np.unique(first["query"].to_numpy(), return_inverse=True)
        self.n_queries = len(queries)
        self.units = first.unique("query").sort("query")["unit"].to_numpy()
        self.arm, self.fold, self.sessions = self._columns(self.patterns)
        is_click = (self.patterns["signal"] == CLICK).to_numpy()
        self.by_list = _grid(
            ((self.arm[is_click], 2), (self.list[is_click], len(self.lists))), self.sessions[is_click]
        )

    def _columns(self, rows: pl.DataFrame) -> tuple[Integers, Integers, Floats]:
        arm = (rows["variant"] == self.variant).to_numpy().astype(np.int64)
        return (
            arm,
            rows["fold"].to_numpy().astype(np.int64) % USER_FOLDS,
            rows["sessions"].to_numpy().astype(np.float64),
        )

    def part(self) -> _Part:
        """Return the rows of this comparison."""
        key = {"experiment": self.name, "variant": self.variant}
        by_day, days, names, users = self._on_users()
        shares = self.told.shares
        share = shares[self.variant] / (shares[self.variant] + shares[self.control]) if shares else 0.5
        found = checks(self.users, by_day, self._short(by_day), days, share, self.told)
        failed = [row for row in found if row["status"] == FINDING]
        n_control, n = by_day.sum(axis=(1, 2))
        changed = self._changed()
        base = key | {
            "control": self.control, "group": self.told.group or self.name, "depth": self.rankings.depth,
            "users_control": self.users.whole[0], "users": self.users.whole[1], "changed": changed,
            "sessions_control": int(n_control), "sessions": int(n),
            "counts": not (failed or self.told.is_aa or not n or not n_control),
        }  # fmt: skip
        warned = cautions_of(found)
        if not self.told.is_aa and changed is not None and changed < NOT_CHANGED:
            warned.append("the arms show the same rankings: if this is an A/A test, write is_aa = true")
        reason = (
            failed[0]["remedy"]
            if failed
            else "an A/A test: shown as calibration"
            if self.told.is_aa
            else None
        )
        base |= {"caution": "; ".join(warned) or None, "reason": reason}
        of_users = {name: _row_of(users, at) for at, name in enumerate(names)}
        rows, to_judge = [], []
        judges = self.rankings.grades or {EVERY: _nobody(len(self.rankings.lists))}
        for judge, judged in judges.items():
            own, more = self._of_judge(base | {"judge": judge}, judged, of_users)
            rows += own
            to_judge += [key | {"judge": judge} | row for row in more]
        rows = [self._shown(row) for row in rows]
        is_shown = min(self.users.whole) >= self.options.min_users
        return _Part(
            rows, [key | row for row in found],
            self._between_judges(key | {"depth": self.rankings.depth}) if is_shown else [],
            to_judge if is_shown else [],
        )  # fmt: skip

    def _shown(self, row: dict[str, Any]) -> dict[str, Any]:
        """Return a row without its numbers if an arm has too few users."""
        if min(self.users.whole) >= self.options.min_users:
            return row
        kept = ("experiment", "variant", "control", "group", "depth", "judge", "kind", "metric")
        why = f"an arm has fewer than {self.options.min_users} users"
        return {name: row[name] for name in kept} | {"counts": False, "reason": why}

    # ---- users ---------------------------------------------------------------------------------

    def _on_users(self) -> tuple[Floats, list[Any], list[str], Effects]:
        """Return (2, D, F) sessions, the days, and the effects on all metrics of users."""
        rows = self.arms
        dates = rows["day"].unique().sort()
        of_day = dates.to_physical().cast(pl.Int64).fill_null(NO_DAY).to_numpy()

        def axes(rows: pl.DataFrame) -> list[tuple[NDArray[Any], int]]:
            arm, fold, _ = self._columns(rows)
            day = np.searchsorted(
                of_day, rows["day"].to_physical().cast(pl.Int64).fill_null(NO_DAY).to_numpy()
            )
            return [(arm, 2), (day, len(of_day)), (fold, USER_FOLDS)]

        names, sums, sessions = [], [], []
        every = np.zeros((2, len(of_day), USER_FOLDS))
        for signal in self.signals:
            own = rows.filter(signal=signal)
            count = own["sessions"].to_numpy().astype(np.float64)
            if signal == CLICK:
                every = _grid(axes(own), count)
            totals = _of_masks(own["click_mask"].to_numpy(), count)
            names += _named(signal)
            sums += [_grid(axes(own), total) for total in totals]
            sessions += [every] * len(totals)
        for outcome in self.outcomes["outcome"].unique().sort():
            own = self.outcomes.filter(outcome=outcome)
            names.append(outcome)
            sums.append(_grid(axes(own), own["total"].cast(pl.Float64).to_numpy() / 1000))
            is_rating = outcome in self.options.ratings
            sessions.append(
                _grid(axes(own), own["sessions"].to_numpy().astype(np.float64)) if is_rating else every
            )
        return every, dates.to_list(), names, by_days(np.stack(sessions, -1), np.stack(sums, -1))

    def _short(self, by_day: Floats) -> Floats | None:
        """Return (2, F) sessions on rankings with too few results for this depth."""
        if not self.options.every_ranking:
            return None
        is_click = (self.patterns["signal"] == CLICK).to_numpy()
        axes = ((self.arm[is_click], 2), (self.fold[is_click], USER_FOLDS))
        return np.maximum(by_day.sum(axis=1) - _grid(axes, self.sessions[is_click]), 0)

    # ---- rankings ------------------------------------------------------------------------------

    def _changed(self) -> float | None:
        """Return the share of rankings that the test changed: 1 less Morisita's overlap of the arms.

        With shares p and s of rankings of a query in control and treatment, it is 1 - Σ_q w_q 2 Σ p s over
        Σ_q w_q Σ (p² + s²), squares without bias: n (n - 1) in place of n². Chance alone does not change it.
        """
        n = np.stack([np.bincount(self.query_of, one, self.n_queries) for one in self.by_list])
        enough = (n >= 2).all(axis=0)
        if not enough.any():
            return None
        inner = np.bincount(self.query_of, self.by_list.prod(axis=0), self.n_queries)[enough]
        squares = np.stack(
            [np.bincount(self.query_of, one * (one - 1), self.n_queries) for one in self.by_list]
        )
        n, squares = n[:, enough], squares[:, enough]
        weights = n.prod(axis=0) / n.sum(axis=0)
        own = (weights * (squares / (n * (n - 1))).sum(axis=0)).sum()
        both = (weights * 2 * inner / n.prod(axis=0)).sum()
        return float(np.clip(1 - both / own, 0, 1)) if own > 0 else None

    def _by_query(self, of_list: Floats) -> Floats:
        """Return (2, Q, 1) sums over the rankings of a query of (2, L) values."""
        return np.stack([np.bincount(self.query_of, one, self.n_queries) for one in of_list])[..., None]

    def _offline(self, is_judged: NDArray[np.bool_], values: Floats) -> Effects:
        """Return ΔE of (L, M) values over sessions of judged rankings."""
        judged = self.by_list * is_judged
        totals = np.stack([self._by_query(judged * value) for value in values.T], -1)
        return by_queries(self._by_query(judged), totals, self.units, users=False)

    def _matched(self, judged: Judged) -> dict[str, tuple[Effects, int]]:
        """Return, by metric of users, effects on the sessions of judged rankings and the place of its own."""
        kept = judged.is_judged[self.lists][self.list]
        query = self.query_of[self.list]

        def grid(rows: NDArray[np.bool_], values: Floats) -> Floats:
            return _grid(
                ((self.arm[rows], 2), (query[rows], self.n_queries), (self.fold[rows], USER_FOLDS)), values
            )

        found: dict[str, tuple[Effects, int]] = {}
        signals, masks = self.patterns["signal"], self.patterns["click_mask"].to_numpy()
        clicks = kept & (signals == CLICK).to_numpy()
        sessions = grid(clicks, self.sessions[clicks])
        for signal in self.signals:
            rows, names = kept & (signals == signal).to_numpy(), _named(signal)
            totals = _of_masks(masks[rows], self.sessions[rows])
            if signal == CLICK:
                names.append(USES_GRADES)
                good = judged.good[self.lists][self.list[rows]]
                totals.append(search_success(masks[rows], good) * self.sessions[rows])
            effects = by_queries(
                sessions, np.stack([grid(rows, total) for total in totals], -1), self.units, users=True
            )
            found |= {name: (effects, at) for at, name in enumerate(names)}
        return found

    def _of_judge(
        self, base: dict[str, Any], judged: Judged, of_users: Mapping[str, dict[str, Any]]
    ) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """Return the rows of all metrics by the grades of one judge, and what to judge first."""
        is_judged = judged.is_judged[self.lists]
        rated = by_queries(
            self._by_query(self.by_list),
            self._by_query(self.by_list * is_judged)[..., None],
            self.units,
            users=False,
        )
        base |= {"judged_share_control": float(rated.control[0]), "judged_share": float(rated.treatment[0])}
        unequal = is_unequal(_difference(rated, 0))
        offline = self._offline(is_judged, judged.values[self.lists])
        matched = {} if unequal else {
            name: dict(zip(("matched", "matched_low", "matched_high"), _three(*own), strict=True))
            for name, own in self._matched(judged).items()
        }  # fmt: skip
        rows = [
            base | {"kind": "click", "metric": name} | of_users.get(name, {}) | matched.get(name, {})
            for name in dict.fromkeys([*of_users, *matched])
        ]
        for at, name in enumerate(judged.metrics):
            row = base | {"kind": "editorial", "metric": name}
            if unequal:
                row["reason"] = (
                    base["reason"] or "the arms are judged unequally: judge more of the arm that lacks more"
                )
                row["verdict"] = UNEQUALLY_JUDGED if name == self.options.current and base["counts"] else None
            else:
                row |= _row_of(offline, at)
                row["caution"] = "; ".join(filter(None, [base["caution"], offline.cautions[at]])) or None
                if name == self.options.current and base["counts"]:
                    row["verdict"], row["reason"] = self._verdict(of_users, matched, offline, at, is_judged)
            rows.append(row)
        if base["changed"] is not None:
            rows.append(base | {"kind": "baseline", "metric": CHANGED, "difference": base["changed"]})
        return rows, self._to_judge(rated, is_judged) if unequal else []

    def _verdict(
        self, of_users: Mapping[str, dict[str, Any]], matched: Mapping[str, dict[str, Any]], offline: Effects,
        at: int, is_judged: NDArray[np.bool_],
    ) -> tuple[str | None, str]:  # fmt: skip
        name, nan = self.options.click_metric, float("nan")
        users, own = of_users.get(name), matched.get(name)
        if users is None:
            raise SettingsError(
                f"click metric {name!r}: no such metric of users; {did_you_mean(name, [*of_users])}"
            )
        both = self._by_query(self.by_list * is_judged)
        judged = both[:, both.all(axis=0)].sum() if both.size else 0.0
        sessions = float(self.by_list.sum()) or 1.0
        said = Compared(
            Difference(users["difference"], users["ci_low"], users["ci_high"]),
            _difference(offline, at),
            Difference(*own.values()) if own else Difference(nan, nan, nan),
            self.options.effect_margin * abs(users["mean_control"]) or nan,
            f"{100 * self.options.effect_margin:g}%", float(judged) / sessions, offline.units,
        )  # fmt: skip
        return verdict(said)

    def _to_judge(self, rated: Effects, is_judged: NDArray[np.bool_]) -> list[dict[str, Any]]:
        lacking = self.by_list[int(rated.treatment[0] < rated.control[0])] * ~is_judged
        order = np.lexsort((self.lists, -lacking))[:MOST_TO_JUDGE]
        return [{"n": int(self.lists[at]), "sessions": int(lacking[at])} for at in order if lacking[at]]

    def _between_judges(self, key: dict[str, Any]) -> list[dict[str, Any]]:
        """Return the differences between the ΔE of two judges, on rankings that both judged."""
        rows = []
        for (name_a, a), (name_b, b) in combinations(self.rankings.grades.items(), 2):
            common = [name for name in a.metrics if name in b.metrics]
            both = (a.is_judged & b.is_judged)[self.lists]
            of_a, of_b = (
                one.values[self.lists][:, [one.metrics.index(name) for name in common]] for one in (a, b)
            )
            if not common:
                continue
            effects = self._offline(both, np.hstack([of_a, of_b, of_b - of_a]))
            size = len(common)
            for at, metric in enumerate(common):
                low = dict(
                    zip(
                        ("favours", "favours_low", "favours_high"),
                        _three(effects, 2 * size + at),
                        strict=True,
                    )
                )
                rows.append(key | low | {
                    "judge_a": name_a, "judge_b": name_b, "editorial_metric": metric,
                    "difference_a": float(effects.difference[at]),
                    "difference_b": float(effects.difference[size + at]),
                    "p_value": float(effects.p[2 * size + at]), "caution": effects.cautions[2 * size + at],
                })  # fmt: skip
        return rows


def _nobody(size: int) -> Judged:
    return Judged((), np.zeros((size, 0)), np.zeros(size, np.int64), np.zeros(size, np.bool_))


def _three(effects: Effects, at: int) -> tuple[float, float, float]:
    return float(effects.difference[at]), float(effects.low[at]), float(effects.high[at])


def _difference(effects: Effects, at: int) -> Difference:
    return Difference(*_three(effects, at))


def _row_of(effects: Effects, at: int) -> dict[str, Any]:
    named = {"mean_control": effects.control, "mean": effects.treatment, "difference": effects.difference}
    named |= {"ci_low": effects.low, "ci_high": effects.high, "p_value": effects.p}
    if effects.error is not None:
        named["error"] = effects.error
    return {name: float(values[at]) for name, values in named.items()}
