"""Runs that are compared, made once: of the whole sample log, of every other query, of grades upside down."""

import polars as pl
import pytest

from support.runs.given_runs import between, judgments, made, of_half


@pytest.fixture(scope="session")
def whole(tmp_path_factory):
    return made(tmp_path_factory.mktemp("whole") / "run")


@pytest.fixture(scope="session")
def halves(tmp_path_factory):
    folder = tmp_path_factory.mktemp("halves")
    return tuple(made(folder / str(half), of_half(judgments(), half)) for half in (0, 1))


@pytest.fixture(scope="session")
def turned(tmp_path_factory):
    rows = judgments().with_columns(grade=4 - pl.col("grade"))
    return made(tmp_path_factory.mktemp("turned") / "run", rows)


@pytest.fixture(scope="session")
def apart(halves):
    return between(*halves)
