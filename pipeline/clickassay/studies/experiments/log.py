"""The A/B tests of a log: what each did to users, and what offline metrics say of its rankings."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import polars as pl

from clickassay.core.contracts.experiments import (
    AB,
    EXPERIMENT_CHECKS,
    EXPERIMENT_JUDGES,
    EXPERIMENT_PREFERENCES,
    EXPERIMENTS,
)
from clickassay.core.contracts.form import Table
from clickassay.core.errors import SettingsError
from clickassay.core.settings.of_tests import DeclaredTest, control_of
from clickassay.core.text.words import did_you_mean
from clickassay.correlation.uncertainty.intervals import ALPHA, benjamini_hochberg
from clickassay.patterns.arms import ArmTables
from clickassay.studies.experiments.arms import Arms, Judged, Rankings
from clickassay.studies.experiments.checks import checks, users_of
from clickassay.studies.experiments.effects import Effects
from clickassay.studies.experiments.interleaving import Drafts, interleaved_tests
from clickassay.studies.experiments.order import CHANGED, PastTests
from clickassay.studies.experiments.parts import Comparison, LogOptions, Matched, Row, RowsOfTest, row_of
from clickassay.studies.experiments.verdicts import Difference, is_unequal

NOT_CHANGED = 0.01
"""Share of changed rankings below which a test is probably an A/A test."""

MOST_TO_JUDGE = 20
"""Rankings that are proposed to be judged first, of each test and judge."""

_TO_JUDGE = {
    "experiment": pl.String,
    "variant": pl.String,
    "judge": pl.String,
    "n": pl.Int64,
    "sessions": pl.Int64,
}


@dataclass(frozen=True)
class LogExperiments:
    """The tests of a log, as frames in the form of the contracts of these names."""

    experiments: pl.DataFrame
    checks: pl.DataFrame
    judges: pl.DataFrame
    preferences: pl.DataFrame
    # experiment, variant (the arm that lacks more), judge, configuration_id, sessions: what to judge first
    # where arms are judged unequally.
    to_judge: pl.DataFrame


def experiments_of_log(
    tables: ArmTables | None,
    rankings: Rankings,
    declared: Mapping[str, DeclaredTest],
    options: LogOptions,
    drafts: Drafts | None = None,
) -> LogExperiments:
    """Hold the tests of a log against what offline metrics say of their rankings.

    tables, drafts: of A/B tests, and of interleaved ones, at the depth of `rankings`; None = there are none.

    Raises SettingsError if the control of a test is not known, or a declared variant, the metric in use or
    the click metric is not there.
    """
    of_arms = {} if tables is None else {name: tables.of(name) for name in tables.experiments}
    for judged in rankings.by_judge.values():
        if options.current not in judged.metrics:
            names = did_you_mean(options.current, judged.metrics)
            raise SettingsError(f"--current {options.current}: no such metric; {names}")
    parts = [
        part
        for name, own in of_arms.items()
        for part in _parts(own, name, declared.get(name, DeclaredTest()), rankings, options)
    ]
    parts += () if drafts is None else interleaved_tests(drafts, rankings, declared, options)

    def table(field: str, form: Table) -> pl.DataFrame:
        rows = [row for part in parts for row in getattr(part, field)]
        frame = pl.DataFrame(rows, {column.name: column.dtype for column in form.columns}, orient="row")
        return form.canonical(_moved(frame) if form is EXPERIMENTS else frame)

    to_judge = pl.DataFrame([row for part in parts for row in part.to_judge], _TO_JUDGE, orient="row")
    to_judge = to_judge.join(rankings.numbers.select("n", "configuration_id"), on="n").drop("n")
    order = ["experiment", "variant", "judge", "sessions", "configuration_id"]
    return LogExperiments(
        table("rows", EXPERIMENTS),
        table("checks", EXPERIMENT_CHECKS),
        table("judges", EXPERIMENT_JUDGES),
        table("preferences", EXPERIMENT_PREFERENCES),
        to_judge.select(order).sort(order, descending=[name == "sessions" for name in order]),
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
        key.join(offline.filter(metric=metric), on=key.columns, how="left", maintain_order="left")
        for metric in metrics
    ]
    said = [rows["difference"].fill_null(np.nan).to_numpy() for rows in values]
    difference, error, p = (users[name].to_numpy() for name in ("difference", "error", "p_value"))
    return PastTests(
        tuple(users.select(text).to_series()), tuple(users["group"]), difference, error, p, metrics,
        np.column_stack([np.zeros((users.height, 0)), *said]), users["changed"].to_numpy(),
    )  # fmt: skip


# ---- one test ------------------------------------------------------------------------------------


def _parts(
    tables: ArmTables, name: str, told: DeclaredTest, rankings: Rankings, options: LogOptions
) -> list[RowsOfTest]:
    """Hold each treatment of a test against its control."""
    every = pl.concat([tables.arms["variant"], tables.users["variant"]]).unique().sort().to_list()
    control = control_of(name, every, told)
    return [
        _ArmsCompared(tables, rankings, options, told, (name, control, variant)).rows()
        for variant in every
        if variant != control
    ]


class _ArmsCompared(Comparison):
    """One treatment of a test and its control."""

    def __init__(
        self, tables: ArmTables, rankings: Rankings, options: LogOptions, told: DeclaredTest,
        names: tuple[str, str, str],
    ) -> None:  # fmt: skip
        name, self.control, self.variant = names
        self.depth, self.told = rankings.depth, told
        self.users = users_of(tables.users, self.control, self.variant)
        self.arms = Arms(tables, self.control, self.variant, rankings)
        self.judges = {judge: judged.at(self.arms.lists) for judge, judged in rankings.by_judge.items()}
        metrics, effects = self.arms.on_users(options.ratings)
        of_users, click = {name: row_of(effects, at) for at, name in enumerate(metrics)}, options.click_metric
        if click not in of_users:
            known = did_you_mean(click, metrics)
            raise SettingsError(f"click metric {click!r}: no such metric of users; {known}")
        margin = options.effect_margin * abs(of_users[click]["mean_control"])
        key = {"experiment": name, "variant": self.variant, "kind_of_test": AB}
        said = f"{100 * options.effect_margin:g}%"
        super().__init__(key, self.arms, of_users, click, (margin, said), options)
        self.changed = self.arms.changed()

    def rows(self) -> RowsOfTest:
        """Return the rows of this comparison."""
        told, arms, shares = self.told, self.arms, self.told.shares
        share = shares[self.variant] / (shares[self.variant] + shares[self.control]) if shares else 0.5
        short = arms.short if self.options.every_ranking else None
        found = checks(self.users, arms.by_day, short, arms.days.to_list(), share, told)
        n_control, n = arms.by_day.sum(axis=(1, 2))
        is_same = not told.is_aa and self.changed is not None and self.changed < NOT_CHANGED
        same = "the arms show the same rankings: if this is an A/A test, write is_aa = true"
        base = {
            "control": self.control, "depth": self.depth, "changed": self.changed,
            "users_control": self.users.whole[0], "users": self.users.whole[1],
            "sessions_control": int(n_control), "sessions": int(n),
        }  # fmt: skip
        part = self.part(base, found, [same] if is_same else [], told, self.judges)
        if min(self.users.whole) >= self.options.min_users:
            self._add_pairs_of_judges(part)
            return part
        kept = (*EXPERIMENTS.key, "control", "group")
        hidden = {"counts": False, "reason": f"an arm has fewer than {self.options.min_users} users"}
        rows = [{name: row[name] for name in kept} | hidden for row in part.rows]
        return RowsOfTest(rows, [row | {"value": None, "remedy": ""} for row in part.checks])

    def add_users(self, part: RowsOfTest, base: Row, matched: Matched) -> None:
        """Add the rows of the metrics of users, and of the baseline."""
        super().add_users(part, base, matched)
        if self.changed is not None:
            part.rows.append(base | {"kind": "baseline", "metric": CHANGED, "difference": self.changed})

    def add_judge(self, part: RowsOfTest, base: Row, judged: Judged) -> Effects:
        """Add the rows of all metrics by the grades of one judge, and what to judge if arms are unequal."""
        shares = super().add_judge(part, base, judged)
        if is_unequal(Difference(*shares.three(0))):
            lacks = int(shares.treatment[0] < shares.control[0])
            sessions = self.arms.unjudged(judged.is_judged)[lacks]
            first = np.lexsort((self.arms.lists, -sessions))[:MOST_TO_JUDGE]
            key = {"experiment": self.key["experiment"], "variant": (self.control, self.variant)[lacks]}
            part.to_judge.extend(
                key | {"judge": base["judge"], "n": int(self.arms.lists[at]), "sessions": int(sessions[at])}
                for at in first
                if sessions[at]
            )
        return shares

    def _add_pairs_of_judges(self, part: RowsOfTest) -> None:
        """Add the differences between the ΔE of two judges, on rankings that both judged."""
        key = {"experiment": self.key["experiment"], "variant": self.variant, "depth": self.depth}
        for (name_a, a), (name_b, b) in combinations(self.judges.items(), 2):
            common = [name for name in a.metrics if name in b.metrics]
            of_a, of_b = (one.values[:, [one.metrics.index(name) for name in common]] for one in (a, b))
            effects = self.arms.differences(a.is_judged & b.is_judged, np.hstack([of_a, of_b, of_b - of_a]))
            for at, metric in enumerate(common):
                last = 2 * len(common) + at
                ends = ("favours", "favours_low", "favours_high")
                part.judges.append(key | dict(zip(ends, effects.three(last), strict=True)) | {
                    "judge_a": name_a, "judge_b": name_b, "editorial_metric": metric,
                    "difference_a": float(effects.difference[at]),
                    "difference_b": float(effects.difference[len(common) + at]),
                    "p_value": float(effects.p[last]), "caution": effects.cautions[last],
                })  # fmt: skip
