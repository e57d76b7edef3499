"""Benchmarks to import: they are no part of the package."""

from importlib import import_module

import pytest

from support.places import ROOT


@pytest.fixture
def benchmark_module(request, monkeypatch):
    """Return a function that imports a module of the benchmarks that the test module names."""
    monkeypatch.syspath_prepend(str(ROOT))
    return lambda name: import_module(f"{request.module.BENCHMARKS}.{name}")
