"""How many labels do active plans save? After section 5 of Sawade et al. 2012; results in reports/active.

    python -m benchmarks.promises.labelling.worth [--only DATA] [--queries N] [--repetitions N] [--seed N] …

`simulated`: queries with the statistics of MSLR-WEB30k, in five folds: models are trained on one, the others
are the pool. `real`: judged queries in ../shared/data/ltr_lightgbm_rank, left out where they are not there;
every query is scored by models that were trained on others, in five ways to cut the training data. Writes
tables, pictures and a README.md.
"""

import argparse
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks.lib.measuring import ROOT
from benchmarks.lib.processes import in_processes
from benchmarks.promises.labelling.collections_of_documents import Collection, joined, letor, simulated
from benchmarks.promises.labelling.comparisons import measured
from benchmarks.promises.labelling.relevance_models import MODELS, Scored
from benchmarks.promises.labelling.savings import averaged, saved
from benchmarks.promises.labelling.worth_page import draw_pictures, write_page
from clickassay.core.seeds import child

REPORT = ROOT / "reports" / "active"
REAL = ROOT / "../shared/data/ltr_lightgbm_rank"
FOLDS = 5
BUDGETS = {"simulated": (25, 50, 100, 150, 200, 300), "real": (5, 10, 20, 40, 80)}
"""In queries of average cost; those above half the pool are left out."""


@dataclass(frozen=True)
class Task:
    """One pool of a kind of data."""

    data: str
    fold: int
    queries: int
    repetitions: int
    seed: int


def main() -> None:
    """Measure, and write what was found."""
    options = _options()
    options.out.mkdir(parents=True, exist_ok=True)
    start = time.monotonic()
    tasks = [
        Task(data, fold, options.queries, options.repetitions, options.seed)
        for data in _asked(options)
        for fold in range(FOLDS)
    ]
    errors = averaged(in_processes(of_pool, tasks, options.processes))
    write(errors, _costs(options), options.out)
    print(f"{len(tasks)} pools, {errors.height} rows {time.monotonic() - start:8.1f} s")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", choices=tuple(BUDGETS))
    parser.add_argument("--queries", type=int, default=3000, help="simulated, in all five folds")
    parser.add_argument("--repetitions", type=int, default=1000, help="of each plan on each pool")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--out", type=Path, default=REPORT)
    return parser.parse_args()


def _asked(options: argparse.Namespace) -> list[str]:
    data = [options.only] if options.only else list(BUDGETS)
    if "real" in data and not REAL.is_dir():
        print("real: left out, as there is no ../shared/data/ltr_lightgbm_rank to read")
        data.remove("real")
    return data


def _costs(options: argparse.Namespace) -> pl.DataFrame:
    """Return how many simulated queries cost how much, in tenths of the average."""
    costs = simulated(options.queries, _source(options.seed)).costs
    numbers, counts = np.unique(np.floor(10 * costs), return_counts=True)
    return pl.DataFrame({"from": numbers / 10, "queries": counts})


def write(errors: pl.DataFrame, costs: pl.DataFrame, out: Path) -> None:
    """Write tables, pictures and the page."""
    for name, table in (("errors", errors), ("saved", saved(errors)), ("costs", costs)):
        table.write_csv(out / f"{name}.csv", float_precision=8)
    draw_pictures(out)
    write_page(out)


def of_pool(task: Task) -> pl.DataFrame:
    """Return the rows of one pool."""
    make = _simulated_pool if task.data == "simulated" else _real_pool
    collection, scored = make(task)
    rng = child(np.random.default_rng(task.seed), task.data, str(task.fold))
    budgets = np.array(BUDGETS[task.data], dtype=np.float64)
    budgets = budgets[budgets <= len(collection.costs) / 2]
    rows = measured(collection, scored, budgets, task.repetitions, rng)
    return rows.select(pl.lit(task.data).alias("data"), pl.lit(task.fold).alias("fold"), pl.all())


def _simulated_pool(task: Task) -> tuple[Collection, dict[str, Scored]]:
    """Return the queries of four folds, scored by models that were trained on the fifth."""
    every = simulated(task.queries, _source(task.seed))
    trained_on = np.arange(task.queries) % FOLDS == task.fold
    train, pool = every.only(trained_on), every.only(~trained_on)
    return pool, {name: fit(train, task.seed)(pool.features) for name, fit in MODELS.items()}


def _real_pool(task: Task) -> tuple[Collection, dict[str, Scored]]:
    """Return all queries, each scored by models that were trained on other ones, of rank.train only.

    Queries of rank.train are scored fold by fold, those of rank.test by a model of all of rank.train.
    """
    train, test = letor(REAL, "rank.train"), letor(REAL, "rank.test")
    rng = child(np.random.default_rng(task.seed), "real folds", str(task.fold))
    fold_of = rng.permutation(np.arange(len(train.costs)) % FOLDS)
    return joined(train, test), {
        name: _cross_fitted(name, train, test, fold_of, task.seed + task.fold) for name in MODELS
    }


def _cross_fitted(name: str, train: Collection, test: Collection, fold_of: np.ndarray, seed: int) -> Scored:
    parts = [
        MODELS[name](train.only(fold_of != fold), seed)(train.only(fold_of == fold).features)
        for fold in range(FOLDS)
    ]
    parts.append(MODELS[name](train, seed)(test.features))
    folds_of_documents = np.append(fold_of[train.of_query], np.full(len(test.grades), FOLDS))
    order = np.argsort(np.argsort(folds_of_documents, kind="stable"))
    scores, probabilities = np.concatenate([part.scores for part in parts])[order], None
    if parts[0].probabilities is not None:
        probabilities = np.vstack([part.probabilities for part in parts])[order]
    return Scored(scores, probabilities)


def _source(seed: int) -> np.random.Generator:
    return child(np.random.default_rng(seed), "collection")


if __name__ == "__main__":
    main()
