"""Pictures of the draws of two rankers, judged by plain counts over the run's table `draws`."""

import polars as pl
import pytest

from clickassay.report.sections.rankers import differences_section
from support.reports.report_runs import run_of
from support.reports.report_tables import CLICKS, HEADLINE
from support.reports.verdict_world import found_in


def section_of(tables, *, full=True):
    run = run_of(tables, full=full)
    claims = found_in(run)
    return differences_section(run, claims), claims.correlation.ranking


def histograms(tables):
    return [one for one in section_of(tables)[0].figures if one.name.startswith("draws")]


def points(tables, name):
    """Pairs of differences (dE, dC) of the headline sample, as a plain list."""
    rows = tables["draws"].filter(**HEADLINE).select(name, "MeanRR").rows()
    return [row for row in rows if None not in row]


def with_draws(tables, draws):
    return {**tables, "draws": draws}


@pytest.mark.slow
def test_the_best_metric_and_the_last_are_drawn_after_the_closed_forms(tables):
    section, ranking = section_of(tables)
    names = [figure.name for figure in section.figures]
    assert names == [*(f"differences-{place}" for place in range(len(CLICKS))), "draws-0", "draws-1"]
    titles = [figure.title for figure in section.figures[-2:]]
    values = {name: one.value for name, one in ranking.values.items()}
    ends = (max(values, key=values.get), min(values, key=values.get))
    assert [title.split(": ")[1].split(" and ")[0] for title in titles] == list(ends)
    assert [mark for mark, _ in section.legend] == ["dot", "diamond", "bar-on"]


def test_draws_are_drawn_only_on_a_full_page_and_tabled_on_every_page(tables):
    section, _ = section_of(tables, full=False)
    assert [one.name for one in section.figures] == [f"differences-{place}" for place in range(len(CLICKS))]
    assert [mark for mark, _ in section.legend] == ["dot", "diamond"]
    full, _ = section_of(tables)
    assert (
        next(table for table in section.folded if table.name == "table6_draws").rows
        == next(table for table in full.folded if table.name == "table6_draws").rows
    )


def test_each_bin_counts_the_draws_between_its_ends(tables):
    figure = histograms(tables)[0]
    name = figure.title.split(": ")[1].split(" and ")[0]
    found = points(tables, name)
    # the last bin of a side holds its upper end too
    top = [max(abs(point[side]) for point in found) for side in (0, 1)]
    for row in figure.drawing.rows:
        inside = sum(
            row["left"] <= x and (x < row["right"] or row["right"] == top[0] == x)
            and row["low"] <= y and (y < row["high"] or row["high"] == top[1] == y)
            for x, y in found
        )  # fmt: skip
        assert inside == row["draws"]
    assert sum(row["draws"] for row in figure.drawing.rows) == 1000
    bins = {(row["left"], row["low"]) for row in figure.drawing.rows}
    assert len(bins) == len(figure.drawing.rows)


def test_the_share_of_draws_with_the_same_sign_is_a_plain_count(tables):
    for figure in histograms(tables):
        name = figure.title.split(": ")[1].split(" and ")[0]
        found = points(tables, name)
        same = sum(x > 0 < y or x < 0 > y for x, y in found) / len(found)
        assert figure.title.endswith(f"{100 * same:.1f}% with the same sign")
        assert f"both prefer the same ranker in {100 * same:.1f}% of the draws" in figure.alt


def test_a_draw_without_a_difference_prefers_no_ranker(tables):
    values = [0.5, -0.5, 0.0, 0.25]
    key = {name: [value] * 4 for name, value in HEADLINE.items()}
    draws = pl.DataFrame({**key, "iteration": [1, 2, 3, 4], "ERR": values, "MeanRR": [0.1, 0.1, 0.2, 0.0]})
    (figure,) = histograms(with_draws(tables, draws.cast({"depth": pl.Int32, "iteration": pl.Int32})))
    assert figure.title == "4 draws: ERR and MeanRR, 25.0% with the same sign"
    assert sum(row["draws"] for row in figure.drawing.rows) == 4


@pytest.mark.slow
@pytest.mark.parametrize(
    "change",
    [
        lambda draws: draws.head(0),
        lambda draws: draws.drop("MeanRR"),
        lambda draws: draws.with_columns(MeanRR=pl.lit(0.25)),
        lambda draws: draws.with_columns(pl.lit(None, pl.Float64).alias("MeanRR")),
        lambda draws: draws.with_columns(pl.lit(float("nan")).alias("MeanRR")),
        lambda draws: draws.filter(market="m2"),
    ],
    ids=["no draws", "no clicks", "clicks that never differ", "no values", "not a number", "other samples"],
)
def test_nothing_is_drawn_where_there_is_nothing_to_see(tables, change):
    changed = with_draws(tables, change(tables["draws"]))
    assert histograms(changed) == []
    assert section_of(changed)[0].reading == section_of(tables)[0].reading


def test_a_metric_that_never_differs_is_left_out_and_the_other_drawn(tables):
    _, ranking = section_of(tables)
    changed = with_draws(tables, tables["draws"].with_columns(pl.lit(0.0).alias(ranking.others[-1])))
    (figure,) = histograms(changed)
    assert figure.title.startswith(f"1,000 draws: {ranking.best} and MeanRR")


def test_the_numbers_of_the_pictures_are_counts_of_the_draws_in_each_quadrant(tables):
    section, ranking = section_of(tables)
    table = next(one for one in section.folded if one.name == "table6_draws")
    best = ranking.best
    shown = {row.name: row.cells[0] for row in table.rows if row.group == f"{best} and MeanRR"}
    pairs = points(tables, best)
    assert shown == {
        f"{best} higher, MeanRR higher": sum(x > 0 and y > 0 for x, y in pairs),
        f"{best} higher, MeanRR not higher": sum(x > 0 and y <= 0 for x, y in pairs),
        f"{best} not higher, MeanRR higher": sum(x <= 0 and y > 0 for x, y in pairs),
        f"{best} not higher, MeanRR not higher": sum(x <= 0 and y <= 0 for x, y in pairs),
    }
    assert table.data.equals(tables["draws"].filter(**HEADLINE))
    assert {figure.table for figure in section.figures if figure.name.startswith("draws")} == {table.name}
