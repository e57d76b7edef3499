"""The means and correlations of two runs joined, and whether their changes are within noise."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import Any

import numpy as np
import polars as pl

from clickassay.core.contracts.columns import EVERY
from clickassay.core.contracts.run import CONFIGURATIONS
from clickassay.core.errors import SettingsError
from clickassay.core.records import SAMPLE_COLUMNS, USER_FOLDS, Floats, Sample, SampleKey, pairs_of
from clickassay.correlation.changes import (
    Changes,
    closed_form_changes,
    from_intervals,
    mean_changes,
    weighted_changes,
    within_changes,
)
from clickassay.correlation.uncertainty.intervals import ALPHA, holm, no_rounding
from clickassay.correlation.within.groups import QueryGroups, all_markets, query_groups
from clickassay.findings.arrays import folds_of, graded_sample, without_fold
from clickassay.findings.run import Run
from clickassay.metrics.clicks import IPS, is_click_metric
from clickassay.studies.runs_compared.read import ONLY_A, ONLY_B, SAME

PLACE = ("table", *SAMPLE_COLUMNS, "split", "class", "click_metric", "editorial_metric")
"""The columns that identify a number; `table` is ``means``, ``within``, ``correlations`` or ``differences``.

A mean has a click metric or an editorial one, and null for the other.
"""

MEANS = "means"
"""The table of the means over sessions, which are computed from the configurations of a run."""

MEANS_OF_METRICS, MEANS_OF_CLICKS = "means of editorial metrics", "means of click metrics"
WITHIN_QUERIES, WEIGHTED = "correlations within queries", "weighted correlations"
CLOSED_FORMS, BY_CLASS = "closed forms", "correlations by class"
FAMILIES = (MEANS_OF_METRICS, MEANS_OF_CLICKS, WITHIN_QUERIES, WEIGHTED, CLOSED_FORMS, BY_CLASS)
"""Families of tests. All but the last, which is tested only where it is asked for, have equal parts of
`ALPHA`: the chance of any false alarm over all tables."""

FEW_FOLDS = "users in fewer than 8 folds"
MIN_FOLDS = 8
"""With fewer folds of users what users' habits add is hardly known: means of clicks have a caution, and all
intervals from two folds or more, which may be far too wide."""

WITHIN, BEYOND, NOT_TESTED, NO_VALUE = "within noise", "beyond noise", "not tested", "no value"
"""Verdicts on a number, besides `SAME`, `ONLY_A` and `ONLY_B`."""

LEFT_OUT, USERS_LEFT_OUT, INTERVALS = "queries left out", "queries and users left out", "intervals"
"""How a change was tested."""

NO_ROW = "not computed"


_Groups = Sequence[Sequence[QueryGroups]]
"""The groups of queries of both runs, by market."""

_VALUES = {"within": "correlation", "correlations": "correlation", "differences": "exact"}
_AGREE = 1e-9  # a correlation computed again from the configurations is the one that the run states
_KEY_TYPES = {"market": pl.String, "depth": pl.Int32, "judge": pl.String}
_COUNTED = [f"{what}_{run}" for what in ("queries", "configurations") for run in ("a", "b", "both")]
_OVERLAP = pl.Schema({**_KEY_TYPES, **dict.fromkeys(_COUNTED, pl.Int64)})
_AGAIN = pl.Schema(
    {
        **{name: _KEY_TYPES.get(name, pl.String) for name in PLACE},
        **dict.fromkeys(("again_a", "again_b", "low", "high", "p"), pl.Float64),
        **{"paired_caution": pl.String, "folds": pl.Int64},
    }
)


@dataclass(frozen=True)
class DiffOptions:
    """Which numbers are compared; an empty tuple stands for all."""

    # metrics, click_metrics: Editorial and click metrics.
    metrics: tuple[str, ...] = ()
    click_metrics: tuple[str, ...] = ()
    # depths, markets, judges: Samples.
    depths: tuple[int, ...] = ()
    markets: tuple[str, ...] = ()
    judges: tuple[str, ...] = ()
    splits: bool = False  # Whether to compare the correlations by classes of queries as well.

    def by_option(self) -> dict[str, tuple[str, tuple[Any, ...]]]:
        """Return column and values of each option that was given, by the option's name."""
        every: dict[str, tuple[str, tuple[Any, ...]]] = {
            "--metric": ("editorial_metric", self.metrics),
            "--click-metric": ("click_metric", self.click_metrics),
            "--depth": ("depth", self.depths),
            "--market": ("market", self.markets),
            "--judge": ("judge", self.judges),
        }
        return {option: (column, values) for option, (column, values) in every.items() if values}

    def rows(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return the rows of a table that the options select, by the columns that it has; none of IPS."""
        kept = [
            pl.col(name).is_in(own) | pl.col(name).is_null()  # a mean has one kind of metric
            for name, own in self.by_option().values()
            if name in frame.columns
        ]
        if "click_metric" in frame.columns:
            kept.append(pl.col("click_metric").ne_missing(IPS))
        if self.metrics and "metric_a" in frame.columns:
            kept.append(pl.any_horizontal(pl.col("metric_a", "metric_b").is_in(self.metrics)))
        if not self.splits and "split" in frame.columns:
            kept.append(pl.col("split") == EVERY)
        return frame.filter(*kept)

    def check(self, runs: Sequence[Run]) -> None:
        """Check that the runs have what options select; else SettingsError: a value, or rows with all."""
        names = ["split", *SAMPLE_COLUMNS, "click_metric", "editorial_metric"]
        tables = ("correlations", "within")  # of all markets together there is `within` alone
        frame = pl.concat([run.tables[table].select(names) for run in runs for table in tables])
        for option, (column, values) in self.by_option().items():
            known = frame[column].unique().sort().to_list()
            for value in values:
                if value not in known:
                    some = ", ".join(str(one) for one in known[:20]) or "none"
                    raise SettingsError(f"{option} {value} is in neither run; they have: {some}")
        if self.by_option() and self.rows(frame).is_empty():
            given = [f"{option} {value}" for option, (_, own) in self.by_option().items() for value in own]
            raise SettingsError(f"neither run has a correlation of {' '.join(given)}; leave one of them out")


def compare_numbers(runs: tuple[Run, Run], options: DiffOptions) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Compare the numbers of two runs that the options select.

    Returns one row per number (`PLACE`): a, b, change, ci_low, ci_high, p_value, p_adjusted, family, status,
    tested_by, caution, reason. And one row per market, depth and judge of both: queries and configurations of
    A, of B, and of both.
    """
    a, b = (_numbers_of(run, options) for run in runs)
    joined = a.join(b, on=PLACE, how="full", suffix="_b", coalesce=True, nulls_equal=True)
    tables = {name: place for place, name in enumerate((MEANS, *_VALUES))}
    joined = joined.sort(pl.col("table").replace_strict(tables), *PLACE[1:])
    overlap, again = _left_out(runs, joined)
    tested = _test(joined.join(again, on=PLACE, how="left", maintain_order="left", nulls_equal=True))
    return _verdicts(tested), overlap


def _numbers_of(run: Run, options: DiffOptions) -> pl.DataFrame:
    found = []
    for table, value in _VALUES.items():
        frame = run.tables[table].with_columns(pl.lit(table).alias("table"))
        if "split" not in frame.columns:
            frame = frame.with_columns(pl.lit(EVERY).alias("split"), pl.lit(EVERY).alias("class"))
        columns = (*PLACE, pl.col(value).alias("value"), "ci_low", "ci_high", "caution", "reason")
        found.append(options.rows(frame).select(*columns, found=pl.lit(True)))
    return pl.concat([_means_of(run, options), *found])


def _means_of(run: Run, options: DiffOptions) -> pl.DataFrame:
    """Return the means over sessions of all metrics, in the columns of `_numbers_of`."""
    rows = run.tables[CONFIGURATIONS.name]
    fixed = {column.name for column in CONFIGURATIONS.columns}
    names, sessions = [name for name in rows.columns if name not in fixed], pl.col("n_sessions")
    means = rows.select(SAMPLE_COLUMNS).unique(maintain_order=True)
    ratings = [name for name in names if name in run.settings.ratings]
    averaged = [(rows, [name for name in names if name not in ratings])]
    averaged += [(run.of_click(rows, name), [name]) for name in ratings]
    for own, some in averaged:
        found = own.group_by(SAMPLE_COLUMNS, maintain_order=True).agg(
            pl.when(pl.col(name).null_count() == 0)
            .then((pl.col(name) * sessions).sum() / sessions.sum())
            .alias(name)
            for name in some
        )
        means = means.join(found, on=SAMPLE_COLUMNS, how="left", maintain_order="left")
    is_click = pl.col("metric").is_in(
        [name for name in names if is_click_metric(name) or name in run.outcomes]
    )
    every, none = pl.lit(EVERY), pl.lit(None, pl.String)
    long = means.unpivot(on=names, index=SAMPLE_COLUMNS, variable_name="metric").with_columns(
        table=pl.lit(MEANS),
        split=every,
        **{"class": every},
        click_metric=pl.when(is_click).then("metric").otherwise(none),
        editorial_metric=pl.when(is_click).then(none).otherwise("metric"),
        ci_low=pl.lit(None, pl.Float64),
        ci_high=pl.lit(None, pl.Float64),
        caution=none,
        reason=none,
    )
    columns = (*PLACE, "value", "ci_low", "ci_high", "caution", "reason")
    return options.rows(long).select(*columns, found=pl.lit(True))


def _left_out(runs: tuple[Run, Run], joined: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the overlap of samples, and the overall changes tested by leaving out queries."""
    both = pl.col("value").is_not_null() & pl.col("value_b").is_not_null()
    rows = joined.filter(both, pl.col("split") == EVERY)
    overlaps, tested = [_OVERLAP.to_frame()], [_AGAIN.to_frame()]
    keys = [SampleKey(*row) for row in rows.select(SAMPLE_COLUMNS).unique().sort(SAMPLE_COLUMNS).iter_rows()]
    number, common = common_folds(runs)
    # whether folds of users by number, joined to `USER_FOLDS`, have the same users in both
    of_a, of_b = (run.settings.folds for run in runs)
    are_same = of_a == of_b or (of_a % USER_FOLDS == 0 and of_b % USER_FOLDS == 0)
    users = common if are_same else ()
    rated_by_both = runs[0].settings.ratings & runs[1].settings.ratings
    by_depth = attrgetter("depth", "judge")
    for (depth, judge), alike in groupby(sorted(keys, key=by_depth), by_depth):
        # of one depth and judge in memory at a time
        markets = [_by_market(run, depth, judge) for run in runs]
        known: dict[Any, _Groups] = {}
        for key in alike:
            own = key.rows(rows)
            ratings = [name for name in own["click_metric"].unique().sort() if name in rated_by_both]
            if (own["table"] != "within").any():
                pair = [of_run[key.market] for of_run in markets]
                if common and number != USER_FOLDS:
                    pair = [graded_sample(run, key, number).sample for run in runs]
                counts = [*key.columns.values()]
                for name in ("queries", "configuration_ids"):
                    of_a, of_b = (getattr(sample, name) for sample in pair)
                    counts += [len(of_a), len(of_b), len({*of_a} & {*of_b})]
                overlaps.append(pl.DataFrame([counts], schema=_OVERLAP, orient="row"))
                tested.extend(_again(pair, own, common))
                for name in ratings:
                    tested.extend(_again([one.rated(name) for one in pair], own, common, of_rating=True))
            tested.extend(_within_again(key, [[*of_run.values()] for of_run in markets], own, users, known))
            for name in ratings:
                rated = [
                    [one for market in of_run.values() for one in market.each_rating([name])]
                    for of_run in markets
                ]
                tested.extend(_within_again(key, rated, own, users, known))
    return pl.concat(overlaps).sort(SAMPLE_COLUMNS), pl.concat(tested)


def _by_market(run: Run, depth: int, judge: str) -> dict[str, Sample]:
    kept = run.tables["statistics"].filter(pl.col("n_configurations") > 0, depth=depth, judge=judge)
    keys = [SampleKey(market, depth, judge) for market in kept["market"].sort()]
    return {key.market: graded_sample(run, key).sample for key in keys}


def common_folds(runs: Sequence[Run]) -> tuple[int, tuple[int, ...]]:
    """Return into how many folds the folds of both runs can be joined, and which both have, if several.

    A fold is digest(user) mod F, so that a fold modulo a divisor of both F has the same users in both.
    """
    number = math.gcd(*(run.settings.folds for run in runs))
    of_a, of_b = ({fold % number for fold in folds_of(run)} for run in runs)
    return number, tuple(sorted(of_a)) if of_a == of_b and len(of_a) > 1 else ()


def _shared_names(a: Sample, b: Sample, rows: pl.DataFrame) -> tuple[list[str], list[str]]:
    """Return the click and offline metrics that both have, and that are compared."""
    of_clicks, of_editorial = ({*rows[name]} for name in ("click_metric", "editorial_metric"))
    return (
        [name for name in a.click_names if name in b.click_names and name in of_clicks],
        [name for name in a.editorial_names if name in b.editorial_names and name in of_editorial],
    )


def _within_again(
    key: SampleKey,
    runs: Sequence[Sequence[Sample]],
    rows: pl.DataFrame,
    folds: tuple[int, ...],
    known: dict[Any, _Groups],
) -> Iterator[pl.DataFrame]:
    """Yield the changes of correlations within queries, of one market or of all; `runs` have all markets.

    known: the groups of all markets so far, by the metrics that are compared; further ones are added.
    """
    rows = rows.filter(table="within")
    if rows.is_empty() or not all(runs):
        return
    clicks, editorial = _shared_names(runs[0][0], runs[1][0], rows)
    if not clicks or not editorial:
        return
    names = (*clicks, *editorial)
    if names not in known:
        narrowed = [[sample.narrowed(clicks, editorial) for sample in markets] for markets in runs]
        known[names] = [query_groups(samples) for samples in narrowed]
    named = [
        [place for place in places if key.market in (place.key.market, EVERY)] for places in known[names]
    ]
    if not all(named):
        return
    a, b = (all_markets(places) for places in named)
    changes = within_changes(a, b, users=len(folds) >= MIN_FOLDS)
    place = {"table": "within", **key.columns, "split": EVERY, "class": EVERY}
    yield _tested_again(place, pairs_of(clicks, editorial), changes, len(folds))


def _again(
    pair: Sequence[Sample], rows: pl.DataFrame, folds: Sequence[int], *, of_rating: bool = False
) -> Iterator[pl.DataFrame]:
    """Yield the changes of one market, depth and judge, computed from configurations, for its own tables.

    `pair` are the samples of both runs. Those of a rating say nothing of the means of offline metrics, which
    are over all sessions.
    """
    clicks, editorial = _shared_names(pair[0], pair[1], rows)
    a, b = (sample.narrowed(clicks, editorial) for sample in pair)
    without = [(without_fold(a, fold), without_fold(b, fold)) for fold in folds]
    if of_rating and not all(len(one.sessions) for part in ((a, b), *without) for one in part):
        return
    key = {**a.key.columns, "split": EVERY, "class": EVERY}
    one_of_both = {
        "click_metric": [*clicks, *(None for _ in editorial)],
        "editorial_metric": [*(None for _ in clicks), *editorial],
    }
    means = _tested_again({"table": MEANS, **key}, one_of_both, mean_changes(a, b, without), len(folds))
    yield means.head(len(clicks)) if of_rating else means
    if clicks and editorial:
        names = pairs_of(clicks, editorial)
        for table, test in (("correlations", weighted_changes), ("differences", closed_form_changes)):
            yield _tested_again({"table": table, **key}, names, test(a, b, without), len(folds))


def _tested_again(
    place: Mapping[str, Any], names: Mapping[str, Sequence[str | None]], changes: Changes, folds: int
) -> pl.DataFrame:
    number = len(changes.p)
    columns = {
        **{name: [value] * number for name, value in place.items()}, **names,
        "again_a": changes.a, "again_b": changes.b, "low": changes.low, "high": changes.high, "p": changes.p,
        "paired_caution": changes.cautions, "folds": [folds] * number,
    }  # fmt: skip
    return pl.DataFrame(columns, schema=_AGAIN)


def _test(rows: pl.DataFrame) -> pl.DataFrame:
    """Add change, interval and p-value: from queries left out where that can be done, else from intervals."""
    alone = from_intervals(_ends(rows, ""), _ends(rows, "_b"))
    again = {name: _floats(rows, name) for name in ("again_a", "again_b", "low", "high", "p")}
    with np.errstate(invalid="ignore"):
        agrees = [
            np.abs(again[name] - _floats(rows, value)) <= _AGREE
            for name, value in (("again_a", "value"), ("again_b", "value_b"))
        ]
    paired = agrees[0] & agrees[1] & np.isfinite(again["p"])
    change = no_rounding(alone.b - alone.a)
    p = np.where(paired, again["p"], alone.p)
    columns = {
        "change": change,
        "ci_low": np.where(paired, again["low"], alone.low),
        "ci_high": np.where(paired, again["high"], alone.high),
        "p_value": np.where(change == 0, np.nan, p),  # no change is no test, and no member of a family
    }
    frame = rows.with_columns(pl.Series(name, values) for name, values in columns.items())
    frame = frame.with_columns(pl.col(*columns).fill_nan(None), paired=pl.Series(paired))
    frame = frame.with_columns(
        family=pl.when(pl.col("split") != EVERY).then(pl.lit(BY_CLASS))
        .when(pl.col("table") == "within").then(pl.lit(WITHIN_QUERIES))
        .when(pl.col("table") == "correlations").then(pl.lit(WEIGHTED))
        .when(pl.col("table") == "differences").then(pl.lit(CLOSED_FORMS))
        .when(pl.col("click_metric").is_null()).then(pl.lit(MEANS_OF_METRICS))
        .otherwise(pl.lit(MEANS_OF_CLICKS))
    )  # fmt: skip
    # Holm's within a family, times the number of families
    p, adjusted = _floats(frame, "p_value"), np.full(rows.height, np.nan)
    family = frame["family"].to_numpy()
    parts = sum(np.isfinite(p[family == name]).any() for name in FAMILIES if name != BY_CLASS)
    for name in FAMILIES:
        adjusted[family == name] = np.minimum(1, max(1, parts) * holm(p[family == name]))
    return frame.with_columns(pl.Series("p_adjusted", adjusted).fill_nan(None))


def _ends(rows: pl.DataFrame, suffix: str) -> Floats:
    ends = [_floats(rows, f"{name}{suffix}") for name in ("value", "ci_low", "ci_high")]
    return np.stack(ends, axis=1)


def _floats(rows: pl.DataFrame, name: str) -> Floats:
    values: Floats = rows[name].cast(pl.Float64).fill_null(np.nan).to_numpy()
    return values


def _verdicts(rows: pl.DataFrame) -> pl.DataFrame:
    a, b, p = pl.col("value"), pl.col("value_b"), pl.col("p_adjusted")
    status = (
        pl.when(a.is_null() & b.is_null()).then(pl.lit(NO_VALUE))
        .when(b.is_null()).then(pl.lit(ONLY_A))
        .when(a.is_null()).then(pl.lit(ONLY_B))
        .when(pl.col("change") == 0).then(pl.lit(SAME))
        .when(p.is_null()).then(pl.lit(NOT_TESTED))
        .when(p < ALPHA).then(pl.lit(BEYOND))
        .otherwise(pl.lit(WITHIN))
    )  # fmt: skip
    of_a, of_b = (
        pl.when(pl.col(found).is_null()).then(pl.lit(NO_ROW)).otherwise(pl.col(reason))
        for found, reason in (("found", "reason"), ("found_b", "reason_b"))
    )
    by = (
        pl.when(pl.col("paired").not_()).then(pl.lit(INTERVALS))
        .when(pl.col("folds") > 1).then(pl.lit(USERS_LEFT_OUT))
        .otherwise(pl.lit(LEFT_OUT))
    )  # fmt: skip
    alone = pl.coalesce("caution", "caution_b")
    few = pl.when(
        (pl.col("family") == MEANS_OF_CLICKS) & (pl.col("folds") < MIN_FOLDS)
        | pl.col("folds").is_between(2, MIN_FOLDS - 1)
    ).then(pl.lit(FEW_FOLDS))
    both = pl.coalesce(pl.col("paired_caution") + "; " + few, "paired_caution", few)
    return rows.select(
        *PLACE,
        a.alias("a"),
        b.alias("b"),
        *("change", "ci_low", "ci_high", "p_value", "p_adjusted", "family"),
        status.alias("status"),
        pl.when(p.is_not_null()).then(by).alias("tested_by"),
        pl.when("paired").then(both).otherwise(alone).alias("caution"),
        pl.when(b.is_null()).then(of_b).when(a.is_null()).then(of_a).alias("reason"),
    )


# ---- changes that are findings -------------------------------------------------------------------------


@dataclass(frozen=True)
class Watch:
    """What makes a change a finding, of `diff --fail-above` and `not worse than`; a lost number is one."""

    above: float = 0.0  # A change is a finding if it is larger than this.
    # Whether changes within noise are left out. Changes that cannot be tested stay.
    beyond_noise: bool = False
    falls: bool = False  # Whether only falls are findings, and rises none.
    # Whether means are watched too. One threshold cannot serve them, as their scales differ.
    means: bool = False

    @property
    def watched(self) -> pl.Expr:
        """The condition for numbers that it is about."""
        return pl.lit(True) if self.means else pl.col("table") != MEANS

    @property
    def finding(self) -> pl.Expr:
        """The condition for findings among the rows of `compare_numbers`."""
        change = -pl.col("change") if self.falls else pl.col("change").abs()
        large = (change > self.above).fill_null(False)
        if self.beyond_noise:
            large &= pl.col("status") != WITHIN
        return (large | (pl.col("status") == ONLY_A)) & self.watched

    @property
    def certain(self) -> pl.Expr:
        """The condition for findings that were tested, or are gone from B."""
        return self.finding & (pl.col("status") != NOT_TESTED)


NOTHING_WORSE = Watch(beyond_noise=True, falls=True, means=True)
"""Nothing fell beyond noise: neither a mean of a metric or of clicks, nor a correlation."""


def flag_findings(numbers: pl.DataFrame, watch: Watch | None) -> pl.DataFrame:
    """Add the column `finding` to the rows of `compare_numbers`; without a watch nothing is one."""
    return numbers.with_columns(finding=pl.lit(False) if watch is None else watch.finding)


def check_watch(
    numbers: pl.DataFrame, watch: Watch, options: DiffOptions, *, name: str = "--fail-above"
) -> None:
    """Check that each value of an option has a number in A, which a change could be a finding against.

    numbers, name: as `compare_numbers` returns them; what the watch is called in messages.
    Raises SettingsError if one has none: the watch would always pass.
    """
    known = numbers.filter(watch.watched, pl.col("a").is_not_null())
    what = "number" if watch.means else "correlation"
    if known.is_empty():
        raise SettingsError(
            f"{name} has nothing to watch: the run to compare with, A, has no such {what}, so that no change "
            "could ever be a finding; give another run as A"
        )
    for option, (column, values) in options.by_option().items():
        for value in values:
            if value not in known[column]:
                raise SettingsError(
                    f"{name} cannot watch {option} {value}: the run to compare with, A, has no such {what}, "
                    f"so that no change could ever be a finding; remove {option} {value}, or give another "
                    "run as A"
                )
