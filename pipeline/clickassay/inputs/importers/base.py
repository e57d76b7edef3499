"""What every importer shares: reading lines, the canonical tables, one folder published by one rename.

All of them take ``out``, a folder that must not exist, and ``progress``, which receives the current task and
the share done; raise OutputError if ``out`` exists or cannot be written, and InputError for a file that is
not in its layout (the message names file and line); and return an `Imported`.
docs/reference/formats.md describes what each of them maps, drops and assumes, and what its counts mean.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from clickassay.core.files.output import new_folder, write_json
from clickassay.core.files.tables import scan_parquet
from clickassay.core.progress import Progress
from clickassay.inputs import columns
from clickassay.inputs.columns import arrow_schema
from clickassay.inputs.sources.fingerprint import unchanged

BASE_DAY_MS = int(datetime(2000, 1, 1, tzinfo=UTC).timestamp()) * 1000
"""Logs that give times without a date are put on this day."""
LAST_MS = int(datetime(2100, 1, 1, tzinfo=UTC).timestamp()) * 1000

SEARCHES, JUDGMENTS = arrow_schema(columns.SEARCHES), arrow_schema(columns.JUDGMENTS)
CLICKS = arrow_schema(columns.CLICKS, "url")
CLICKS_WITH_DWELL = arrow_schema(columns.CLICKS, "url", "dwell_seconds")

_BATCH_ROWS = 100_000
_WHOLE_NUMBER = re.compile(r"[0-9]{1,18}")  # at most 18 digits: fits 64 bits


RANK_COUNTS = ("searches_out_of_order", "searches_cut_short", "results_not_placed")

JUDGMENT_COUNTS = ("judgments_repeated", "judgments_conflicting", "judgments")

SHOWN_COUNTS = ("results_shown", "results_shown_judged")

CONFLICTING = "Some pairs of query and URL have two grades: choose a rule (--conflicts) when you run."
UNJUDGED = "No judgments were imported: add some before you run."
"""Notes of several importers."""

GRADES_TO_4 = {str(grade): grade for grade in range(5)}


@dataclass(frozen=True)
class Imported:
    """The result of an importer."""

    folder: Path  # Has the canonical tables and ``import.json``.
    # Rows read, dropped, changed and written, by name; docs/reference/formats.md says what each counts.
    counts: dict[str, int]
    notes: tuple[str, ...]  # Sentences that the user should read before a run on the folder.


def whole_number(text: str) -> int | None:
    """Return the non-negative integer of at most 18 digits that `text` spells, or None."""
    return int(text) if _WHOLE_NUMBER.fullmatch(text) else None


@dataclass(frozen=True)
class TableWriter:
    """Writes rows to one Parquet file, a batch at a time, so that memory does not grow with the log."""

    file: pq.ParquetWriter
    schema: Any
    rows: list[tuple[Any, ...]] = field(default_factory=list)

    def add(self, *row: object) -> None:
        """Add one row, its values in the order of the schema; times are integer milliseconds."""
        self.rows.append(row)
        if len(self.rows) >= _BATCH_ROWS:
            self.flush()

    def flush(self) -> None:
        """Write the rows that were added since."""
        values = zip(*self.rows, strict=True) if self.rows else [()] * len(self.schema)
        arrays = [pa.array(column, of.type) for column, of in zip(values, self.schema, strict=True)]
        self.file.write_table(pa.Table.from_arrays(arrays, schema=self.schema))
        self.rows.clear()


_Judgment = TypeVar("_Judgment", bound=tuple[Any, ...])


def distinct_judgments(rows: Sequence[_Judgment], counts: dict[str, int]) -> list[_Judgment]:
    """Drop judgments (query, URL, grade, perhaps judge) that repeat an earlier one; keep contradictions.

    counts: ``judgments_repeated`` and ``judgments_conflicting`` (second grades, kept) grow; ``judgments`` is
      set.
    """
    distinct = dict.fromkeys(rows)
    results = {(query, url, *judge) for query, url, _, *judge in distinct}
    counts["judgments_repeated"] += len(rows) - len(distinct)
    counts["judgments_conflicting"] += len(distinct) - len(results)
    counts["judgments"] = len(distinct)
    return list(distinct)


@dataclass(frozen=True)
class LogWriter:
    """Writes and counts searches and clicks."""

    searches: TableWriter
    clicks: TableWriter
    counts: dict[str, int]

    def search(
        self, search_id: int, user: int | str, query: str, time_ms: int, results: Sequence[str]
    ) -> None:
        """Write one search with results; count ``searches`` and ``searches_repeating_a_result``."""
        self.counts["searches"] += 1
        self.counts["searches_repeating_a_result"] += len(set(results)) < len(results)
        self.searches.add(search_id, user, query, time_ms, results)

    def click(self, search_id: int, time_ms: int, url: str, *dwell_seconds: float | None) -> None:
        """Write one click, with its dwell time if the log has such; count ``clicks``."""
        self.counts["clicks"] += 1
        self.clicks.add(search_id, time_ms, url, *dwell_seconds)


@dataclass(frozen=True)
class CanonicalFolder:
    """A folder of canonical tables that is being made."""

    # path, out: Where it is written, and where it is to appear.
    path: Path
    out: Path
    inputs: Mapping[str, object]
    counts: dict[str, int]  # Rows read, dropped, changed and written, by name.
    progress: Progress  # Receives what is done.

    @contextmanager
    def table(self, name: str, schema: Any) -> Iterator[TableWriter]:  # noqa: ANN401 - pyarrow has no types
        """Open a table, by its name without ending."""
        with pq.ParquetWriter(self.path / f"{name}.parquet", schema, compression="zstd") as file:
            writer = TableWriter(file, schema)
            yield writer
            writer.flush()

    @contextmanager
    def log(self, searches: Any = SEARCHES, clicks: Any = CLICKS) -> Iterator[LogWriter]:  # noqa: ANN401 - as above
        """Open the tables of searches and clicks, of these schemas."""
        with self.table("searches", searches) as rows, self.table("clicks", clicks) as clicked:
            yield LogWriter(rows, clicked, self.counts)

    def judge(self, rows: Sequence[tuple[str, str, int]]) -> list[tuple[str, str, int]]:
        """Write the distinct ones of some judgments (query, URL, grade), and return them."""
        distinct = distinct_judgments(rows, self.counts)
        with self.table("judgments", JUDGMENTS) as writer:
            for row in distinct:
                writer.add(*row)
        return distinct

    def finish(
        self, importer: str, notes: Iterable[str], settings: Mapping[str, object] | None = None
    ) -> Imported:
        """Count shown and judged results; write ``import.json``: files, counts, notes (read at the end)."""
        searches, judgments = self.path / "searches.parquet", self.path / "judgments.parquet"
        if searches.exists():
            results = scan_parquet(searches).select("query", url="results")
            results = results.explode("url", empty_as_null=False)
            self.counts["results_shown"] = height(results)
            if judgments.exists():
                judged = results.join(scan_parquet(judgments), on=["query", "url"], how="semi")
                self.counts["results_shown_judged"] = height(judged)
        imported = Imported(self.out, dict(self.counts), tuple(notes))
        record = {
            "importer": importer,
            "inputs": self.inputs,
            "settings": settings or {},
            "counts": imported.counts,
            "notes": imported.notes,
        }
        write_json(self.path / "import.json", record, sort_keys=False)
        return imported


@contextmanager
def importing(
    out: Path, inputs: Mapping[str, Path | None], counts: Iterable[str], progress: Progress
) -> Iterator[CanonicalFolder]:
    """Yield a folder, counts at 0, that becomes `out`; given up if an input changes (see `unchanged`)."""
    with new_folder(out) as path, unchanged(inputs) as identities:
        yield CanonicalFolder(path, out, identities, dict.fromkeys(counts, 0), progress)


def height(frame: pl.LazyFrame) -> int:
    """Count rows without holding them."""
    return int(frame.select(pl.len()).collect(engine="streaming").item())


def unmapped_prefix(taken: Collection[str]) -> str:
    """Return a prefix for queries without a name with which none of those `taken` begins."""
    prefix = "unmapped:"
    while any(query.startswith(prefix) for query in taken):
        prefix = "un" + prefix
    return prefix


def highest_grade_note(rows: Sequence[tuple[str, str, int]]) -> str:
    """Return the note on the scale that judgments (query, URL, grade) need."""
    highest = max((grade for _, _, grade in rows), default=0)
    return f"Grades go up to {highest}: run with --max-grade {highest} or a matching scale."


def cut_short_note(counts: dict[str, int]) -> list[str]:
    """Return the note on lists that `rank_list` cut short, if there are any."""
    pages = counts["searches_cut_short"]
    note = (
        f"{pages:,} pages have a missing or repeated rank: their rankings end above this rank, and "
        "runs exclude them at depths for which they are too short."
    )
    return [note] if pages else []


def rank_list(ranked: Sequence[tuple[int, str]], counts: dict[str, int]) -> list[str]:
    """Return results best first, up to the first rank that is missing or occurs twice.

    The result at that rank is not known, and a list without the gap would move all results below it up. A run
    leaves out a list that is too short for its depth (method 3, rule 7), and counts it.

    ranked: (rank from 1, result), in the order of the log.
    counts: ``searches_out_of_order`` grows by 1 where the log's order differs from the ranks;
      ``searches_cut_short`` by 1, and ``results_not_placed`` by the results left out, at such a rank.
    """
    ranks = [rank for rank, _ in ranked]
    holders: defaultdict[int, list[str]] = defaultdict(list)
    for rank, result in ranked:
        holders[rank].append(result)
    results: list[str] = []
    while len(holders.get(len(results) + 1, ())) == 1:
        results += holders[len(results) + 1]
    counts["searches_out_of_order"] += ranks != sorted(ranks)
    counts["searches_cut_short"] += len(results) < len(ranked)
    counts["results_not_placed"] += len(ranked) - len(results)
    return results
