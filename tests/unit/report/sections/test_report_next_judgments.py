"""What to judge next: the first queries for both goals, rare ones unnamed."""

import polars as pl
import pytest

from clickassay.report.build import html_report
from clickassay.report.sections.log import SHOWN, next_judgments_section
from support.reports.report_runs import report_of, run_of
from support.reports.report_tables import canonical, empty_tables, run_info, small_tables


def row(rank, goal="coverage", **changes):
    return {
        "market": "m1", "depth": 5, "judge": "a", "goal": goal, "rank": rank, "query": f"secret {rank}",
        "urls": ["https://secret.example/"], "labels": 2, "sessions": 50 - rank, "labels_so_far": 2 * rank,
        "coverage": 0.5 + rank / 100, "width": 1 - rank / 100,
    } | changes  # fmt: skip


@pytest.fixture
def tables():
    rows = [row(rank, goal) for goal in ("coverage", "interval") for rank in range(1, 15)]
    known = small_tables()
    users = [{"market": "m1", "query": "secret 1", "users_at_least": 40, "digest": "abc123"}]
    queries = pl.concat([known["queries"], pl.DataFrame(users, schema=known["queries"].schema)])
    return canonical(known | {"next_judgments": pl.DataFrame(rows), "queries": queries})


def test_the_reading_says_what_the_shown_queries_do_together(tables):
    run = run_of(tables)
    now = run.headline.rows(tables["statistics"])["coverage"][0]
    text = " ".join(next_judgments_section(run).reading)
    assert f"judging 20 results of 10 queries would raise coverage from {100 * now:.1f}% to 60.0%" in text
    assert "20 results of 10 queries would make them 0.90 times as wide" in text


def test_a_query_is_named_only_where_enough_users_asked_it(tables):
    run = run_of(tables)
    (table,) = next_judgments_section(run).tables
    assert len(table.rows) == 2 * SHOWN
    assert [one.name for one in table.rows[:2]] == ["secret 1", "query unknown"]
    assert "secret 2" not in "\n".join(table.csv_lines)
    assert "https://secret" not in html_report(report_of(tables, run_info()))


def test_where_nothing_is_left_to_judge_the_section_says_so(tables):
    tables["next_judgments"] = tables["next_judgments"].head(0)
    section = next_judgments_section(run_of(tables))
    assert "Every shown result of this log's queries is judged." in section.reading[0]
    assert section.tables == ()
    assert next_judgments_section(run_of(empty_tables())).tables == ()


def test_without_judgments_now_there_is_no_width(tables):
    tables["next_judgments"] = (
        tables["next_judgments"].filter(goal="coverage").with_columns(width=pl.lit(None, pl.Float64))
    )
    section = next_judgments_section(run_of(tables))
    assert "To narrow intervals" not in " ".join(section.reading)
    assert "nothing is judged yet" in " ".join(section.tables[0].remarks)
