"""Runs that are compared: one of the whole sample log, and one of the judgments of every other query."""

import pytest

from support.runs.given_runs import judgments, made, of_half


@pytest.fixture(scope="session")
def whole(tmp_path_factory):
    return made(tmp_path_factory.mktemp("whole") / "run")


@pytest.fixture(scope="session")
def halves(tmp_path_factory):
    folder = tmp_path_factory.mktemp("halves")
    return tuple(made(folder / str(half), of_half(judgments(), half)) for half in (0, 1))
