"""Spark takes seconds for each case: a tenth of them is run each time, all of them by make test-all."""

import pytest

EVERY = 10


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    on_spark = [item for item in items if getattr(item, "callspec", None) and is_case_on_spark(item)]
    cases = sorted({item.callspec.params["case"] for item in on_spark})
    for item in on_spark:
        if cases.index(item.callspec.params["case"]) % EVERY:
            item.add_marker(pytest.mark.thorough)


def is_case_on_spark(item):
    return "case" in item.callspec.params and item.callspec.params.get("made") == "spark"
