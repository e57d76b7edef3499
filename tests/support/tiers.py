"""Which cases of a test run at each push, and which only where there is time: `make test-all`."""

import pytest


def first(number, values):
    """Return values for parametrize: all but the first `number` are marked thorough."""
    return [
        value if place < number else pytest.param(value, marks=pytest.mark.thorough)
        for place, value in enumerate(values)
    ]
