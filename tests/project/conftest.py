"""Benchmarks to import: they are no part of the package."""

import shutil
from importlib import import_module
from pathlib import Path

import pytest

from support.places import ROOT


@pytest.fixture
def benchmark_module(request, monkeypatch):
    """Return a function that imports a module of the benchmarks that the test module names."""
    monkeypatch.syspath_prepend(str(ROOT))
    return lambda name: import_module(f"{request.module.BENCHMARKS}.{name}")


@pytest.fixture(scope="module")
def scripts(tmp_path_factory):
    """Return a folder with a copy of the scripts, so that what they make lies there."""
    folder = tmp_path_factory.mktemp("benchmarks")
    left = shutil.ignore_patterns("work", "__pycache__")
    return Path(shutil.copytree(ROOT / "benchmarks", folder / "benchmarks", ignore=left)).parent
