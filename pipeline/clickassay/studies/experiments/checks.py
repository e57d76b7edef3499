"""Whether the data of a test can be trusted: checks that come before any verdict."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

import numpy as np
import polars as pl

from clickassay.core.records import Floats
from clickassay.core.settings.of_tests import DeclaredTest
from clickassay.core.special import ndtr, stdtr
from clickassay.core.text.words import count, percent, visible
from clickassay.correlation.weighted import ROUNDING
from clickassay.patterns.table import USERS_KEPT
from clickassay.studies.experiments.effects import FEWEST_FOLDS, Effects, by_days

OK, CAUTION, FINDING, TOO_FEW = "ok", "caution", "finding", "too few"

SURE = 0.001
"""Level of the checks: each speaks once in a thousand healthy tests."""

MOST_IN_TWO = 0.01
"""Share of users in two variants above which a test is not trusted."""

SPLIT_MOVED = 0.05
"""By how much the share of treatment on some day may differ from that of all days."""

MOST_OTHERS = 0.01
"""Share of sessions of an interleaved test whose rankings lack control, above which it is not trusted."""

UNEVEN = 0.01
"""By how much the share of a ranker in the places of mixed rankings may differ from one half."""

USUAL_SPLITS = (1, 5, 10, 20, 25, 30, 100 / 3, 40, 50, 60, 200 / 3, 70, 75, 80, 90, 95, 99)
"""Shares of treatment in percent that tests are planned with."""


@dataclass(frozen=True)
class Users:
    """The users of the two arms of a test, by the digests that are kept."""

    kept: tuple[int, int]  # Of one arm alone, control and treatment.
    in_two: int  # In several variants of the test.
    scale: float  # Users for each that is kept.

    @property
    def whole(self) -> tuple[int, int]:
        """The users of each arm, estimated where not all are kept."""
        control, treatment = (round(self.scale * one) for one in self.kept)
        return control, treatment


def users_of(users: pl.DataFrame, control: str, variant: str) -> Users:
    """Return the users of two arms of one test; the table has those of all its variants.

    If digests are kept up to the largest d of them, one in d / 2^64 users is kept (k-minimum values).
    """
    variants = users.group_by("digest").agg(pl.len(), pl.col("variant").first())
    alone = dict(variants.filter(len=1).group_by("variant").len().iter_rows())
    number = variants.height
    is_part = number >= USERS_KEPT
    scale = (number - 1) / number / (int(users["digest"].max()) / 2**64) if is_part else 1.0  # type: ignore[arg-type]
    return Users(
        (alone.get(control, 0), alone.get(variant, 0)), variants.filter(pl.col("len") > 1).height, scale
    )


def sample_ratio(kept: tuple[int, int], share: float) -> float:
    """Return the p-value of Pearson's chi-square: are the users split as planned? 0..1; NaN without users.

    share: planned share of treatment of these two arms.
    """
    total = sum(kept)
    if not total:
        return float("nan")
    deviation = abs(kept[1] - share * total) / np.sqrt(total * share * (1 - share))
    return float(2 * ndtr(-deviation))


def checks(
    users: Users,
    sessions: Floats,
    short: Floats | None,
    days: list[date | None],
    share: float,
    told: DeclaredTest,
) -> list[dict[str, Any]]:
    """Return the checks of one test: check, value, limit, status and remedy.

    sessions: (2, D, F) sessions by arm, day and fold of users.
    short: (2, F) sessions on rankings that are too short or empty; None where it is not known.
    days: the D days.
    share: planned share of treatment.
    """
    rows = [
        _ratio(users, share, told),
        _row("two_variants", users.in_two / max(sum(users.kept) + users.in_two, 1), MOST_IN_TWO, FINDING,
             f"{count(users.in_two)} of the users looked at are in several variants; assign each user once, "
             "by an id that stays"),
        _folds(sessions),
        *_split(sessions),
        *_ends(days, told),
    ]  # fmt: skip
    if short is not None:
        rows += _short(sessions, short)
    return rows


def checks_of_drafts(
    names: tuple[str, str], first: Effects, places: Effects, others: float, told: DeclaredTest
) -> list[dict[str, Any]]:
    """Return the checks of one interleaved test: check, value, limit, status and remedy.

    names: the rankers, control first.
    first: shares of sessions in which either ranker has the first place, and their difference.
    places: the same of all places that a ranker has.
    others: share of the sessions of the test on rankings of two others.
    """
    control, treatment = map(visible, names)
    folds = FEWEST_FOLDS if first.units >= FEWEST_FOLDS else first.units
    share = float(places.treatment[0])
    is_clear = abs(share - 0.5) > UNEVEN and places.p[0] < SURE
    return [
        _row("first_places", _p_of(first), SURE, FINDING,
             f"“{treatment}” comes first in {percent(first.treatment[0])} of the sessions, and a fair draft "
             "gives it half: correct the draft, and repeat the test", below=True),
        _row("folds", folds, FEWEST_FOLDS, FINDING,
             f"only {first.units} folds of users have sessions; take a longer log, or more folds",
             below=True),
        _row("other_rankers", others, MOST_OTHERS, FINDING,
             f"{percent(others)} of the sessions mix two rankers without “{control}”: if a ranker was "
             "replaced during the test, give each pair a test of its own"),
        _row("places", abs(share - 0.5) if is_clear else 0.0, UNEVEN, CAUTION,
             f"“{treatment}” has {percent(share)} of the places of “{treatment}” and “{control}”, and more "
             "places get more clicks"),
        *_ends([], told),
    ]  # fmt: skip


def _row(
    check: str, value: float, limit: float, status: str, remedy: str, *, below: bool = False
) -> dict[str, Any]:
    is_wrong = value < limit if below else value > limit
    if np.isnan(value):
        return {"check": check, "value": None, "limit": limit, "status": TOO_FEW, "remedy": ""}
    return {
        "check": check, "value": float(value), "limit": limit,
        "status": status if is_wrong else OK, "remedy": remedy if is_wrong else "",
    }  # fmt: skip


def _ratio(users: Users, share: float, told: DeclaredTest) -> dict[str, Any]:
    seen = users.kept[1] / max(sum(users.kept), 1)
    nearest = min(USUAL_SPLITS, key=lambda percents: abs(percents / 100 - seen)) / 100
    remedy = f"treatment has {percent(seen)} of the users"
    if not told.shares:
        is_usual = sample_ratio(users.kept, nearest) >= SURE
        split = f"{100 * (1 - nearest):.3g}:{100 * nearest:.3g}" if is_usual else "no even split"
        remedy += f": if {split} was planned, write it as shares; else find out where users are lost"
    else:
        remedy += f", planned were {percent(share)}: find out where users are lost, and repeat the test"
    return _row("sample_ratio", sample_ratio(users.kept, share), SURE, FINDING, remedy, below=True)


def _folds(sessions: Floats) -> dict[str, Any]:
    both = int((sessions.sum(axis=1) > 0).all(axis=0).sum())
    remedy = f"only {both} folds of users have sessions of both arms; take a longer log, or more folds"
    return _row("folds", both, FEWEST_FOLDS, FINDING, remedy, below=True)


def _split(sessions: Floats) -> Iterator[dict[str, Any]]:
    """Check whether treatment has the same share of sessions every day: errors by folds, Bonferroni."""
    by_fold = np.moveaxis(sessions, 2, 0)  # (F, 2, D)
    whole = by_fold.sum(axis=0)
    enough = (by_fold > 0).all(axis=1).sum(axis=0) >= FEWEST_FOLDS  # (D,)
    if enough.sum() < 2:
        yield _row("split", float("nan"), SPLIT_MOVED, CAUTION, "")
        return

    def moved(sums: Floats) -> Floats:
        share: Floats = sums[..., 1, :] / np.maximum(sums.sum(axis=-2), 1)
        of_all = sums[..., 1, :].sum(axis=-1) / np.maximum(sums.sum(axis=(-1, -2)), 1)
        difference: Floats = share - of_all[..., None]
        return difference

    by_day = moved(whole)
    deviations = moved(whole - by_fold) - by_day
    folds = len(deviations)
    error = np.sqrt((folds - 1) / folds * ((deviations - deviations.mean(axis=0)) ** 2).sum(axis=0))
    with np.errstate(invalid="ignore", divide="ignore"):
        p = 2 * stdtr(folds - 1, -np.abs(by_day) / error) * enough.sum()
    is_clear = enough & (p < SURE)
    value = np.abs(by_day[is_clear]).max(initial=0.0)
    yield _row(
        "split", float(value), SPLIT_MOVED, CAUTION,
        "the split of users changed between days: matched differences mix days, the effect on users does not",
    )  # fmt: skip


def _short(sessions: Floats, short: Floats) -> Iterator[dict[str, Any]]:
    found = by_days(sessions.sum(axis=1)[:, None, :, None], short[:, None, :, None])
    remedy = (
        f"too short or empty rankings: {percent(found.control[0])} of control's sessions, "
        f"{percent(found.treatment[0])} of treatment's; offline metrics do not see them"
    )
    yield _row("short_lists", _p_of(found), SURE, CAUTION, remedy, below=True)


def _p_of(effects: Effects) -> float:
    """Return the p-value of no difference; where it is the same in every fold, 1 without one and else 0."""
    p, difference = float(effects.p[0]), float(effects.difference[0])
    return float(abs(difference) < ROUNDING) if np.isnan(p) and np.isfinite(difference) else p


def _ends(days: list[date | None], told: DeclaredTest) -> Iterator[dict[str, Any]]:
    last = max((day for day in days if day is not None), default=None)
    if told.until is None:
        remedy = "write the last day as until: a test that ends when it looks good overstates its effect"
        yield {"check": "ends", "value": None, "limit": 0.0, "status": CAUTION, "remedy": remedy}
    elif last is None:
        yield _row("ends", float("nan"), 0.0, CAUTION, "")
    else:
        left = max((told.until - last).days, 0)
        remedy = f"the log ends {left} days before the test, {last}: run again when it has ended"
        yield _row("ends", left, 0.0, CAUTION, remedy)


def cautions_of(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return what the checks warn of."""
    return [visible(row["remedy"], limit=300) for row in rows if row["status"] == CAUTION]
