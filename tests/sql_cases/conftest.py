"""Spark takes seconds for each log: cases that lie in no pack are run on it by make test-thorough."""

import pytest

from support.spark.packed_cases import target_of


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    for item in items:
        given = item.callspec.params if hasattr(item, "callspec") else {}
        if given.get("made") == "spark" and "case" in given and not target_of(given["case"]):
            item.add_marker(pytest.mark.thorough)
