"""The committed data sample is what the simulator writes, and its README tells the truth."""

import json

import polars as pl
import pytest

from clickassay.inputs.simulate.simulation import simulate
from support.places import SHOP

README = (SHOP / "README.md").read_text(encoding="utf-8")
TRUTH = json.loads((SHOP / "truth.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def fresh(tmp_path_factory):
    size = {"n_searches": TRUTH["searches"], "n_queries": TRUTH["queries"], "seed": TRUTH["seed"]}
    return simulate(TRUTH["world"], **size, actions=True, out=tmp_path_factory.mktemp("sample") / "fresh")


@pytest.mark.parametrize("table", ["searches", "clicks", "judgments", "queries", "outcomes"])
def test_the_sample_holds_the_rows_that_its_seed_gives(table, fresh):
    # Rows and not bytes: another version of a library may compress the same rows differently.
    name = f"{table}.parquet"
    assert pl.read_parquet(SHOP / name).equals(pl.read_parquet(fresh / name))


def test_the_sample_has_the_truth_that_its_seed_gives(fresh):
    assert json.loads((fresh / "truth.json").read_text(encoding="utf-8")) == TRUTH


def test_the_sample_is_small():
    assert sum(file.stat().st_size for file in SHOP.rglob("*")) < 4_000_000


def test_the_readme_gives_the_command_that_makes_the_sample():
    options = f"--n-searches {TRUTH['searches']} --n-queries {TRUTH['queries']} --seed {TRUTH['seed']}"
    assert f"clickassay simulate --world {TRUTH['world']} --actions {options}" in README


@pytest.mark.parametrize("count", ["search rows", "search rows delivered again", "sessions", "click rows"])
def test_the_readme_states_the_planted_counts(count):
    assert f"| {TRUTH['planted'][count]:,} |" in README


def test_the_readme_describes_every_column():
    for table in ("searches", "clicks", "judgments", "queries", "outcomes"):
        line = next(line for line in README.splitlines() if line.startswith(f"| `{table}.parquet`"))
        for column in pl.read_parquet_schema(SHOP / f"{table}.parquet"):
            assert f"`{column}`" in line
