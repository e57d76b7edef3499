"""Sentences of the first screen and of every section: whole, without errors of grammar or of the program."""

import re

import polars as pl
import pytest

from support.reports.report_runs import RUNS, checks, report_of, settings_with
from support.reports.report_tables import run_info, run_tables, small_tables

NOUNS = (
    "quer(?:y|ies)|sessions?|clicks?|search(?:es)?|judgments?|configurations?|pairs?|rows?|metrics?|deciles?|"
    "cases?|markets?|judges?|examples?|samples?|values?|combinations?"
)
COUNTED = re.compile(rf"(?<![\d.,=/])(\d(?:[\d,]*\d)?) ({NOUNS})\b(?!-)")


def single_tables():
    """A run in which everything was met once."""
    tables = run_tables(("all",), (5,), ("all",), n_queries=12)
    return {**tables, "funnel": tables["funnel"].with_columns(rows=pl.lit(1, pl.Int64))}


EVERY = {
    **RUNS,
    "single": (single_tables, run_info),
    "in use": (run_tables, lambda: settings_with(current="NDCG", full=True)),
    "in use without a value": (run_tables, lambda: settings_with(current="Rprec")),
    "a baseline in use": (run_tables, lambda: settings_with(current="P@1")),
    "two click metrics": (run_tables, lambda: settings_with(click_metric=["SS", "UCTR", "PLC"])),
    "at fault": (lambda: {**small_tables(), "health": checks("ok", "finding", "caution")}, run_info),
    "doubtful": (lambda: {**small_tables(), "health": checks("caution")}, run_info),
}


@pytest.fixture(scope="module", params=EVERY)
def report(request):
    tables, info = EVERY[request.param]
    return report_of(tables(), info())


LABELS = ("Data checks",)
"""Facts that are no sentences."""


def sentences(report):
    """All sentences of a report, in view and folded."""
    yield from filter(None, [report.scope, *report.reasons, report.next_step, report.rule])
    yield from (*report.caveats, *report.scale)
    yield from (text for name, text in report.facts if name not in LABELS)
    yield from (text for finding in report.findings for text in (finding.text, *finding.sentences))
    yield from (figure.alt for figure in (*report.overview, *report.second))
    for section in report.sections:
        yield from section.every_reading
        yield from (remark for table in section.every_table for remark in table.remarks)
        yield from (figure.alt for figure in section.every_figure)


def phrases(report):
    """Texts that stand alone, without a full stop."""
    yield report.title
    yield from (text for name, text in report.facts if name in LABELS)
    yield from (one.unreliable for one in report.sections if one.unreliable)
    yield from (bar.status for bar in (report.picture.bars if report.picture else ()))
    yield from (figure.title for section in report.sections for figure in section.every_figure)
    yield from (text for section in report.sections for _, text in section.legend)


def texts(report):
    return [*sentences(report), *phrases(report)]


@pytest.mark.slow
def test_every_sentence_ends_and_what_stands_alone_has_no_full_stop(report):
    for text in sentences(report):
        assert text.endswith((".", ":")), text
        assert not text.endswith(("..", " .")), text
    for text in phrases(report):
        assert text
        assert not text.endswith("."), text


def test_no_text_holds_what_a_program_says_of_nothing_and_one_is_one_and_more_are_more(report):
    for text in texts(report):
        assert not re.search(r"\b(None|nan|inf|True|False)\b|  | ,|,,|\(\)", text), text
        for amount, noun in COUNTED.findall(text):
            many = noun.endswith("s")
            assert many == (amount != "1"), text


def test_nothing_is_drawn_or_tabled_without_a_title(report):
    for section in report.sections:
        assert section.title
        assert all(table.title and table.name_head for table in section.every_table)
        assert all(figure.title for figure in section.every_figure)
    assert all(figure.title for figure in (*report.overview, *report.second))
