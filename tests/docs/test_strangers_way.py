"""The way of a stranger with the README alone: messy CSV to a report, and a store that grows to the same."""

import csv
import json
import random
import re
from datetime import UTC, datetime, timedelta, timezone

import polars as pl
import pytest

from support.logs import tiny

QUERIES = (
    *("赤い靴", "傘 レディース", "炊飯器", "コーヒー豆"),
    *("Größe 42 Schuhe", "Bügeleisen", "Äpfel", "Fußball"),
)
LABELS = ("Irrelevant", "Complement", "Substitute", "Exact")
SCALE = ("--scale", ",".join(LABELS))
RESULTS = 5
SEARCHES, EMPTY, REPEATED, ORPHANS = 400, 2, 5, 2
START = datetime(2026, 3, 28, tzinfo=UTC)
"""A night before clocks go forward in Germany: local times are of two offsets."""
QUICK = ("--depth", "4", "--iterations", "20", "--click-models", "none", "--threads", "1", "-q")


def url(query, number):
    """Return a result: an address, or an id that is none."""
    return (
        f"SKU:{QUERIES.index(query)}x{number}" if number % 3 else f"https://shop.example/p/{number}-{query}"
    )


def grade(query, number):
    return (QUERIES.index(query) + 2 * number) % len(LABELS)


def local(time, query):
    """Return a time as a shop writes it: with the zone of the language."""
    summer = time >= datetime(2026, 3, 29, 1, tzinfo=UTC)
    hours = (2 if summer else 1) if query.isascii() or "ü" in query.lower() or "ö" in query else 9
    return time.astimezone(timezone(timedelta(hours=hours))).isoformat(timespec="seconds")


def messy_log():
    """Return rows of searches, clicks and ratings, in the order of time."""
    draw = random.Random(19)  # noqa: S311 - a log, not a secret
    searches, clicks = [], []
    for number in range(SEARCHES):
        query = draw.choice(QUERIES)
        spelled = draw.choice((query, query.lower(), query.replace(" ", "  "), f" {query}", f"{query}　"))
        time = START + timedelta(minutes=7 * number)
        shown = draw.sample(range(RESULTS), RESULTS)
        if draw.random() < 0.5:  # a ranking that knows the grades
            shown.sort(key=lambda result, query=query: -grade(query, result))
        row = (f"s-{number:05d}", f"user:{number % 97:04x}", local(time, query))
        results = json.dumps([url(query, result) for result in shown], ensure_ascii=False)
        searches.append((*row[:2], "" if number < EMPTY else spelled, row[2], results))
        for place, result in enumerate(shown):
            if draw.random() < (0.1 + 0.25 * grade(query, result)) / (1 + place):
                clicked = time + timedelta(seconds=5 + 8 * place)
                clicks.append((row[0], local(clicked, query), url(query, result)))
    searches += searches[-REPEATED:]
    clicks += [(f"lost-{number}", local(START, "Äpfel"), "SKU:0x1") for number in range(ORPHANS)]
    ratings = [(query, url(query, n), LABELS[grade(query, n)]) for query in QUERIES for n in range(RESULTS)]
    return searches, clicks, ratings


def write(file, head, rows):
    with file.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([head, *rows])
    return str(file)


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    """Return a folder with the log in files as clickassay reads them, under the names of their tables."""
    folder = tmp_path_factory.mktemp("shop")
    searches, clicks, ratings = messy_log()
    write(folder / "searches.csv", ("search_id", "user_id", "query", "timestamp", "results"), searches)
    write(folder / "clicks.csv", ("search_id", "timestamp", "url"), clicks)
    write(folder / "judgments.csv", ("query", "url", "grade"), ratings)
    return folder


def inputs(folder):
    return [f"--{name}={folder / name}.csv" for name in ("searches", "clicks", "judgments")]


@pytest.fixture(scope="module")
def run(shop):
    printed = tiny.said_by("run", *inputs(shop), *SCALE, *QUICK, "--out", shop / "june")
    assert printed.endswith(f"Report: {shop / 'june' / 'report.html'}\nstatus: ok\n")
    assert re.search(r"^ +(Correlation with MeanRR|Picks the ranking users prefer) ", printed, re.MULTILINE)
    return shop / "june"


def test_names_of_their_own_are_answered_with_all_that_are_needed(tmp_path):
    searches, *_ = messy_log()
    file = write(tmp_path / "events.csv", ("sessionId", "userId", "searchTerm", "ts", "products"), searches)
    shown = tiny.inside("inspect", file)
    assert shown.code == 1
    assert "searches: search_id, user_id, query, timestamp, results" in shown.out
    options = ("--searches", file, "--clicks", file, "--judgments", file, "--out", tmp_path / "never")
    line = tiny.refusal("run", *options)
    assert "columns search_id, user_id, query, timestamp, results are missing" in line
    assert "it has: sessionId, userId, searchTerm, ts, products" in line
    assert line == tiny.refusal("patterns", *options[:4], *options[6:])


def test_the_command_that_inspect_ends_with_can_be_pasted(shop, monkeypatch, tmp_path):
    shown = tiny.said_by("inspect", *inputs(shop), *SCALE, "--depth", "4", "-q")
    command = next(line for line in shown.splitlines() if line.startswith("clickassay run "))
    assert "--depth 4 --scale irrelevant,complement,substitute,exact" in command
    monkeypatch.chdir(tmp_path)
    words = [*command.split()[1:], "--iterations", "10", "--click-models", "none", "-q"]
    assert tiny.inside(*words).code == 0
    assert (tmp_path / "RUN" / "report.md").is_file()


def test_nothing_of_the_log_is_lost_or_counted_twice(run):
    funnel = pl.read_parquet(run / "funnel.parquet").filter(depth=0)
    rows = {(row["source"], row["step"], row["reason"]): row["rows"] for row in funnel.iter_rows(named=True)}
    assert rows["searches", "read", ""] == SEARCHES + REPEATED
    assert rows["searches", "rejected", "null query"] == EMPTY
    assert sum(n for (of, step, _), n in rows.items() if (of, step) == ("searches", "repeated")) == REPEATED
    assert rows["searches", "kept", ""] == SEARCHES - EMPTY
    assert rows["judgments", "kept", ""] == len(QUERIES) * RESULTS
    unmatched = sum(n for (of, step, _), n in rows.items() if (of, step) == ("clicks", "unmatched"))
    first = {f"s-{number:05d}" for number in range(EMPTY)}
    assert unmatched == ORPHANS + sum(row[0] in first for row in messy_log()[1])
    assert not any(step == "out of time" for _, step, _ in rows)  # zones are read


def test_spellings_in_any_script_are_one_query_each(run):
    found = pl.read_parquet(run / "queries.parquet")["query"].to_list()
    assert sorted(found) == sorted(query.lower() for query in QUERIES)


def test_a_folder_of_an_evaluation_is_no_run_and_is_not_said_to_be_old(tmp_path, run):
    (tmp_path / "q").write_text("1 0 a 1\n")
    (tmp_path / "r").write_text("1 Q0 a 1 1 x\n")
    tiny.said_by("evaluate", tmp_path / "q", tmp_path / "r", "-q", "--out", tmp_path / "e")
    line = tiny.refusal("diff", run, tmp_path / "e")
    assert "another version" not in line
    assert str(tmp_path / "e") in line


def test_a_store_that_grows_by_a_day_gives_the_report_of_the_whole_log(shop, run, tmp_path):
    store, noon = tmp_path / "store", SEARCHES // 2
    searches, clicks, _ = messy_log()
    early = {row[0] for row in searches[:noon]} | {f"lost-{number}" for number in range(ORPHANS)}
    for day, is_part in (("1", lambda row: row[0] in early), ("2", lambda row: row[0] not in early)):
        for name, head, rows in (
            ("searches", ("search_id", "user_id", "query", "timestamp", "results"), searches),
            ("clicks", ("search_id", "timestamp", "url"), clicks),
        ):
            (tmp_path / name).mkdir(exist_ok=True)
            write(tmp_path / name / f"{day}.csv", head, filter(is_part, rows))
        logs = ("--searches", tmp_path / "searches", "--clicks", tmp_path / "clicks")
        said = tiny.said_by("patterns", *logs, "--depth", "4", "--store", store, "-q")
        known = "0 files" if day == "1" else "2 files"
        assert f"1 batch added; {known} already read" in said
    first, second = json.loads(tiny.said_by("store", "info", store, "--json"))
    assert (first["start_ms"], second["start_ms"]) == (None, first["end_ms"])
    assert first["searches"] + second["searches"] == SEARCHES + REPEATED
    judged = ("--judgments", shop / "judgments.csv", *SCALE, *QUICK[:6], "-q")
    tiny.said_by("report", "--patterns", store, *judged, "--out", tmp_path / "report")
    for table in ("correlations", "configurations", "statistics"):
        assert (tmp_path / "report" / f"{table}.parquet").read_bytes() == (
            run / f"{table}.parquet"
        ).read_bytes()
