"""The benchmark of active plans at a small size: it draws as the package does, and saves as by hand."""

import numpy as np
import polars as pl
import pytest
from statsmodels.miscmodels.ordinal_model import OrderedModel

from clickassay.studies.labelling.draws import draw
from clickassay.studies.labelling.estimate import estimate

BENCHMARKS = "benchmarks.promises.labelling"
POINT = [
    *("budget", "folds", "repetitions", "truth"),
    *("error", "selection_error", "error_se", "selection_error_se"),
]


@pytest.mark.parametrize("seed", range(5))
def test_repeated_plans_estimate_what_one_plan_after_the_other_does(benchmark_module, seed):
    rng = np.random.default_rng(seed)
    values, costs, q = rng.normal(size=30), rng.uniform(0.2, 2, 30), rng.dirichlet(np.ones(30))
    budgets = np.array([3.0, 8.0, 1000.0])
    found = benchmark_module("repeated_plans").repeated_estimates(
        values, costs, q, budgets, np.random.default_rng(seed), repetitions=1
    )
    for budget, value in zip(budgets, found[0], strict=True):
        drawn = draw(costs, q, budget, np.random.default_rng(seed)).queries
        assert value == pytest.approx(estimate(values[drawn], 1 / (30 * q[drawn])).value, rel=1e-12)


def test_a_budget_that_may_buy_nothing_is_refused(benchmark_module):
    with pytest.raises(ValueError, match="a budget of 3 is below the largest cost 5"):
        benchmark_module("repeated_plans").repeated_estimates(
            np.arange(2.0), np.array([1.0, 5.0]), np.array([0.5, 0.5]), np.array([3.0]), None, repetitions=1
        )


def curves(active, passive):
    """Return errors of two plans, the second with one budget more."""
    rows = [("active", budget, error) for budget, error in zip((50, 100, 200), active, strict=True)]
    rows += [("passive", budget, error) for budget, error in zip((50, 100, 200, 400), passive, strict=True)]
    return pl.DataFrame(
        [
            {"data": "simulated", "comparison": "forest", "measure": "ERR", "variant": variant}
            | {"defensive_share": 0.0, "budget": float(budget), "error": error, "selection_error": 0.0}
            for variant, budget, error in rows
        ]
    )


@pytest.mark.parametrize(
    ("active", "passive", "saved"),
    [
        ((6, 4, 2), (8, 5, 3, 2), 0.25),  # 3 is met at 150 of 200
        ((8, 6, 4), (8, 5, 3, 2), -1 / 3),  # passive comes to 4 at 150: 1 - 200 / 150
        ((2, 1.5, 1), (8, 5, 3, 2), None),  # better with the least budget already
        ((8, 5, 3), (8, 5, 3, 2), 0.0),
        ((3, 3, 2), (8, 5, 3, 2), 0.75),  # 3 is what the least budget has, and the next one too
    ],
)
def test_savings_are_as_worked_by_hand(benchmark_module, active, passive, saved):
    found = benchmark_module("savings").saved(curves(active, passive))
    assert found.height == 1
    assert found["saved"].item() == (None if saved is None else pytest.approx(saved))


def test_weights_of_ordered_logit_are_those_of_statsmodels(benchmark_module):
    collection = benchmark_module("collections_of_documents").simulated(20, np.random.default_rng(2))
    collection.features[:, 3:] = 0
    model = benchmark_module("relevance_models").ordered_logit(collection, 0)
    fitted = OrderedModel(collection.grades, collection.features[:, :3].astype(float), distr="logit").fit(
        method="bfgs", disp=False
    )
    assert model(collection.features).probabilities == pytest.approx(fitted.predict(), abs=0.01)


def test_queries_have_the_stated_documents_grades_and_costs(benchmark_module):
    module = benchmark_module("collections_of_documents")
    collection = module.simulated(2000, np.random.default_rng(1))
    assert np.diff(collection.offsets).mean() == pytest.approx(119, rel=0.05)
    shares = np.bincount(collection.grades) / len(collection.grades)
    assert shares == pytest.approx(np.array(module.SHARES), abs=1e-4)
    assert collection.costs.mean() == pytest.approx(1)


def test_a_small_pool_is_measured_and_written_down(benchmark_module, tmp_path):
    worth = benchmark_module("worth")
    errors = benchmark_module("savings").averaged(worth.of_pool(worth.Task("simulated", 0, 100, 3, seed=4)))
    worth.write(errors, pl.DataFrame({"from": [0.5, 0.6], "queries": [60, 40]}), tmp_path)
    written = {path.name for path in tmp_path.iterdir()}
    assert written == {
        "README.md", "errors.csv", "saved.csv", "costs.csv", "estimation.svg", "selection.svg", "updates.svg",
    }  # fmt: skip
    table = pl.read_csv(tmp_path / "errors.csv")
    assert table.columns == ["data", "comparison", "measure", "variant", "defensive_share", *POINT]
    assert table.height == 7 * 2 * 6  # comparisons, measures, and plans at 25 queries, passive at 37.5 too
    assert set(table["repetitions"]) == {3}
    savings = pl.read_csv(tmp_path / "saved.csv")
    assert savings.height == 7 * 2 * 4
    assert {"plan_needs", "passive_needs", "saved", "paper"} <= set(savings.columns)
    assert (tmp_path / "README.md").read_text().count("| simulated | index update |") == 3
