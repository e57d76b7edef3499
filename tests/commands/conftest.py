"""Runs of the sample log, made once for all commands that take one."""

import polars as pl
import pytest

from support.runs.given_runs import judgments, made


@pytest.fixture(scope="session")
def whole(tmp_path_factory):
    return made(tmp_path_factory.mktemp("whole") / "run")


@pytest.fixture(scope="session")
def turned(tmp_path_factory):
    """The run with grades that are upside down: every correlation of a metric falls."""
    rows = judgments().with_columns(grade=4 - pl.col("grade"))
    return made(tmp_path_factory.mktemp("turned") / "run", rows)
