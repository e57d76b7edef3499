"""Whether what is said of the tests of a simulated log keeps its promise, from its files to its report.

    python -m benchmarks.promises.simulated_tests [--worlds N] [--seed N] [--processes N] [--out FILE]

One row per relation of users' liking to the grades, and kind of test: in which share of the sound tests it
happens; `tests` is their number, those of a log being 100 of either kind, and `--worlds` that of all logs.
`cover`: the 95% CI of ERR holds its true difference; `cover_users`: that of MeanRR does, which the world
`cascade` knows; `contradict`: the verdict; `check`: a check of the data speaks; `sign`: of a difference of
users that is significant over all tests, that it is the true one; `in_order`: of pairs of tests, by ERR; and
by name the tests that are not sound: whether each is found.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl

import clickassay as ca
from benchmarks.lib.measuring import ROOT
from benchmarks.lib.processes import in_processes
from benchmarks.lib.tables import measure
from clickassay.core.settings.project import read_project
from clickassay.inputs.simulate.simulation import simulate
from clickassay.inputs.simulate.tests import RELATIONS, TRAPS, TRAPS_OF_DRAFTS, PlanOfTests

REPORT = ROOT / "reports" / "calibration" / "simulated_tests.csv"
TESTS, SEARCHES, QUERIES, DEPTH = 100, 600_000, 300, 5
PLAN = (TESTS + len(TRAPS), TESTS + len(TRAPS_OF_DRAFTS))


def run_of(relation: str, seed: int, folder: Path) -> tuple[ca.RunResult, pl.DataFrame]:
    """Return the run of a log, and the truth of its tests."""
    plan = PlanOfTests(*PLAN, relation)
    log = simulate(
        "cascade", n_searches=SEARCHES, n_queries=QUERIES, seed=seed, tests=plan, out=folder / "log"
    )
    declared = read_project(log / "clickassay.toml").settings["test"]
    found = ca.run(
        log / "searches.parquet", log / "clicks.parquet", log / "judgments.parquet",
        assignments=log / "assignments.parquet", test=declared, current="ERR", depth=DEPTH,
        click_models="none", iterations=10, threads=1, progress=False,
    )  # fmt: skip
    return found, pl.read_csv(log / "truth_tests.csv").filter(depth=DEPTH)


def said_of(run: ca.RunResult, truth: pl.DataFrame) -> pl.DataFrame:
    """Return kind_of_test, what and happens: a row for each test and promise."""
    spoke = run.experiment_checks.filter(pl.col("status").is_in(["caution", "finding"]))
    users = pl.when(kind_of_test="ab").then(pl.lit("MeanRR")).otherwise(pl.lit("preference"))
    rows = run.experiments.with_columns(users=users)
    of_users = rows.filter(metric=pl.col("users")).select(
        "experiment", "moved", low="ci_low", high="ci_high", change=pl.col("difference").sign()
    )
    kept = ("experiment", "ci_low", "ci_high", "verdict", "difference")
    own = truth.join(rows.filter(metric="ERR").select(kept), on="experiment").join(of_users, on="experiment")
    own = own.with_columns(check=pl.col("experiment").is_in(spoke["experiment"].implode()))
    sound = pl.col("trap").fill_null("") == ""
    is_ab = pl.col("kind_of_test") == "ab"
    wrong = own.filter(~sound, pl.col("trap").is_in(["a_a", "same_rankers"]).not_())
    parts = {
        "cover": own.filter(sound, is_ab).select(
            "kind_of_test", happens=pl.col("offline").is_between("ci_low", "ci_high")
        ),
        "cover_users": own.filter(sound, is_ab).select(
            "kind_of_test", happens=pl.col("users").is_between("low", "high")
        ),
        "contradict": own.filter(sound).select("kind_of_test", happens=pl.col("verdict") == "contradict"),
        "check": own.filter(sound).select("kind_of_test", happens="check"),
        "sign": own.filter(sound, pl.col("moved").fill_null(value=False)).select(
            "kind_of_test", happens=pl.col("change") == pl.col("users").sign()
        ),
    }
    traps = wrong.select(
        "kind_of_test", what="trap", happens=pl.col("check") | (pl.col("verdict") == "unequally_judged")
    )
    told = [rows.with_columns(what=pl.lit(what)) for what, rows in parts.items()]
    return pl.concat([*told, traps], how="diagonal")


def of_log(cell: tuple[str, int]) -> pl.DataFrame:
    """Return what is said of the tests of one log: a row for each test and promise."""
    relation, seed = cell
    with TemporaryDirectory() as folder:
        run, truth = run_of(relation, seed, Path(folder))
        found = said_of(run, truth).with_columns(pl.col("happens").fill_null(value=False).cast(pl.Float64))
        order = ca.experiments(run, metric="ERR").order.filter(editorial_metric="ERR")["in_order"]
    row = pl.DataFrame({"kind_of_test": ["ab"], "happens": order, "what": ["in_order"]})
    return pl.concat([found, row]).with_columns(relation=pl.lit(relation))


def measured(worlds: int, seed: int, processes: int) -> pl.DataFrame:
    """Return the table."""
    logs = max(1, worlds // TESTS)
    cells = [(relation, seed + number) for relation in RELATIONS for number in range(logs)]
    found = in_processes(of_log, cells, processes)
    keys = ["relation", "kind_of_test", "what"]
    return found.group_by(keys, maintain_order=True).agg(tests=pl.len(), share=pl.col("happens").mean())


if __name__ == "__main__":
    measure(measured, __doc__, REPORT, 1_000)
