"""The A/B tests of a log: what each did to users, and what offline metrics say of its rankings."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import polars as pl

from clickassay.core.contracts.columns import EVERY
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
from clickassay.studies.experiments.arms import Arms, Flags, Judged, Rankings
from clickassay.studies.experiments.checks import FINDING, cautions_of, checks, users_of
from clickassay.studies.experiments.effects import Effects
from clickassay.studies.experiments.interleaving import Drafts, interleaved_tests
from clickassay.studies.experiments.order import CHANGED, PastTests
from clickassay.studies.experiments.parts import UNEQUAL, LogOptions, Matched, Row, RowsOfTest, row_of
from clickassay.studies.experiments.verdicts import Compared, Difference, is_unequal, verdict

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
        _Comparison(tables, rankings, options, told, (name, control, variant)).part()
        for variant in every
        if variant != control
    ]


class _Comparison:
    """One treatment of a test and its control."""

    def __init__(
        self, tables: ArmTables, rankings: Rankings, options: LogOptions, told: DeclaredTest,
        names: tuple[str, str, str],
    ) -> None:  # fmt: skip
        name, self.control, self.variant = names
        self.rankings, self.options, self.told = rankings, options, told
        self.key = {"experiment": name, "variant": self.variant}
        self.users = users_of(tables.users, self.control, self.variant)
        self.arms = Arms(tables, self.control, self.variant, rankings)
        names_of_users, effects = self.arms.on_users(options.ratings)
        self.of_users = {name: row_of(effects, at) for at, name in enumerate(names_of_users)}
        if options.click_metric not in self.of_users:
            known = did_you_mean(options.click_metric, names_of_users)
            raise SettingsError(f"click metric {options.click_metric!r}: no such metric of users; {known}")

    def part(self) -> RowsOfTest:
        """Return the rows of this comparison."""
        told, arms, shares = self.told, self.arms, self.told.shares
        share = shares[self.variant] / (shares[self.variant] + shares[self.control]) if shares else 0.5
        short = arms.short if self.options.every_ranking else None
        found = checks(self.users, arms.by_day, short, arms.days.to_list(), share, told)
        failed = [row["remedy"] for row in found if row["status"] == FINDING]
        n_control, n = arms.by_day.sum(axis=(1, 2))
        changed, warned = arms.changed(), cautions_of(found)
        if not told.is_aa and changed is not None and changed < NOT_CHANGED:
            warned.append("the arms show the same rankings: if this is an A/A test, write is_aa = true")
        base = self.key | {
            "kind_of_test": AB, "control": self.control, "group": told.group or self.key["experiment"],
            "depth": self.rankings.depth,
            "users_control": self.users.whole[0], "users": self.users.whole[1], "changed": changed,
            "sessions_control": int(n_control), "sessions": int(n),
            "counts": not (failed or told.is_aa or not n or not n_control),
            "reason": failed[0] if failed else "an A/A test: shown as calibration" if told.is_aa else None,
            "caution": "; ".join(warned) or None,
        }  # fmt: skip
        part = RowsOfTest(checks=[{"kind_of_test": AB} | self.key | row for row in found])
        for judge, judged in self.rankings.by_judge.items():
            self._add_judge(part, base | {"judge": judge}, judged)
        if not self.rankings.by_judge:
            self._add_users(part, base | {"judge": EVERY}, {})
        if min(self.users.whole) >= self.options.min_users:
            self._add_pairs_of_judges(part)
            return part
        kept = (*EXPERIMENTS.key, "control", "group")
        hidden = {"counts": False, "reason": f"an arm has fewer than {self.options.min_users} users"}
        rows = [{name: row[name] for name in kept} | hidden for row in part.rows]
        return RowsOfTest(rows, [row | {"value": None, "remedy": ""} for row in part.checks])

    def _add_users(self, part: RowsOfTest, base: Row, matched: Matched) -> None:
        """Add the rows of the metrics of users, and of the baseline."""
        for name in dict.fromkeys([*self.of_users, *matched]):
            own = dict(zip(("matched", "matched_low", "matched_high"), matched.get(name, ()), strict=False))
            part.rows.append(base | {"kind": "click", "metric": name} | self.of_users.get(name, {}) | own)
        if base["changed"] is not None:
            part.rows.append(base | {"kind": "baseline", "metric": CHANGED, "difference": base["changed"]})

    def _add_judge(self, part: RowsOfTest, base: Row, judged: Judged) -> None:
        """Add the rows of all metrics by the grades of one judge."""
        is_judged = judged.is_judged[self.arms.lists]
        shares = self.arms.judged_shares(is_judged)
        unequal = is_unequal(Difference(*shares.three(0)))
        base |= {"judged_share_control": float(shares.control[0]), "judged_share": float(shares.treatment[0])}
        matched = {} if unequal else self.arms.matched(judged)
        offline = self.arms.offline(is_judged, judged.values[self.arms.lists])
        unsure = offline.cautions[0] if matched else None  # matched clicks are of the same queries
        more = [base["caution"], unsure and f"matched differences: {unsure}"]
        self._add_users(part, base | {"caution": "; ".join(filter(None, more)) or None}, matched)
        for at, name in enumerate(judged.metrics):
            row, decides = base | {"kind": "editorial", "metric": name}, name == self.options.current
            if unequal:
                row["reason"] = base["reason"] or UNEQUAL
                row["verdict"] = "unequally_judged" if decides and base["counts"] else None
            else:
                row |= row_of(offline, at)
                row["caution"] = "; ".join(filter(None, [base["caution"], offline.cautions[at]])) or None
            if decides and base["counts"] and not unequal:
                row["verdict"], row["reason"] = verdict(self._compared(offline, at, matched, is_judged))
            part.rows.append(row)
        if unequal:
            lacks = int(shares.treatment[0] < shares.control[0])
            sessions = self.arms.unjudged(is_judged)[lacks]
            first = np.lexsort((self.arms.lists, -sessions))[:MOST_TO_JUDGE]
            key = self.key | {"variant": (self.control, self.variant)[lacks], "judge": base["judge"]}
            part.to_judge.extend(
                key | {"n": int(self.arms.lists[at]), "sessions": int(sessions[at])}
                for at in first
                if sessions[at]
            )

    def _compared(self, offline: Effects, at: int, matched: Matched, is_judged: Flags) -> Compared:
        name, margin = self.options.click_metric, self.options.effect_margin
        users, nan = self.of_users[name], float("nan")
        return Compared(
            Difference(users["difference"], users["ci_low"], users["ci_high"]),
            Difference(*offline.three(at)), Difference(*matched.get(name, (nan, nan, nan))),
            margin * abs(users["mean_control"]), f"{100 * margin:g}%", self.arms.share_compared(is_judged),
            offline.units,
        )  # fmt: skip

    def _add_pairs_of_judges(self, part: RowsOfTest) -> None:
        """Add the differences between the ΔE of two judges, on rankings that both judged."""
        lists, key = self.arms.lists, self.key | {"depth": self.rankings.depth}
        for (name_a, a), (name_b, b) in combinations(self.rankings.by_judge.items(), 2):
            common = [name for name in a.metrics if name in b.metrics]
            of_a, of_b = (
                one.values[lists][:, [one.metrics.index(name) for name in common]] for one in (a, b)
            )
            both = (a.is_judged & b.is_judged)[lists]
            effects = self.arms.offline(both, np.hstack([of_a, of_b, of_b - of_a]))
            for at, metric in enumerate(common):
                last = 2 * len(common) + at
                ends = ("favours", "favours_low", "favours_high")
                part.judges.append(key | dict(zip(ends, effects.three(last), strict=True)) | {
                    "judge_a": name_a, "judge_b": name_b, "editorial_metric": metric,
                    "difference_a": float(effects.difference[at]),
                    "difference_b": float(effects.difference[len(common) + at]),
                    "p_value": float(effects.p[last]), "caution": effects.cautions[last],
                })  # fmt: skip
