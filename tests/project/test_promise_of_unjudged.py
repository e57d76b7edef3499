"""What the page on unjudged results says of filled grades, against the committed result."""

import re

import polars as pl

from support.places import ROOT

FOUND = pl.read_csv(ROOT / "reports" / "calibration" / "unjudged.csv")
PAGE = (ROOT / "docs" / "reference" / "unjudged.md").read_text(encoding="utf-8")
LARGE, SMALL = 100_000, 20_000
HOLES = ("at random", "low grades", "far down", "rarely shown")


def row_of(world, holes):
    """Return the line of the table of the page."""
    own = FOUND.filter(world=world, holes=holes, searches=LARGE)
    rules = [own.row(by_predicate=pl.col("rule") == rule, named=True) for rule in ("drop", "zero", "model")]
    errors = [f"{row['error']:+.3f}, {row['absolute_error']:.3f}".replace("-", "\u2212") for row in rules]
    held = ", ".join(f"{100 * row['held']:.0f}%" for row in rules)
    return f"| {world} | {holes} | {100 * rules[0]['coverage']:.1f}% | {' | '.join(errors)} | {held} |"


def test_the_table_of_the_page_is_of_the_committed_result():
    rows = [row_of(world, holes) for world in ("cascade", "web") for holes in HOLES]
    assert "\n".join(rows) in PAGE


def of_rule(rule, searches=LARGE):
    return FOUND.filter(pl.col("holes") != "nothing", rule=rule, searches=searches)


def test_the_model_is_nearer_than_other_rules_in_as_many_rows_as_the_page_says():
    found = re.findall(r"`drop` in (\d+) of 16 rows, and than (?:that of )?`zero` in (\d+)", PAGE)
    assert len(found) == 2
    for size, stated in zip((LARGE, SMALL), found, strict=True):
        model = of_rule("model", size)["absolute_error"]
        nearer = [(model < of_rule(rule, size)["absolute_error"]).sum() for rule in ("drop", "zero")]
        assert [int(one) for one in stated] == nearer
        assert len(model) == 16


def test_half_of_the_sessions_lower_correlations_as_the_page_says():
    pattern = (
        r"lower than over all users: by (\d\.\d+) to (\d\.\d+) in the simulated logs of 100,000 searches "
        r"below, and by (\d\.\d+) to (\d\.\d+) in those of 20,000"
    )
    (stated,) = re.findall(pattern, PAGE)
    told = FOUND.filter(pl.col("world") != "null", holes="nothing")
    lower = [-told.filter(searches=size)["error"] for size in (LARGE, SMALL)]
    assert stated == tuple(f"{end:.3f}" for one in lower for end in (one.min(), one.max()))


def test_fewer_clicks_make_the_model_worse_as_the_page_says():
    pattern = r"mean absolute error of `model` is (\d\.\d+) with 100,000 searches, and (\d\.\d+) with 20,000"
    (stated,) = re.findall(pattern, PAGE)
    means = [
        of_rule("model", size).filter(pl.col("world") != "null")["absolute_error"].mean()
        for size in (LARGE, SMALL)
    ]
    assert stated == tuple(f"{one:.3f}" for one in means)
