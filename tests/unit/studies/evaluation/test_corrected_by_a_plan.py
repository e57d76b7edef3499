"""Means corrected by people whose queries a plan drew: against weighted lines from scratch, and coverage."""

import numpy as np
import pytest
import statsmodels.api as sm

from clickassay.core.errors import NothingInCommonError, SettingsError
from clickassay.studies.evaluation.corrected import FEW_DRAWS, MIN_BOTH, Design, corrected_means, drawn_by
from clickassay.studies.evaluation.evaluate import evaluate
from support.one_correlation import jackknife

REACH = np.ones(1)


def world(rng, queries=400):
    """Return p, q, values by people and by a judge who errs more on queries with few sessions."""
    weights = rng.pareto(2, queries) + 0.2
    people = rng.beta(0.8, 0.9, queries)
    rare = weights < np.median(weights)
    judge = np.clip(people + np.where(rare, 0.3, 0.05) + 0.15 * rng.standard_normal(queries), 0, 1)
    chance = 0.9 * rng.permuted(np.sqrt(weights)) + 0.1 * weights
    return weights / weights.sum(), chance / chance.sum(), people, judge


def drawn(rng, p, q, draws):
    taken = rng.choice(len(p), draws, p=q)
    ratios = p[taken] / q[taken]
    return taken, ratios / ratios.sum()


def estimated(p, judge, h, taken, shares, of_an_end):
    """The weighted line of people's values by the judge's and two at the ends, at the judge's mean."""
    f = judge[taken]
    middle, level = (shares @ values / shares.sum() for values in (f, h))
    ends = np.array([-1, 1]) + middle, [level, level], [of_an_end] * 2
    f, h, shares = (np.append(part, end) for part, end in zip((f, h, shares), ends, strict=True))
    line = sm.WLS(h, sm.add_constant(f), weights=shares).fit()
    return float(level + line.params[1] * (p @ judge - middle)), line.params[1]


@pytest.mark.parametrize("seed", range(4))
def test_the_value_and_its_error_are_those_of_a_weighted_line_from_scratch(seed):
    rng = np.random.default_rng(seed)
    p, q, people, judge = world(rng)
    taken, shares = drawn(rng, p, q, 80)
    found = corrected_means(judge[:, None], people[taken, None], taken, REACH, shares=shares, weights=p)
    of_an_end = shares @ shares
    value, slope = estimated(p, judge, people[taken], taken, shares, of_an_end)
    assert found.value[0] == pytest.approx(value)
    assert found.weight[0] == pytest.approx(slope)
    left = []
    for at in range(80):
        rest = np.delete(np.arange(80), at)
        left.append(estimated(p, judge, people[taken[rest]], taken[rest], shares[rest], of_an_end)[0])
    of_line = jackknife(left)[0] ** 2
    variance = p @ (judge - p @ judge) ** 2 / (1 - p @ p)
    error = np.sqrt(of_line + slope**2 * (variance * (p @ p) + 2 * of_an_end**2))
    assert 1.96 * error <= (found.high[0] - found.low[0]) / 2 <= 2.3 * error
    assert found.judge[0, 0] == pytest.approx(p @ judge)
    assert found.people[0, 0] == pytest.approx(shares @ people[taken])
    assert np.isnan(found.selection).all()


def test_equal_shares_and_weights_are_a_random_sample():
    rng = np.random.default_rng(9)
    _, _, people, judge = world(rng)
    both = np.sort(rng.choice(400, 50, replace=False))
    plain = corrected_means(judge[:, None], people[both, None], both, REACH)
    same = corrected_means(
        judge[:, None],
        people[both, None],
        both,
        REACH,
        shares=np.full(50, 1 / 50),
        weights=np.full(400, 1 / 400),
    )
    for name in ("value", "low", "high", "weight", "judge", "people", "worth"):
        assert getattr(same, name) == pytest.approx(getattr(plain, name))


@pytest.mark.parametrize("number", [MIN_BOTH, 21, 27, 49])
def test_just_enough_queries_have_an_interval_and_one_less_has_none(number):
    rng = np.random.default_rng(number)
    _, _, people, judge = world(rng)
    for both, known in ((np.arange(number), True), (np.arange(MIN_BOTH - 1), False)):
        for shares in (None, np.full(len(both), 1 / len(both))):
            found = corrected_means(judge[:, None], people[both, None], both, REACH, shares=shares)
            assert np.isfinite(found.low[0]) == known


def design(draws, ratios=None, weights=None):
    names = tuple(dict.fromkeys(draws))
    weights = weights or dict.fromkeys(names, 1 / len(names))
    return Design(tuple(draws), np.array(ratios or [1.0] * len(draws)), weights)


def test_draws_count_up_to_the_first_without_a_judgment_and_again_when_drawn_again():
    plan = design(["a", "b", "a", "c", "b"], [1, 2, 1, 1, 2], {"a": 0.5, "b": 0.2, "c": 0.2, "d": 0.1})
    found = drawn_by(plan, ["A", "b", "c", "x"], ["a", "b", "x"])
    assert found.kept.tolist() == [0, 1, 2]
    assert found.both.tolist() == [0, 1, 0]
    assert found.rows.tolist() == [0, 1, 0]
    assert found.shares.tolist() == [0.25, 0.5, 0.25]
    assert found.weights == pytest.approx([0.5 / 0.9, 0.2 / 0.9, 0.2 / 0.9])
    assert found.cautions == (
        "Draw 4 of the plan (c) has no judgment: 3 draws before it count.",
        "1 query of the plan that the judge did not grade are excluded.",
        "1 query of the judge outside the plan are excluded.",
        "1 query judged by people, but not drawn by the plan, are ignored.",
    )


def test_a_plan_of_other_queries_is_refused():
    with pytest.raises(NothingInCommonError, match="have no query in common"):
        drawn_by(design(["a"]), ["x"], ["x"])


def graded(queries, seed):
    rng = np.random.default_rng(seed)
    return {f"q{n}": {f"d{at}": int(rng.integers(0, 5)) for at in range(6)} for n in range(queries)}


def test_a_plan_without_a_judge_is_refused_and_few_draws_have_no_interval():
    people, model = graded(40, 1), graded(100, 2)
    run = {query: [f"d{at}" for at in range(6)] for query in model}
    draws = [f"q{n}" for n in range(40)]
    plan = design(draws, weights={f"q{n}": 0.01 for n in range(100)})
    with pytest.raises(SettingsError, match="give --judge"):
        evaluate(people, run, "nDCG@5", design=plan)
    found = evaluate(people, run, "nDCG@5", judge=model, design=plan).corrected_means.row(0, named=True)
    plain = evaluate(people, run, "nDCG@5", judge=model).corrected_means.row(0, named=True)
    assert {name: value for name, value in found.items() if name != "reason"} == pytest.approx(
        {name: value for name, value in plain.items() if name != "reason"}
    )
    heavy = design(draws, [100.0] + [1.0] * 39, plan.weights)
    row = evaluate(people, run, "nDCG@5", judge=model, design=heavy).corrected_means.row(0, named=True)
    assert (row["ci_low"], row["reason"]) == (None, FEW_DRAWS)
