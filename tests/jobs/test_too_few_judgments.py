"""A run with too few judgments ends as a finding: it says what to judge, and what clicks show alone."""

import json
import re
from collections import Counter

import polars as pl
import pytest

from clickassay.inputs.importers.ubi import import_ubi
from support.logs import tiny
from support.logs.simulated_log import rows
from support.logs.small_logs import click, search, write_rows
from support.oracle.oracle_log import log_to_sessions
from support.places import DATA

CHORUS = DATA / "chorus_esci_ubi"
GRADES = {"0.000": 0, "1.000": 1, "10.000": 3, "100.000": 4}

needs_chorus = pytest.mark.skipif(
    not CHORUS.exists(), reason="the sample of Chorus is not beside the checkout"
)

SEARCHES = [
    search(1, 0, "abc", query="tv"),
    search(2, 0, "abc", query="tv", user=2),
    search(3, 0, "abd", query="tv", user=3),
    search(4, 0, "xy", query="hi fi", user=4),
]
CLICKS = [click(1, 1, "a"), click(1, 2, "c"), click(2, 1, "b"), click(4, 1, "x")]
"""Of four sessions two click at 1, one at 2, one of the three long ones at 3."""

SOME = [{"query": "tv", "url": url, "grade": 2} for url in "ab"]


def ended(tmp_path, judgments, *options, searches=SEARCHES, out="run"):
    """Return exit code and lines of a run."""
    paths = write_rows(tmp_path / "log", searches=searches, clicks=CLICKS)
    pl.DataFrame(judgments).write_csv(tmp_path / "grades.csv")
    given = [f"--{name}={path}" for name, path in paths.items()] + [f"--judgments={tmp_path / 'grades.csv'}"]
    more = ("--out", tmp_path / out, "--quiet", *options)
    found = tiny.inside("run", *given, *more)
    return found.code, found.out.splitlines()


def test_a_run_that_can_measure_nothing_says_so_in_one_screen_and_ends_with_1(tmp_path):
    code, lines = ended(tmp_path, SOME, "--depth", "3")
    assert code == 1
    assert lines == [
        "FINDING Metrics cannot be compared with these clicks: no ranking is fully judged.",
        # a and b of three lists, of 3 + 3 + 3 + 2 results
        "54.5% of the results shown have a grade: 6 of 11, in the top 3 results of each session.",
        "  top 3: of 4 sessions, 1 has fewer results and 3 show a result without a grade",
        "Judge these first (most sessions gained per label), top 3 results:",
        "  tv: c (completes 2 sessions)",
        "What clicks alone show, in 4 sessions (at each position: of sessions with a result there):",
        "  position       1      2      3",
        "  clicked    50.0%  25.0%  33.3%",
        "                 █      ▅      ▆",
        # first clicks 1, 2, none, 1; last clicks 3, 2, none, 1; MeanRR (1 + 1/3) / 2, 1/2, 0, 1
        "  UCTR 0.750, MaxRR 0.625, MeanRR 0.542, MinRR 0.458, PLC 0.542, QCTR 1.000",
        "What helps:",
        "  another --depth; fully judged sessions at depth 1 (3 sessions), 2 (3 sessions)",
        "  --unjudged zero (or extremes, model): grades by rule, in 3 sessions whose query has some judgment",
        "  judging these results; to get a sheet: clickassay plan --run RUN --budget N --out SHEET",
        "Data checks: 11 passed, 22 skipped (4 of 50 clicks, 4 of 1,000 "
        "searches, 4 of 1,000 sessions, 4 of 20 clicks a day, 1 of 20 judged queries, 2 of 20 "
        "judgments, 0 of 20 queries with a correlation and 2 of 20 results).",
        f"Report: {tmp_path / 'run' / 'report.html'}",
        "status: problem found",
    ]


def test_what_it_says_to_do_works(tmp_path):
    ended(tmp_path, SOME, "--depth", "3")
    tiny.said_by("plan", "--run", tmp_path / "run", "--budget", "1", "--out", tmp_path / "sheet")
    asked = pl.read_csv(tmp_path / "sheet" / "to_label.csv").select("query", "url").rows()
    assert asked == [("tv", "c")]
    judged = [*SOME, *({"query": query, "url": url, "grade": 0} for query, url in asked)]
    code, lines = ended(tmp_path, judged, "--depth", "3", out="more")
    assert lines[2].endswith("1 has fewer results, 1 shows a result without a grade and 2 are fully judged")
    assert (code, lines[0].partition("(")[0]) == (
        1,
        "FINDING Metrics cannot be compared with these clicks: few rankings are fully judged ",
    )


def test_of_a_query_the_lists_that_complete_most_sessions_are_proposed(tmp_path):
    some = [{"query": "hi fi", "url": "x", "grade": 1}]
    _, lines = ended(tmp_path, some, "--depth", "3")
    assert "  tv: a, b, c and 1 more (completes 3 sessions)" in lines  # rather than 2 for 3 labels


def test_lists_that_are_all_shorter_than_the_depth_ask_for_another_depth(tmp_path):
    judged = [
        {"query": search["query"], "url": url, "grade": 1} for search in SEARCHES[2:] for url in "abcdxy"
    ]
    code, lines = ended(tmp_path, judged)
    assert code == 1
    assert "  top 5: of 4 sessions, 4 have fewer results" in lines
    assert any(line.endswith("at depth 1 (4 sessions), 2 (4 sessions), 3 (3 sessions)") for line in lines)
    assert not any("Judge these first" in line or "judging these" in line for line in lines)


def test_a_log_without_a_session_of_a_judged_query_says_that(tmp_path):
    code, lines = ended(
        tmp_path, [{"query": "radio", "url": "a", "grade": 1}], "--depth", "3", "--only-judged"
    )
    assert (code, len(lines)) == (1, 4)
    assert "no session is usable" in lines[0]


def test_a_log_that_is_judged_in_full_is_no_finding_whatever_its_clicks_say(tmp_path):
    judged = [{"query": query, "url": url, "grade": 1} for query in ("tv", "hi fi") for url in "abcdxy"]
    code, lines = ended(tmp_path, judged, "--depth", "2")
    assert code == 0
    assert not any("FINDING" in line for line in lines)


def test_a_rule_for_unjudged_results_that_gives_correlations_is_no_finding(tmp_path):
    queries = [search(n, 0, f"a{n}", query=f"q{n}", user=n) for n in range(1, 5)]
    judged = [{"query": f"q{n}", "url": "a", "grade": n} for n in range(1, 5)]
    for rule, code in (("drop", 1), ("zero", 0), ("extremes", 0)):
        options = ("--depth", "2", "--unjudged", rule)
        assert ended(tmp_path, judged, *options, searches=queries, out=rule)[0] == code


def test_of_several_judges_the_one_with_most_sessions_is_named(tmp_path):
    judged = [{"query": "hi fi", "url": url, "grade": 1, "judge": "bob"} for url in "xy"]
    _, lines = ended(tmp_path, [*judged, *(row | {"judge": "ann"} for row in SOME[1:])], "--depth", "2")
    assert lines[2].startswith("  top 2, judge bob: of 4 sessions, 3 show a result without a grade and 1 ")
    assert lines[3] == "Judge these first (most sessions gained per label), top 2 results, judge bob:"


def test_of_several_judges_without_a_session_the_first_is_named(tmp_path):
    judged = [*(row | {"judge": "ann"} for row in SOME), *(row | {"judge": "bob"} for row in SOME[:1])]
    _, lines = ended(tmp_path, judged, "--depth", "3")
    assert lines[2].startswith("  top 3, judge ann: of 4 sessions,")
    assert lines[3:5] == [
        "Judge these first (most sessions gained per label), top 3 results, judge ann:",
        "  tv: c (completes 2 sessions)",
    ]
    assert any("depth 1 (3 sessions), 2 (3 sessions)" in line for line in lines)  # all ann's


def test_texts_of_the_log_cannot_move_the_terminal(tmp_path):
    odd = [search(1, 0, ["u\x1b[2J", "v", "a"], query="tv\u202e")]
    _, lines = ended(tmp_path, [{"query": "tv\u202e", "url": "v", "grade": 1}], "--depth", "3", searches=odd)
    assert any(r"tv\u202e: a, u\x1b[2J" in line for line in lines)


def _judgments(out):
    sets = json.loads((CHORUS / "esci_us_judgments.json").read_text(encoding="utf-8"))["judgmentRatings"]
    rows = [
        (one["query"], rating["docId"], GRADES[rating["rating"]]) for one in sets for rating in one["ratings"]
    ]
    pl.DataFrame(rows, schema=["query", "url", "grade"], orient="row").write_csv(out)
    return {(" ".join(query.lower().split()), url) for query, url, _ in rows}


@needs_chorus
def test_chorus_with_its_judgments_ends_with_what_share_is_judged_and_what_to_judge(tmp_path):
    import_ubi([CHORUS / "ubi_queries_events.ndjson"], out=tmp_path / "log")
    judged = _judgments(tmp_path / "grades.csv")
    halves = (rows(tmp_path / "log" / f"{name}.parquet") for name in ("searches", "clicks"))
    sessions = log_to_sessions(*halves, {"depth": (10,)}, Counter())  # by the plain-Python oracle
    shown = [(session.query, url) for session in sessions for url in session.results[:10]]
    with_grade = sum(result in judged for result in shown)
    inputs = [f"--{name}={tmp_path / 'log' / name}.parquet" for name in ("searches", "clicks")]
    given = (*inputs, f"--judgments={tmp_path / 'grades.csv'}", f"--out={tmp_path / 'run'}", "--quiet")
    found = tiny.inside("run", *given)
    lines = found.out.splitlines()
    assert found.code == 1
    assert len(lines) <= 24 + 1  # a screen, and the verdict
    share = f"{100 * with_grade / len(shown):.1f}%"
    assert lines[1].startswith(f"{share} of the results shown have a grade: {with_grade} of {len(shown):,},")
    assert with_grade == 72
    assert any(line.startswith("  gold: B0") for line in lines)
    clicked = sum(1 in session.places(1) for session in sessions) / len(sessions)
    assert re.search(rf"^  clicked +{100 * clicked:.1f}% ", found.out, re.MULTILINE)


def test_where_ids_are_in_another_case_it_says_so_and_not_to_judge_or_to_fill_in(tmp_path):
    searches = [
        search(n, n * 60, [f"P{n}-{place}" for place in range(5)], query=f"word {n}", user=n)
        for n in range(1, 9)
    ]
    judged = [
        {"query": f"word {n}", "url": f"p{n}-{place}", "grade": place}
        for n in range(1, 9)
        for place in range(5)
    ]
    code, lines = ended(tmp_path, judged, "--depth", "5", searches=searches)
    said = "\n".join(lines)
    assert code == 1
    assert "“p1-0” is judged, and “P1-0” is shown: they differ in case" in said
    assert "Finding: Rankings of their queries show none of 40 judged results." in said
    for misleading in ("--unjudged zero", "Judge these first", "judging these results"):
        assert misleading not in said
    assert "then judge more" in said
