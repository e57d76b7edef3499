"""The sample that `make sample` copies from a run is what this checkout makes of the log."""

import re

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from support.places import ROOT
from support.runs.sample_run import shop

SHOWN = ROOT / "docs" / "sample"
AGAIN = "make it again with `make sample` and commit it"
NUMBER = re.compile(r"(?<![\w.@])[\u2212-]?\d+(?:,\d{3})*(?:\.\d+)?(?![\w])")


def words_and_numbers(text):
    """Return a text without its numbers; and its numbers, with a unit of the last decimal of each, or 0."""
    found = [one.replace(",", "").replace("\u2212", "-") for one in NUMBER.findall(text)]
    return NUMBER.sub("#", text), [
        (float(one), 10.0 ** -len(one.partition(".")[2]) if "." in one else 0.0) for one in found
    ]


def differing(ours, theirs):
    """Return the lines of two texts with other words, or with a number further away than its last digit."""
    pairs = [(a, b, words_and_numbers(a), words_and_numbers(b)) for a, b in zip(ours, theirs, strict=True)]
    return [
        (a, b)
        for a, b, (words, numbers), (others, known) in pairs
        if words != others
        or any(abs(x - y) > 1.001 * unit for (x, unit), (y, _) in zip(numbers, known, strict=True))
    ]


@pytest.mark.parametrize("file", sorted(SHOWN.glob("*.csv")), ids=lambda file: file.stem)
def test_the_tables_shown_are_those_of_the_code(file):
    ours, theirs = (pl.read_csv(place) for place in (shop() / "tables" / file.name, file))
    assert_frame_equal(ours, theirs, rel_tol=1e-9, abs_tol=1e-12)


def test_the_report_shown_has_the_words_of_the_code_and_its_numbers_to_the_last_digit():
    head = (ROOT / "docs" / "make" / "sample_head.txt").read_text(encoding="utf-8")
    made = head + (shop() / "summary.md").read_text(encoding="utf-8")
    shown = (SHOWN / "report.md").read_text(encoding="utf-8")
    assert differing(made.splitlines(), shown.splitlines()) == [], AGAIN


def test_what_is_shown_is_small_and_has_a_report_a_picture_and_tables():
    kinds = {file.suffix for file in SHOWN.iterdir()}
    assert kinds == {".md", ".png", ".csv"}
    assert (SHOWN / "summary.png").read_bytes().startswith(b"\x89PNG")
    assert sum(file.stat().st_size for file in SHOWN.iterdir()) < 1_000_000
