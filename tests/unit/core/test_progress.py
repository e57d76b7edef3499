"""Progress of a log never goes back, and the bar shows batch, rows per second, time left and memory."""

import re
from pathlib import Path

import numpy as np
import pytest

from clickassay.api.screen.progress import clock_time, resident_bytes
from clickassay.cli.progress import shown_progress
from clickassay.core.progress import Event, steady
from clickassay.core.settings import load_settings
from clickassay.jobs.inputs import Sources
from clickassay.jobs.patterns import log_to_patterns
from clickassay.jobs.stores import grow_store
from support.logs.small_logs import click, search, write_rows

DAY = 24 * 60
DAYS, SEARCHES_A_DAY, CLICKS_A_DAY = 4, 30, 10
BY_DAY = load_settings(depth=[5], batch=str(SEARCHES_A_DAY), threads=1)


@pytest.fixture(scope="module")
def days(tmp_path_factory):
    """Return the folders of searches and clicks of a log with one file a day; visits go on over midnight."""
    folder = tmp_path_factory.mktemp("days")
    for day in range(DAYS):
        times = [day * DAY + 48 * number for number in range(SEARCHES_A_DAY)]
        shown = [search(1000 * day + number, time) for number, time in enumerate(times)]
        clicked = [click(1000 * day + number, times[number] + 1, "a") for number in range(CLICKS_A_DAY)]
        for what, rows in (("searches", shown), ("clicks", clicked)):
            file = write_rows(folder / str(day), **{what: rows})[what]
            (folder / what).mkdir(exist_ok=True)
            Path(file).rename(folder / what / f"{day}.parquet")
    return folder / "searches", folder / "clicks"


def test_the_part_of_a_log_rises_from_0_to_1_over_all_batches_and_is_never_reset(days):
    told = []
    log_to_patterns(Sources(*days), BY_DAY, progress=told.append)
    parts = [event.part for event in told if event.part is not None]
    assert parts == sorted(parts)
    assert (parts[0], parts[-1]) == (0, 1)
    assert len(set(parts)) > 2 * DAYS  # searches and clicks of each batch, at least
    of_batches = [event for event in told if event.batch]
    begun = {event.batch: event.part for event in reversed(of_batches)}
    assert begun == {f"batch {number + 1} of {DAYS}": number / DAYS for number in range(DAYS)}
    assert {event.rows for event in of_batches} == {DAYS * (SEARCHES_A_DAY + CLICKS_A_DAY)}
    first = told.index(of_batches[0])
    assert [event for event in told[first:] if event.part is None] == []
    assert "forming sessions" in {event.message for event in told[first:]}


def test_the_part_of_a_store_rises_and_publishing_does_not_reset_it(days, tmp_path):
    told = []
    grow_store(Sources(*map(str, days)), tmp_path / "store", BY_DAY, progress=told.append)
    parts = [event.part for event in told if event.part is not None]
    assert parts == sorted(parts)
    assert parts[0] == 0
    after = told[next(number for number, event in enumerate(told) if event.part is not None) :]
    assert sum(event.message.startswith("publishing") for event in after if event.part is not None) == DAYS


def test_a_part_stays_until_another_is_reported():
    told = []
    progress = steady(told.append)
    a, b, c, d = Event("a"), Event("b", 0.25, batch="1 of 2", rows=9), Event("c", note=True), Event("d")
    for event in (a, b, c, d, Event("e", 0.5), Event("f")):
        progress(event)
    same = {"part": 0.25, "batch": "1 of 2", "rows": 9}
    kept = [Event("c", note=True, **same), Event("d", **same)]
    assert told == [a, b, *kept, Event("e", 0.5), Event("f", 0.5)]


def test_rows_per_second_and_time_left_are_those_of_the_whole_log():
    # a quarter of 1,200,000 rows in 10 s: 30,000 a second; three quarters take 30 s more
    whole = {"batch": "batch 1 of 4", "rows": 1_200_000}
    assert Event("", 0.25, **whole).pace(10) == pytest.approx((30_000, 30))
    assert Event("", 1.0, **whole).pace(10) == pytest.approx((120_000, 0))
    assert Event("", 0.0, **whole).pace(10) is None
    assert Event("", 0.25, **whole).pace(0) is None
    assert Event("", 0.25).pace(10) is None


@pytest.mark.parametrize(
    ("seconds", "shown"), [(0, "0:00"), (59.6, "1:00"), (83, "1:23"), (3599, "59:59"), (7384, "2:03:04")]
)
def test_times_are_shown_as_on_a_clock(seconds, shown):
    assert clock_time(seconds) == shown


def test_memory_is_what_the_process_holds():
    before = resident_bytes()
    held = np.ones(25_000_000)  # 200 MB
    assert resident_bytes() - before > 150e6
    assert held[-1] == 1


def drawn(monkeypatch, capsys, *events, width=120, terminal=True, quiet=False):
    """Return what is drawn on stderr, without colours and movements."""
    monkeypatch.setenv("FORCE_COLOR" if terminal else "NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", str(width))
    with shown_progress(quiet=quiet) as progress:
        for event in events:
            progress(event)
    said = capsys.readouterr()
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    assert said.out == ""
    return re.sub("\x1b\\[[0-9;?]*[A-Za-z]", "", said.err)


def of_47(message, part):
    return Event(message, part, batch="batch 3 of 47", rows=50_000_000)


@pytest.mark.parametrize("width", [80, 120, 200])
def test_the_bar_shows_batch_step_part_rows_per_second_time_left_and_memory(monkeypatch, capsys, width):
    events = of_47("publishing batch 3 of 47", 0.0), of_47("joining clicks", 0.125)
    shown = drawn(monkeypatch, capsys, *events, width=width)
    assert re.search(
        r"batch 3 of 47  joining clicks .*━.* 12% [\d,]+ rows/s  \d+:\d\d left  \d+\.\d GB", shown
    )
    assert "batch 3 of 47  publishing" not in shown  # the name of a batch is not said twice


def test_a_step_of_unknown_length_shows_the_time_so_far_and_memory(monkeypatch, capsys):
    shown = drawn(monkeypatch, capsys, Event("reading judgments"))
    assert re.search(r"reading judgments .*0:0\d  \d+\.\d GB", shown)
    assert "rows/s" not in shown


@pytest.mark.parametrize("terminal", [True, False])
def test_a_note_is_a_line_of_its_own_on_a_terminal_or_not(monkeypatch, capsys, terminal):
    long = "sorted " * 40
    shown = drawn(monkeypatch, capsys, Event(f"not {long}\x1b[31m", note=True), terminal=terminal)
    assert f"clickassay: not {long}\\x1b[31m\n" in shown


def test_what_is_no_note_is_not_said_off_a_terminal_and_quiet_says_nothing(monkeypatch, capsys):
    events = of_47("batch 3 of 47", 0.5), Event("writing")
    assert drawn(monkeypatch, capsys, *events, terminal=False) == ""
    assert drawn(monkeypatch, capsys, *events, Event("not sorted", note=True), quiet=True) == ""
