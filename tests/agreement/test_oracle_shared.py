"""What the oracle takes out of correlations within queries, against least squares and worked by hand."""

from collections import Counter
from datetime import date

import numpy as np
import pytest

from support.oracle.oracle_intervals import degrees_of_freedom, widened
from support.oracle.oracle_metrics import CLICK_METRICS
from support.oracle.oracle_run import judged_places
from support.oracle.oracle_shared import (
    Block,
    grouped,
    left_without_fold,
    moments,
    periods_of,
    side_by_side,
    weight,
)
from support.oracle.oracle_within import Errors, WithinLists, lists_of_groups, units_of
from support.oracle.shared_worlds import SharedWorld, shared_log

MARKETS = SharedWorld({"a": 45, "b": 20, "c": 22}, sessions=5, seed=5)


@pytest.fixture(scope="module")
def world():
    return lists_of(MARKETS)


def lists_of(world):
    every = [row for rows, _, _ in judged_places(*shared_log(world)).values() for row in rows]
    names = ["ERR", "NDCG", "DCG"]
    kept = lists_of_groups(every, CLICK_METRICS, names)
    return WithinLists(kept, CLICK_METRICS, names), kept


def by_block(rows):
    """Return the rows of each block; None where nothing is taken out."""
    found = {}
    for row in rows:
        found.setdefault(id(row["block"]), []).append(row)
    return {id(own[0]["block"]): (own[0]["block"], own) for own in found.values()}.values()


def design(block, own):
    """Return a column for each group, and the shares of periods and folds."""
    groups = list(grouped(own))
    dummies = [[float((row["market"], row["query"]) == group) for group in groups] for row in own]
    shares = [block.given(row) for row in own]
    return np.hstack([dummies, shares])


def test_residuals_are_those_of_least_squares_with_a_column_for_each_query(world):
    _, rows = world
    blocks = list(by_block(rows))
    assert sorted(len({row["market"] for row in own}) for _, own in blocks) == [1, 2]
    for block, own in blocks:
        columns, roots = design(block, own), np.sqrt([weight(row) for row in own])
        scaled = columns * roots[:, None]
        hat = scaled @ np.linalg.pinv(scaled)
        for name in ("UCTR", "QCTR", "ERR", "null SS"):
            values = np.array([row[name] for row in own]) * roots
            expected = (values - hat @ values) / roots
            assert [row["left"][name] for row in own] == pytest.approx(expected, abs=1e-9)
        assert [row["h"] for row in own] == pytest.approx(np.diag(hat), abs=1e-9)
        assert block.rank == np.linalg.matrix_rank(scaled) - len(grouped(own))


def test_what_is_added_to_a_period_or_to_a_fold_of_users_changes_nothing(world):
    _, rows = world
    moved = []
    for row in rows:
        by_day = sum(n * (day.day % 5) for day, n in row["by day"].items())
        period, fold = (
            sum(n * part_of[one] ** 2 for one, n in row[name].items())
            for name, part_of in (("by day", row["block"].periods), ("by fold", row["block"].folds))
        )
        moved.append(row | {"UCTR": row["UCTR"] + (period + 7 * fold) / row["n_sessions"], "PLC": by_day})
    again = lists_of_groups(moved, CLICK_METRICS, ["ERR"])
    left = [[row["left"][name] for row in some] for some in (rows, again) for name in ("UCTR", "PLC")]
    assert left[0] == pytest.approx(left[2], abs=1e-9)
    assert left[1] != pytest.approx(left[3], abs=1e-3)  # of single days not all is taken out


def plain(query, days, folds=(0, 1), **metrics):
    """Return a list that was shown so often on each day, and to each fold of users alike."""
    n = sum(days.values())
    by_fold = {fold: n // len(folds) for fold in folds}
    return {"market": "m", "query": query, "n_sessions": n, "by day": days, "by fold": by_fold, **metrics}


def test_periods_end_with_days_and_have_about_equal_sessions():
    days = dict(zip(map(date.fromordinal, range(700_000, 700_006)), (30, 1, 1, 4, 2, 2), strict=True))
    rows = [plain("q", Counter(days)), plain("q", Counter({None: 4}))]
    # of 40 sessions 0, 30, 31, 32, 36, 38 come before: 4 periods begin at 0, 10, 20, 30
    first = date.fromordinal(700_000)
    expected = {day: 0 if day == first else 3 for day in days}
    assert periods_of(rows) == expected | {None: 4}
    two = [plain("q", Counter({date(2024, 1, 1): 4, date(2024, 1, 2): 4}))] * 2
    assert periods_of(two) == {date(2024, 1, 1): 0, date(2024, 1, 2): 1}
    many = [plain(f"q{n % 100}", Counter(days)) for n in range(500)]
    assert [*periods_of(many).values()] == [0, 4, 4, 4, 5, 5]  # of twelve six, as many as there are days


def test_moments_and_what_is_side_by_side_are_as_worked_by_hand():
    before, after = date(2024, 1, 1), date(2024, 1, 2)
    released = [
        plain("q", Counter({before: 6}), E=1.0), plain("q", Counter({after: 6}), E=3.0),
        plain("r", Counter({before: 6}), E=1.0), plain("r", Counter({after: 6}), E=0.0),
    ]  # fmt: skip
    assert moments(released) == pytest.approx(1)
    assert side_by_side(released, "E") == 0
    beside = [plain("q", Counter({before: 3, after: 3}), E=value) for value in (1.0, 4.0)]
    assert moments(beside) is None  # all lists have the same shares, less than chance gives
    assert side_by_side(beside, "E") == pytest.approx(1)
    assert side_by_side([row | {"E": 1.0} for row in beside], "E") is None
    unknown = [row | {"by day": Counter({None: 6})} for row in released]
    assert moments(unknown) is side_by_side(unknown, "E") is None
    # half of the second list beside the first: in period one weights 0.6 and 0.3, squares 4 0.6 0.3 / 0.9
    half = [released[0], plain("q", Counter({before: 3, after: 3}), E=3.0)]
    assert side_by_side(half, "E") == pytest.approx(4 * 0.2 / (4 * 0.3))


def test_three_releases_of_different_lists_are_more_moments():
    days = [date(2024, 1, day) for day in (1, 2, 3, 4)]
    rows = [plain(f"q{at}", Counter({days[(at + later) % 4]: 6})) for at in range(4) for later in (0, 1)]
    # each query adds v v', v = (1, -1) at its days: 2 in the diagonal, -1 beside it, also in the corners;
    # a list that is shown on one day has the same shares however it is drawn
    assert moments(rows) == pytest.approx(8**2 / (4 * 2**2 + 8))
    assert moments([*rows, plain("q0", Counter({days[0]: 1}))]) == pytest.approx(64 / 24)


def test_drawing_sessions_of_lists_side_by_side_is_no_change():
    rng, kept = np.random.default_rng(1), []
    for query in range(300):
        for _ in range(2):
            drawn = rng.choice([1, 2, 3, 4, 5], size=6)
            kept.append(plain(f"q{query}", Counter(date(2024, 1, day) for day in drawn)))
    released = [
        row | {"by day": Counter({date(2024, 1, 1 + 4 * (at % 2)): 6})} for at, row in enumerate(kept[:60])
    ]
    others = [row | {"query": f"other {row['query']}"} for row in kept]
    # one change of few lists shows among many that only seem to differ
    assert moments([*released, *others]) < 1.2


@pytest.fixture(scope="module")
def busy():
    return lists_of(SharedWorld({"a": 60, "b": 60}, sessions=4, heavy=0.5, seed=2))


def number(sums, pairs, signs, *, fisher):
    """Return artanh of a correlation, or the difference of two, of sums by name."""
    values = [p / np.sqrt(y * x) for y, x, p in ([sums[what] for what in (*pair, pair)] for pair in pairs)]
    return sum(sign * (np.arctanh(r) if fisher else r) for r, sign in zip(values, signs, strict=True))


@pytest.mark.parametrize(
    ("metrics", "signs", "fisher"), [(["ERR"], [1.0], True), (["ERR", "NDCG"], [1.0, -1.0], False)]
)
def test_what_users_add_is_what_folds_move_the_number_by_beyond_chance(busy, metrics, signs, fisher):
    lists, rows = busy
    pairs, step = [("UCTR", name) for name in metrics], 1e-5
    names = {"UCTR", *metrics, *pairs}
    now = {name: lists.sums_over(rows)[name] for name in names}
    moved = np.zeros((len(units_of(rows)), 16))
    for unit, own in enumerate(units_of(rows).values()):
        for fold in range(16):
            without = now.copy()
            for group in grouped(own).values():
                kept, weights, left = left_without_fold(group, fold, lists.clicks, lists.names)
                assert len(kept) == len(weights) <= len(group)
                for name in names:
                    a, b = (name, name) if isinstance(name, str) else name
                    change = (weights * left[a] * left[b]).sum()
                    change -= lists.sums[group[0]["market"], group[0]["query"]][name]
                    without[name] += step * change
            moved[unit, fold] = number(without, pairs, signs, fisher=fisher)
    moved = (moved - number(now, pairs, signs, fisher=fisher)) / step
    between = 15 / 16 * ((moved.sum(axis=0) - moved.sum(axis=0).mean()) ** 2).sum()
    chance = 16 / 15 * ((moved - moved.mean(axis=1, keepdims=True)) ** 2).sum()
    added = Errors(lists, rows, rows).users(pairs, signs, fisher=fisher)
    if between <= chance:
        assert added is None
    else:
        assert added == pytest.approx((between - chance, degrees_of_freedom(moved.sum(axis=0))), rel=1e-3)


def test_without_a_fold_its_sessions_are_gone_and_the_days_stay(busy):
    """Against least squares' effects and the rows of a log in which nobody of the fold was there."""
    lists, rows = busy
    for group in list(grouped(rows).values())[:20]:
        kept, weights, left = left_without_fold(group, 3, lists.clicks, lists.names)
        there = [row for row in group if row["n_sessions"] > row["by fold"][3]]
        n = np.array([row["n_sessions"] - row["by fold"][3] for row in there])
        assert [row["n_sessions"] for row in kept] == n.tolist()
        assert weights == pytest.approx(n / (n + 4))
        clicked = np.array(
            [sum(sums for fold, sums in row["by fold QCTR"].items() if fold != 3) for row in there]
        )
        block = group[0]["block"]
        others = [fold for fold in sorted(set(block.folds.values())) if fold][:]
        shares = np.array(
            [
                [
                    *block.given(row)[: len(set(block.periods.values())) - 1],
                    *(
                        sum(k for fold, k in row["by fold"].items() if fold != 3 and block.folds[fold] == one)
                        for one in others
                    ),
                ]
                for row in there
            ]
        )
        first = shares.shape[1] - len(others)
        shares[:, first:] /= n[:, None]
        whole = clicked / n - shares @ block.effects["QCTR"]
        assert left["QCTR"] == pytest.approx(whole - np.average(whole, weights=weights), abs=1e-9)


def test_a_busy_user_counts_and_even_users_do_not(busy):
    counted = []
    for lists, rows in (busy, lists_of(SharedWorld({"m": 120}, sessions=4, seed=2))):
        errors = Errors(lists, rows, rows)
        counted.append(sum(errors.users([pair], [1.0], fisher=True) is not None for pair in lists.pairs))
    assert counted[0] >= 8
    assert counted[1] <= 4


def test_errors_add_up_with_their_degrees_of_freedom():
    assert widened((2.0, 9.0), 1.5) == pytest.approx((6**0.5, 9.0))
    assert widened((2.0, 9.0), 1.0, (4.0, 9.0)) == pytest.approx((8**0.5, 18.0))
    assert widened(None, 2.0) is None
    assert widened((0.0, None), 2.0, (1.0, 3.0)) == (0.0, None)


def test_few_lists_and_one_fold_and_no_times_leave_deviations():
    few, _ = lists_of(SharedWorld({"m": 20}, seed=4))
    assert few.sums
    for world in (SharedWorld({"m": 20}, seed=4), SharedWorld(settings={"folds": 1, "periods": "none"})):
        _, rows = lists_of(world)
        assert {row["block"] for row in rows} == {None} or rows[0]["block"].rank == 0
        for own in grouped(rows).values():
            assert sum(weight(row) * row["left"]["UCTR"] for row in own) == pytest.approx(0, abs=1e-12)
            mean = sum(weight(row) * row["UCTR"] for row in own) / sum(map(weight, own))
            assert [row["left"]["UCTR"] for row in own] == pytest.approx(
                [row["UCTR"] - mean for row in own], abs=1e-12
            )


def test_a_block_has_16_folds_from_80_lists_on():
    wide = [plain(f"q{n % 100}", Counter({date(2024, 1, 1 + n % 9): 20}), range(20)) for n in range(180)]
    for rows, folds in ((wide, 16), (wide[:179], 8), (wide[:150], 8)):
        assert len(set(Block(rows, []).folds.values())) == folds
