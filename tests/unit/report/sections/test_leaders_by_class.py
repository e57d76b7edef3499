"""A change of leader between classes is claimed only where intervals do not overlap."""

import pytest

from clickassay.findings.estimates import Estimate
from clickassay.report.sections.classes import _leader_changes


def line(err, dcg, reach):
    return {
        name: Estimate(value, value - reach, value + reach) for name, value in (("ERR", err), ("DCG", dcg))
    }


@pytest.mark.parametrize(
    ("short", "long", "changes"),
    [
        (line(0.5, 0.3, 0.05), line(0.2, 0.4, 0.05), True),
        (line(0.5, 0.3, 0.05), line(0.2, 0.4, 0.15), False),  # the second class could be either
        (line(0.5, 0.3, 0.15), line(0.2, 0.4, 0.15), False),
        (line(0.5, 0.3, 0.05), {"DCG": Estimate(0.4, 0.39, 0.41)}, False),  # ERR has no value there
    ],
)
def test_both_leaders_must_be_above_the_other_one(short, long, changes):
    best = {"1 word": "ERR", "2 words": "DCG"}
    assert _leader_changes({"1 word": short, "2 words": long}, best) is changes
