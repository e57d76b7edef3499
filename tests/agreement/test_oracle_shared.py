"""What the oracle takes out of correlations within queries, against least squares and worked by hand."""

from collections import Counter
from datetime import date

import numpy as np
import pytest

from support.oracle.oracle_intervals import degrees_of_freedom, widened
from support.oracle.oracle_metrics import CLICK_METRICS
from support.oracle.oracle_run import judged_places
from support.oracle.oracle_shared import Block, grouped, moments, periods_of, side_by_side, weight
from support.oracle.oracle_within import Errors, WithinLists, lists_of_groups
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
    assert moments(beside) is None  # all lists have the same shares
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
    # each query adds v v', v = (1, -1) at its days: 2 in the diagonal, -1 beside it, also in the corners
    assert moments(rows) == pytest.approx(8**2 / (4 * 2**2 + 8))


def test_what_users_add_is_the_derivative_of_the_number(world):
    lists, rows = world
    pair = ("UCTR", "ERR")
    folds = sorted({fold % 16 for row in rows for fold in row["by fold"]})
    step = 1e-6
    errors = Errors(lists, rows, rows)
    for names, signs, fisher in (([pair], [1.0], True), ([pair, ("UCTR", "DCG")], [1.0, -1.0], False)):
        values = []
        for fold in folds:
            changes = [lists.change(own, fold) for own in grouped(rows).values()]
            total = 0.0
            for (click, editorial), sign in zip(names, signs, strict=True):
                at, of = lists.clicks.index(click), lists.names.index(editorial)
                dy, dx = (sum(change[part][at_] for change in changes) for part, at_ in ((0, at), (1, of)))
                dp = sum(change[2][at, of] for change in changes)
                now = [lists.sums_over(rows)[what] for what in (click, editorial, (click, editorial))]
                y, x, p = (a + step * b for a, b in zip(now, (dy, dx, dp), strict=True))
                r, was = p / np.sqrt(x * y), now[2] / np.sqrt(now[0] * now[1])
                total += sign * ((np.arctanh(r) - np.arctanh(was)) if fisher else (r - was)) / step
            values.append(total)
        v = np.array(values)
        added = errors.users(names, signs, fisher=fisher)
        between = (len(folds) - 1) / len(folds) * ((v - v.mean()) ** 2).sum()
        if added is not None:
            assert 0 < added[0] < between
            assert added[1] == pytest.approx(degrees_of_freedom(values), rel=1e-4)


def test_a_busy_user_counts_and_even_users_do_not():
    counted = {}
    for heavy in (0.0, 0.5):
        lists, rows = lists_of(SharedWorld({"m": 120}, sessions=5, heavy=heavy, seed=2))
        errors = Errors(lists, rows, rows)
        counted[heavy] = sum(errors.users([pair], [1.0], fisher=True) is not None for pair in lists.pairs)
    assert counted[0.0] <= 4
    assert counted[0.5] >= 8


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


def test_a_block_has_16_folds_from_160_lists_on():
    wide = [plain(f"q{n % 100}", Counter({date(2024, 1, 1 + n % 9): 20}), range(20)) for n in range(260)]
    for rows, folds in ((wide, 16), (wide[:259], 8), (wide[:150], 8)):
        assert len(set(Block(rows, []).folds.values())) == folds
