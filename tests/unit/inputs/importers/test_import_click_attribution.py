"""To which search a click belongs, against the rule read literally, one click at a time."""

import tempfile
from pathlib import Path

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from clickassay.inputs.importers.yandex import import_yandex

URLS = st.sampled_from("abcdef")
SEARCH = st.lists(URLS, min_size=1, max_size=4)
SESSIONS = st.lists(st.lists(st.one_of(SEARCH, URLS), max_size=8), min_size=1, max_size=4)


def _log(sessions: list[list[list[str] | str]]) -> list[tuple[int, int, list[str] | str]]:
    """Line number, session and event; a list is a search, a letter a click. Line 1 is a search of its own."""
    events = [(session, event) for session, events in enumerate(sessions, 1) for event in events]
    return [(number, session, event) for number, (session, event) in enumerate([(0, ["a"]), *events], 1)]


def _expected(log: list[tuple[int, int, list[str] | str]]) -> list[int]:
    """For each click: the latest earlier search of its session that shows it, else the latest, else 0."""
    found = []
    for number, session, event in log:
        if isinstance(event, list):
            continue
        earlier = [(n, e) for n, s, e in log if n < number and s == session and isinstance(e, list)]
        showing = [n for n, results in earlier if event in results]
        found.append(max(showing or [n for n, _ in earlier] or [0]))
    return found


def _text(log: list[tuple[int, int, list[str] | str]]) -> str:
    tail = {True: lambda event: "Q\tq\t0\t" + "\t".join(event), False: lambda event: "C\t" + event}
    return "".join(f"{s}\t{n}\t{tail[isinstance(event, list)](event)}\n" for n, s, event in log)


@settings(max_examples=40, deadline=None)
@given(SESSIONS)
def test_a_click_belongs_to_the_latest_earlier_search_that_shows_it(sessions):
    log = _log(sessions)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "log.tsv"
        file.write_text(_text(log))
        imported = import_yandex(file, out=Path(folder) / "out")
        clicks = pl.read_parquet(Path(folder) / "out" / "clicks.parquet")
    expected = _expected(log)
    assert clicks["search_id"].to_list() == expected
    assert clicks["url"].to_list() == [event for _, _, event in log if isinstance(event, str)]
    assert imported.counts["clicks_before_any_search"] == expected.count(0)
    shown = {n: event for n, _, event in log if isinstance(event, list)}
    off_list = [n for n, url in zip(expected, clicks["url"], strict=True) if n and url not in shown[n]]
    assert imported.counts["clicks_elsewhere"] == len(off_list)
