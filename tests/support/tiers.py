"""Which cases of a test run at each push, and which only where there is time: `make test-thorough`."""

import pytest

THOROUGH = pytest.mark.thorough


def first(number, values):
    """Return values for parametrize, all but the first `number` marked; a tuple is several values."""
    values = list(values)
    return [*values[:number], *map(_marked, values[number:])]


def _marked(value):
    if hasattr(value, "marks"):  # what pytest.param has made
        return pytest.param(*value.values, marks=(*value.marks, THOROUGH), id=value.id)
    return pytest.param(*(value if isinstance(value, tuple) else (value,)), marks=THOROUGH)
