"""Tests of a log, from the tables of its arms, against plain loops over sessions."""

from collections import Counter, defaultdict
from datetime import date, timedelta

import numpy as np
import polars as pl
import pytest

from clickassay.core.contracts.patterns import ARM_OUTCOMES, ARM_PATTERNS, ARM_USERS, ARMS
from clickassay.metrics.clicks import mean_rr
from clickassay.patterns.arms import ArmTables
from clickassay.studies.experiments.arms import Rankings
from clickassay.studies.experiments.log import LogOptions, experiments_of_log

DEPTH, FOLDS = 3, 8
OPTIONS = LogOptions("M", "UCTR", min_users=1)


def world(seed, users=160, queries=30, arms=("control", "new"), effect=0.0):
    """Return sessions of a log, each a dict: its user, arm, day, ranking, mask and outcome."""
    rng = np.random.default_rng(seed)
    sessions = []
    for user in range(users):
        arm = arms[rng.integers(len(arms))]
        for _ in range(rng.integers(1, 6)):
            query = int(rng.integers(queries) * rng.random())
            ranking = f"q{query}/{arm}" if rng.random() < 0.5 else f"q{query}/both"
            clicks = rng.random(DEPTH) < 0.3 + effect * (arm == "new")
            sessions.append({
                "user": user, "fold": user % FOLDS, "variant": arm, "query": f"q{query}",
                "day": date(2026, 1, 1) + timedelta(int(rng.integers(4))),
                "configuration_id": None if rng.random() < 0.05 else ranking,  # None: an empty ranking
                "mask": int(clicks @ (1 << np.arange(DEPTH))), "bought": bool(rng.random() < 0.2),
                "spent": int(rng.integers(0, 5000)) if rng.random() < 0.3 else None,
            })  # fmt: skip
    return sessions


def counted(rows, form, more=None):
    """Return rows (dicts by key) counted into the form of a table; `more` adds up other columns."""
    sums = defaultdict(Counter)
    for row in rows:
        sums[tuple(row[name] for name in form.key)].update({"sessions": 1} | (more(row) if more else {}))
    found = [dict(zip(form.key, key, strict=True)) | dict(sums) for key, sums in sums.items()]
    return form.canonical(pl.DataFrame(found, schema={one.name: one.dtype for one in form.columns}))


def tables(sessions, experiment="t"):
    """Return the tables of the arms of sessions."""
    rows = []
    for one in sessions:
        own = one | {"experiment": experiment, "click_mask": one["mask"] if one["configuration_id"] else 0}
        rows.append(own | {"signal": "click"})
        if one["bought"] and own["click_mask"]:
            rows.append(own | {"signal": "purchase"})
    listed = [row for row in rows if row["configuration_id"]]
    spent = [
        row | {"outcome": "spent"} for row in rows if row["signal"] == "click" and row["spent"] is not None
    ]
    users = {(one["variant"], one["user"]) for one in sessions}
    digests = [(experiment, variant, 7919 * user + 1) for variant, user in users]
    return ArmTables(
        counted(rows, ARMS),
        counted(
            spent, ARM_OUTCOMES, lambda row: {"total": row["spent"], "total_of_squares": row["spent"] ** 2}
        ),
        counted(listed, ARM_PATTERNS),
        ARM_USERS.canonical(pl.DataFrame(digests, schema=["experiment", "variant", "digest"], orient="row")),
    )


def rankings(sessions, judges=("human",), unjudged=0.2, seed=0):
    """Return all rankings of sessions, and grades of some of them."""
    lists = sorted({(one["configuration_id"], one["query"]) for one in sessions if one["configuration_id"]})
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame([(name, "all", query, query) for name, query in lists],
                         schema=["configuration_id", "market", "query", "unit"], orient="row")  # fmt: skip
    judged = {}
    for judge in judges:
        own = frame.select("configuration_id").with_columns(
            good=pl.Series(rng.integers(0, 1 << DEPTH, frame.height)), M=pl.Series(rng.random(frame.height)),
            N=pl.Series(rng.random(frame.height)),
        )  # fmt: skip
        judged[judge] = own.filter(pl.Series(rng.random(frame.height) >= unjudged))
    return Rankings(DEPTH, frame, judged)


# ---- by plain loops ------------------------------------------------------------------------------


def by_cell(sessions, cell, value):
    """Return the weighted difference of means by its definition, over the cells that both arms have."""
    values = defaultdict(lambda: ([], []))
    for one in sessions:
        values[cell(one)][one["variant"] == "new"].append(value(one))
    top = bottom = 0.0
    for control, new in values.values():
        if control and new:
            weight = len(control) * len(new) / (len(control) + len(new))
            top += weight * (np.mean(new) - np.mean(control))
            bottom += weight
    return top / bottom if bottom else np.nan


def left_out(sessions, units, statistic):
    """Return the error by leaving out each unit."""
    names = sorted({units(one) for one in sessions})
    without = np.array([statistic([one for one in sessions if units(one) != name]) for name in names])
    return np.sqrt((len(names) - 1) / len(names) * ((without - without.mean()) ** 2).sum())


def clicked(one):
    """Return the mask of a session; an empty ranking has none."""
    return one["mask"] if one["configuration_id"] else 0


METRIC = {
    "UCTR": lambda one: float(clicked(one) > 0),
    "MeanRR": lambda one: float(mean_rr(np.array([clicked(one)]))[0]),
    "UCTR(signal='purchase')": lambda one: float(one["bought"] and clicked(one) > 0),
    "spent": lambda one: (one["spent"] or 0) / 1000,
}  # fmt: skip


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("metric", METRIC)
def test_effects_on_users_are_those_of_plain_loops_over_days_and_folds(seed, metric):
    sessions = world(seed)
    found = experiments_of_log(tables(sessions), rankings(sessions), {}, OPTIONS).experiments
    row = found.row(by_predicate=pl.col("metric") == metric, named=True)

    def effect(some):
        return by_cell(some, lambda one: one["day"], METRIC[metric])

    assert row["difference"] == pytest.approx(effect(sessions), abs=1e-12)
    assert row["difference"] == pytest.approx(row["mean"] - row["mean_control"])
    assert row["error"] == pytest.approx(left_out(sessions, lambda one: one["fold"], effect))
    arms = Counter(one["variant"] for one in sessions)
    assert (row["sessions_control"], row["sessions"]) == (arms["control"], arms["new"])
    users = Counter(variant for variant, _ in {(one["variant"], one["user"]) for one in sessions})
    assert (row["users_control"], row["users"]) == (users["control"], users["new"])


@pytest.mark.parametrize("seed", range(4))
def test_offline_and_matched_effects_are_those_of_plain_loops_over_queries(seed):
    sessions = world(seed)
    own = rankings(sessions)
    found = experiments_of_log(tables(sessions), own, {}, OPTIONS).experiments
    offline = found.row(by_predicate=pl.col("metric") == "M", named=True)
    users = found.row(by_predicate=pl.col("metric") == "UCTR", named=True)
    values = dict(own.judged["human"].select("configuration_id", "M").iter_rows())
    good = dict(own.judged["human"].select("configuration_id", "good").iter_rows())
    judged = [one for one in sessions if one["configuration_id"] in values]

    def effect(some, value):
        return by_cell(some, lambda one: one["query"], value)

    assert offline["difference"] == pytest.approx(effect(judged, lambda one: values[one["configuration_id"]]))
    assert users["matched"] == pytest.approx(effect(judged, METRIC["UCTR"]))
    ss = found.row(by_predicate=pl.col("metric") == "SS", named=True)
    assert ss["difference"] is None
    assert ss["matched"] == pytest.approx(
        effect(judged, lambda one: float(one["mask"] & good[one["configuration_id"]] > 0))
    )
    listed = [one for one in sessions if one["configuration_id"]]
    share = effect(listed, lambda one: float(one["configuration_id"] in values))
    assert offline["judged_share"] - offline["judged_share_control"] == pytest.approx(share, abs=1e-12)
