"""What the next day costs a pattern store: `clickassay patterns --store` once for each day of a log.

    python -m benchmarks.cost.increment [--days N] [--searches-a-day N] [--ids KIND] [--runs N]
                                        [--given HOW …] [--only-ends] [--compared-ids N]

A log of one file a day is made of a simulated one. A store then grows day by day, each day a whole process
that is given that day's file only; then another store, given the whole folder as it grows. The last day is
repeated on copies of the store, and its median set against the second day and the mean of all days before.
In the end both stores must hold the table of one run over all files: else exit code 1. With `--only-ends` the
days between the second and the last are added in one process, and not measured. `--compared-ids` makes no
log: it times how random ids of so large a day are compared with those of an earlier one.
"""

import argparse
import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

import numpy as np
import polars as pl
from numpy.typing import NDArray

from benchmarks.lib.measuring import (
    WORK,
    Cost,
    answers,
    clickassay,
    elsewhere,
    machine,
    made_log,
    measured,
    middle,
)
from clickassay.cli.app import main as run_clickassay
from clickassay.logs.grow import COMPARED_DAYS, ONE_IN, NewIds
from clickassay.patterns.batches import StoredBatch, write_ids
from clickassay.patterns.store import PatternStore
from clickassay.patterns.table import FOLDER_TABLES, PatternTable, read_patterns

IDS = ("ascending", "random", "text")
TABLES = ("searches", "clicks")
WEEK = 7
FIRST_DAY_MS = 1_767_571_200_000
"""2026-01-05T00:00Z, when simulated logs begin; each is a week long."""
DAY_MS = 86_400_000
ROW_GROUP = 100_000


@dataclass(frozen=True)
class Grown:
    """What each day but the last cost a store, and what repetitions of the last did."""

    before: Sequence[Cost]
    last: Sequence[Cost]

    @property
    def ratio(self) -> float:
        """CPU time of the last day (median) over the mean of the days before."""
        return middle(self.last, "cpu") / mean(cost.cpu for cost in self.before)


def main() -> None:
    """Make the log if it is not there, grow the stores, print their days, and check them."""
    options = _options()
    if options.compared_ids:
        print(f"{machine()}; days of {options.compared_ids:,} ids")
        print(elsewhere(compared, options.compared_ids))
        return
    print(f"{machine()}; world {options.world}, {options.days} days of {options.searches_a_day:,} searches")
    week = simulated(options.world, options.days, options.searches_a_day)
    for ids in IDS if options.ids == "every" else (options.ids,):
        log = made_days(week, options.days, ids)
        stores = {given: WORK / f"increment-store-{given}" for given in options.given}
        for given, store in stores.items():
            print(f"ids {ids}, given the {given}", flush=True)
            found = grown(
                log, options.days, store, runs=options.runs, alone=given == "day", ends=options.only_ends
            )
            print_days(found, options.days)
        print(f"  check  {checked(log, stores)}", flush=True)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--days", type=int, default=31, help="at least 2")
    parser.add_argument("--searches-a-day", type=int, default=300_000)
    parser.add_argument("--ids", choices=(*IDS, "every"), default="every")
    parser.add_argument("--world", default="web")
    parser.add_argument("--runs", type=int, default=3, help="repetitions of the last day")
    parser.add_argument("--given", nargs="+", choices=("day", "folder"), default=("day", "folder"))
    parser.add_argument("--only-ends", action="store_true", help="measure the first two days and the last")
    parser.add_argument("--compared-ids", type=int, default=0, metavar="N", help="ids a day")
    options = parser.parse_args()
    if options.days < 2:
        parser.error(f"--days is {options.days}; there must be a day before the last: give 2 or more")
    return options


# ---- the log ------------------------------------------------------------------------------------


def simulated(world: str, days: int, searches_a_day: int) -> Path:
    """Return a simulated week with searches for so many days, in whole weeks."""
    searches = WEEK * -(-days // WEEK) * searches_a_day
    return made_log(world, searches, max(50, searches // 200))


def made_days(week: Path, days: int, ids: str) -> Path:
    """Return a log of one file a day of searches and of clicks, making it when it is not there."""
    folder = WORK / f"{week.name}-days-{days}-{ids}"
    if not folder.exists():
        elsewhere(write_days, week, folder, days, ids)
    return folder


def write_days(week: Path, folder: Path, days: int, ids: str) -> None:
    """Deal the users of a simulated week out to several weeks, and write each day as a file.

    A user is in one week only, so that visits stay whole. Ids ascend in time before they are mixed.
    Clicks lie in the file of the day on which they were made.
    """
    work = folder.with_name(f".{folder.name}.new")
    shutil.rmtree(work, ignore_errors=True)
    searches = json.loads((week / "truth.json").read_text(encoding="utf-8"))["searches"]
    day_of = np.full(searches + 1, days, dtype=np.int64)  # of each search id; there is none 0
    for table in TABLES:
        (work / table).mkdir(parents=True)
    for weekday, rows in _weekdays(week / "searches.parquet"):
        by_user = pl.coalesce(pl.col("user_id") // 10, "search_id") % -(
            -days // WEEK
        )  # tens: of both markets
        dealt = rows.with_columns(day=WEEK * by_user + weekday)
        day_of[dealt["search_id"].to_numpy()] = dealt["day"].to_numpy()
        _write(dealt, work / "searches", days, searches, ids)
    for weekday, rows in _weekdays(week / "clicks.parquet"):
        # a click of no search has the id of one plus the number of searches
        of_search = day_of[(rows["search_id"].to_numpy() - 1) % searches + 1]
        day = np.where(of_search < days, of_search // WEEK * WEEK + weekday, days)
        spilled = np.where(of_search < days, np.minimum(day, days - 1), days)  # past the end of the log
        _write(rows.with_columns(day=pl.Series(spilled)), work / "clicks", days, searches, ids)
    work.rename(folder)


def _weekdays(file: Path) -> Iterator[tuple[int, pl.DataFrame]]:
    """Yield the rows of each day; what comes after the week lies with its last day."""
    weekday = ((pl.col("timestamp").dt.epoch("ms") - FIRST_DAY_MS) // DAY_MS).clip(0, WEEK - 1)
    for number in range(WEEK):
        yield number, pl.scan_parquet(file).filter(weekday == number).collect()


def _write(rows: pl.DataFrame, folder: Path, days: int, searches: int, ids: str) -> None:
    for (day,), part in rows.filter(pl.col("day") < days).partition_by("day", as_dict=True).items():
        week = int(day) // WEEK
        later = pl.col("timestamp") + pl.duration(days=WEEK * week)
        new_ids = named(part["search_id"].to_numpy() + week * (2 * searches + 1), ids)
        moved = part.drop("day").with_columns(later, search_id=new_ids).sort("timestamp", maintain_order=True)
        moved.write_parquet(
            folder / f"day-{int(day) + 1:03}.parquet",
            compression="zstd",
            compression_level=1,
            row_group_size=ROW_GROUP,
        )


def named(numbers: NDArray[np.int64], ids: str) -> pl.Series:
    """Return ids for numbers: themselves, or mixed one to one over 63 bits, or these as text."""
    if ids == "ascending":
        return pl.Series("search_id", numbers)
    largest = np.uint64(2**63 - 1)
    mixed = numbers.astype(np.uint64)
    for odd in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9):  # of SplitMix64; odd numbers have an inverse
        mixed = (mixed * np.uint64(odd)) & largest
        mixed ^= mixed >> np.uint64(32)
    series = pl.Series("search_id", mixed.astype(np.int64))
    return series if ids == "random" else series.cast(pl.String)


# ---- the store ----------------------------------------------------------------------------------


def grown(log: Path, days: int, store: Path, *, runs: int, alone: bool, ends: bool) -> Grown:
    """Grow a store day by day, given the day's files alone, or all up to then."""
    shown, kept = WORK / "increment-shown", WORK / "increment-kept"
    for folder in (store, shown, kept):
        shutil.rmtree(folder, ignore_errors=True)
    first = min(days, 3) if ends else days
    before = [measured(add_day(log, day, store, None if alone else shown)) for day in range(1, first)]
    elsewhere(fill, log, range(first, days), store, None if alone else shown)
    shutil.copytree(store, kept)
    command, last = add_day(log, days, store, None if alone else shown), []
    for _ in range(runs):
        shutil.rmtree(store)
        shutil.copytree(kept, store)
        last.append(measured(command))
    for folder in (shown, kept):
        shutil.rmtree(folder, ignore_errors=True)
    return Grown(before, last)


def fill(log: Path, days: Sequence[int], store: Path, shown: Path | None) -> None:
    """Add days as `add_day` has it, all in this process."""
    for day in days:
        command = add_day(log, day, store, shown)
        sys.argv = command[command.index("clickassay") :]
        with suppress(SystemExit):
            run_clickassay()


def add_day(log: Path, day: int, store: Path, shown: Path | None) -> list[str]:
    """Return the command that adds a day: given its files, or the folder `shown`, which they are put into."""
    inputs: list[object] = []
    for table in TABLES:
        given = log / table / f"day-{day:03}.parquet"
        if shown is not None:
            (shown / table).mkdir(parents=True, exist_ok=True)
            os.link(given, shown / table / given.name)
            given = shown / table
        inputs += [f"--{table}", given]
    return clickassay("patterns", *inputs, "--store", store, "--quiet")


def print_days(found: Grown, days: int) -> None:
    """Print CPU seconds of each day, ten a line, then how the last one compares."""
    cpu = [cost.cpu for cost in found.before]
    for first in range(0, len(cpu), 10):
        figures = " ".join(f"{seconds:7.2f}" for seconds in cpu[first : first + 10])
        print(f"  days {first + 1:3}-  {figures}")
    last = " ".join(f"{cost.cpu:.2f}" for cost in found.last)
    middles = (middle(found.last, what) for what in ("cpu", "wall", "peak_mb"))
    print(f"  mean of {len(cpu)} days {mean(cpu):.2f} CPU s, {1000 * growth(cpu):+.1f} ms with each day more")
    print(f"  of the second day: {middle(found.last, 'cpu') / cpu[min(1, len(cpu) - 1)]:.2f}")
    print(
        "  day {}: {:.2f} CPU s (median of {}), {:.2f} s wall, {:,.0f} MB; ratio {:.2f}".format(
            days, next(middles), last, *middles, found.ratio
        ),
        flush=True,
    )


def growth(cpu: Sequence[float]) -> float:
    """Return the slope of a line through the seconds of the days but the first, which makes the store."""
    later = np.asarray(cpu[1:])
    return float(np.polyfit(np.arange(len(later)), later, 1)[0]) if len(later) > 1 else 0.0


# ---- ids alone ----------------------------------------------------------------------------------


def compared(number: int) -> str:
    """Time how ids of a day are compared with those of earlier ones, all and in part."""
    folder = WORK / "increment-ids"
    rng = np.random.default_rng(0)
    shutil.rmtree(folder, ignore_errors=True)
    earlier = [_day_of_ids(folder / str(day), number, rng) for day in range(1, COMPARED_DAYS + 1)]
    ids = NewIds(_random_ids(number, rng).lazy())
    whole = _cpu_seconds(lambda: [ids.used_in(batch) for batch in earlier]) / len(earlier)
    part = _cpu_seconds(lambda: ids.unused_in(earlier)) / len(earlier)
    shutil.rmtree(folder)
    year = COMPARED_DAYS * whole + (363 - COMPARED_DAYS) * part
    return (
        f"{1000 * whole:.1f} ms for all, {1000 * part:.2f} ms for one in {ONE_IN}; "
        f"computed for 363 earlier days: {year:.2f} CPU s"
    )


def _day_of_ids(folder: Path, number: int, rng: np.random.Generator) -> StoredBatch:
    """Write random ids as a batch does."""
    folder.mkdir(parents=True)
    day = _random_ids(number, rng)
    write_ids(day, folder / "ids.parquet")
    return StoredBatch(int(folder.name), folder, {"ids": [day["id"][0], day["id"][-1]]})


def _random_ids(number: int, rng: np.random.Generator) -> pl.DataFrame:
    return pl.DataFrame({"id": np.sort(rng.integers(0, 2**64, number, dtype=np.uint64))})


def _cpu_seconds(find: Callable[[], object]) -> float:
    """Return the mean of some calls."""
    start = time.process_time()
    for _ in range(5):
        find()
    return (time.process_time() - start) / 5


# ---- the check ----------------------------------------------------------------------------------


def checked(log: Path, stores: dict[str, Path]) -> str:
    """Run once over all days, compare, and return a check value; a difference ends the benchmark."""
    out = WORK / "increment-whole"
    inputs = [part for table in TABLES for part in (f"--{table}", log / table)]
    whole = measured(clickassay("patterns", *inputs, "--out", out, "--force", "--quiet"))
    for given, store in stores.items():
        if wrong := elsewhere(differing, store, out):
            sys.exit(f"the store given the {given} differs from one run over all days: {', '.join(wrong)}")
    check = measured(answers("patterns", out)).output.strip()
    for folder in (*stores.values(), out):
        shutil.rmtree(folder)
    return f"{check}; the stores hold the same as one run over all days, which takes {whole.cpu:.2f} CPU s"


def differing(store: Path, out: Path) -> list[str]:
    """Return the names of tables in which a store and a pattern table differ."""
    found, expected = PatternStore(store).table(), read_patterns(out)
    return [name for name in FOLDER_TABLES if not canonical(found, name).equals(canonical(expected, name))]


def canonical(table: PatternTable, name: str) -> pl.DataFrame:
    """Return a frame of a pattern table in the order and types of its contract."""
    return FOLDER_TABLES[name].canonical(getattr(table, name))


if __name__ == "__main__":
    main()
