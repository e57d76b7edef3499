"""The pattern store: a log's pattern table in batches, each published whole; a run goes on where one ended.

A batch folder holds what its closed sessions add (`closed`), what its open ones would add if the log
ended there (`open`), the rows to be read again with the next batch (`carry_searches`, `carry_clicks`),
and what other batches must know of its search ids. The table of the whole log is the sum of all
`closed` and of the last `open`.
"""

import fcntl
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from pipeline.contracts import FUNNEL, ContractError
from pipeline.errors import StoreError
from pipeline.inputs import FileFingerprint, input_fingerprint
from pipeline.log_funnel import orphan_rows
from pipeline.patterns import FOLDER_TABLES, PatternTable, merged, write_table
from pipeline.publish import writing_to

FORMAT = 1
MARK = "store.json"
_TABLES = ("closed", "open")
_FRAMES = ("carry_searches", "carry_clicks", "ids", "orphans", "ambiguous")


@dataclass(frozen=True)
class BatchContent:
    """What a batch adds to a store.

    Attributes
    ----------
    closed, opened
        Pattern tables of the sessions that can grow no more, and of those that may.
    frames
        By name: ``carry_searches`` and ``carry_clicks`` (rows to be read again), ``ids`` (digests of new
        search ids, sorted), ``orphans`` (search_id, clicks, is_open) and ``ambiguous`` (search_id).
    info
        Run, times, files and counts; see `add_to_store`.
    """

    closed: PatternTable
    opened: PatternTable
    frames: Mapping[str, pl.DataFrame]
    info: Mapping[str, Any]


@dataclass(frozen=True)
class StoredBatch:
    """A published batch: its number, folder, and what its batch.json says."""

    number: int
    folder: Path
    info: Mapping[str, Any]

    @property
    def watermark_ms(self) -> int:
        """No row of a later batch is older (ms since 1970, UTC)."""
        return int(self.info["watermark_ms"])

    def frame(self, name: str) -> pl.DataFrame:
        """Return one of the frames of `BatchContent`."""
        return _read(self.folder / f"{name}.parquet")

    def table(self, kind: str) -> PatternTable:
        """Return the pattern table of ``closed`` or ``open`` sessions."""
        frames = {name: _read(self.folder / kind / f"{name}.parquet") for name in FOLDER_TABLES}
        try:
            checked = {name: FOLDER_TABLES[name].canonical(frame) for name, frame in frames.items()}
        except (pl.exceptions.PolarsError, ContractError) as error:
            raise _broken(self.folder / kind, error) from error
        return PatternTable(**checked, info={})


class PatternStore:
    """A folder of batches, in order of time.

    Raises
    ------
    StoreError
        If the folder holds something else, or what it holds is broken.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.settings: dict[str, Any] = self._header()

    def _header(self) -> dict[str, Any]:
        try:
            header = json.loads((self.folder / MARK).read_text(encoding="utf-8"))
        except FileNotFoundError as error:
            raise StoreError(
                f"{self.folder} is no pattern store; `clickassay patterns --store {self.folder}` makes one"
            ) from error
        except (OSError, ValueError) as error:
            raise _broken(self.folder / MARK, error) from error
        if not isinstance(header, dict) or header.get("format") != FORMAT:
            raise StoreError(f"{self.folder} is a pattern store of another version; make it again")
        return header

    @classmethod
    def made(cls, folder: Path, settings: Mapping[str, Any]) -> "PatternStore":
        """Open a store, making it when it is not there; its settings must be the same as then."""
        if not (folder / MARK).exists():
            if folder.exists() and any(folder.iterdir()):
                raise StoreError(f"{folder} holds other files; choose an empty or new folder as --store")
            with writing_to(folder):
                folder.mkdir(parents=True, exist_ok=True)
                _write_json(folder / MARK, {"format": FORMAT, "forgotten_before": 0, **settings})
        store = cls(folder)
        for name, value in settings.items():
            if store.settings.get(name) != value:
                raise StoreError(
                    f"store {folder} was made with {name} = {store.settings.get(name)}, not {value}; "
                    "use the same setting, or another --store"
                )
        return store

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes from changing the store, and sweep away what a killed one left."""
        with (self.folder / ".lock").open("a+", encoding="utf-8") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                lock.seek(0)
                raise StoreError(
                    f"store {self.folder} is in use by another clickassay (process {lock.read().strip()}); "
                    "wait until it ends, then run again"
                ) from error
            lock.truncate(0)
            lock.write(str(os.getpid()))
            lock.flush()
            self._sweep()
            yield

    def _sweep(self) -> None:
        for leftover in self.folder.glob(".batch.*"):
            shutil.rmtree(leftover, ignore_errors=True)
        for batch in self._every_batch():
            if batch.number < self.settings["forgotten_before"]:
                _drop_data(batch.folder)

    def _every_batch(self) -> list[StoredBatch]:
        """Return all batches, those too whose data were forgotten: their files stay known."""
        folders = sorted(path for path in self.folder.iterdir() if path.name.isdigit())
        batches = [StoredBatch(int(path.name), path, _read_json(path / "batch.json")) for path in folders]
        if [batch.number for batch in batches] != list(range(1, len(batches) + 1)):
            missing = sorted(set(range(1, len(batches) + 1)) - {batch.number for batch in batches})
            raise StoreError(
                f"store {self.folder}: batch {missing[0]} is missing; "
                f"`clickassay store forget {self.folder} --from {missing[0]}`, then run again over its files"
            )
        return batches

    def batches(self) -> list[StoredBatch]:
        """Return the batches whose data are there, in order of time."""
        return [batch for batch in self._every_batch() if batch.number >= self.settings["forgotten_before"]]

    def history(self) -> list[StoredBatch]:
        """Return all batches ever published that were not undone, in order of time."""
        return self._every_batch()

    def publish(self, content: BatchContent) -> StoredBatch:
        """Add a batch after the last one: it appears whole, by one rename, or not at all."""
        number = len(self._every_batch()) + 1
        with writing_to(self.folder):
            work = Path(tempfile.mkdtemp(prefix=".batch.", dir=self.folder))
            try:
                _write_batch(content, work, number)
                place = self.folder / f"{number:06d}"
                work.rename(place)
                _sync(self.folder)
            finally:
                shutil.rmtree(work, ignore_errors=True)
        return StoredBatch(number, place, _read_json(place / "batch.json"))

    def table(self) -> PatternTable:
        """Return the pattern table of the whole log: closed sessions, and open ones as they are now."""
        batches = self.batches()
        if not batches:
            raise StoreError(
                f"store {self.folder} holds no batch yet; `clickassay patterns --store` adds some"
            )
        tables = [batch.table("closed") for batch in batches] + [batches[-1].table("open")]
        return replace(merged(tables), funnel=self.funnel(), info=self._info(batches))

    def funnel(self) -> pl.DataFrame:
        """Return the funnel of the whole log, as its contract has it."""
        batches = self.batches()
        files = [batch.folder / "closed" / "funnel.parquet" for batch in batches]
        files += [batch.folder / "open" / "funnel.parquet" for batch in batches[-1:]]
        rows = pl.concat([*(_read(file) for file in files), self._orphan_rows(batches)])
        return FUNNEL.canonical(rows.group_by(FUNNEL.key).agg(pl.col("rows").sum()))

    def _orphan_rows(self, batches: Sequence[StoredBatch]) -> pl.DataFrame:
        """Tell what became of clicks whose search was not at hand: another batch may have it, or several."""
        frames = [batch.frame("orphans").filter(~pl.col("is_open")) for batch in batches]
        frames.append(batches[-1].frame("orphans").filter("is_open"))
        orphans = pl.concat(frames)
        ambiguous = pl.concat([batch.frame("ambiguous") for batch in batches])["search_id"]
        is_ambiguous = orphans["search_id"].is_in(ambiguous.implode())
        known = _known(orphans["search_id"], batches)
        clicks = orphans["clicks"]
        return orphan_rows(
            ambiguous=int(clicks.filter(is_ambiguous).sum()),
            out_of_time=int(clicks.filter(known & ~is_ambiguous).sum()),
            unmatched=int(clicks.filter(~known & ~is_ambiguous).sum()),
        )

    def _info(self, batches: Sequence[StoredBatch]) -> dict[str, Any]:
        return {
            "stored_depth": self.settings["stored_depth"],
            "settings": {**batches[-1].info["settings"]},
            "inputs": {what: self._fingerprint(what) for what in ("searches", "clicks")},
            "versions": batches[-1].info["versions"],
        }

    def _fingerprint(self, what: str) -> dict[str, object]:
        return input_fingerprint(self.files(what))

    def files(self, what: str) -> list[FileFingerprint]:
        """Return all files of ``searches`` or ``clicks`` that the store was made of, each once."""
        known = {
            file["path"]: FileFingerprint(**file)
            for batch in self._every_batch()
            for file in batch.info["files"][what]
        }
        return [known[path] for path in sorted(known)]

    def run_files(self, run: int, what: str) -> list[FileFingerprint]:
        """Return the files of ``searches`` or ``clicks`` that one run read, or was to read."""
        of_run = [batch for batch in self._every_batch() if batch.info["run"] == run]
        return [FileFingerprint(**file) for batch in of_run for file in batch.info["files"][what]]

    def forget_from(self, number: int) -> int:
        """Undo batches from `number` on: their files are new again. Returns how many."""
        undone = [batch for batch in self._folders() if int(batch.name) >= number]
        for folder in reversed(undone):  # the last first: what is left is always the beginning of the store
            hidden = folder.with_name(f".batch.{folder.name}")
            folder.rename(hidden)
            shutil.rmtree(hidden)
        return len(undone)

    def forget_before(self, number: int) -> int:
        """Drop the sessions of batches before `number` for good; their files stay known. Returns how many."""
        dropped = [batch for batch in self.batches() if batch.number < number]
        if dropped:
            self.settings["forgotten_before"] = number
            _write_json(self.folder / MARK, self.settings)
            self._sweep()
        return len(dropped)

    def _folders(self) -> list[Path]:
        return sorted(path for path in self.folder.iterdir() if path.name.isdigit())

    def damage(self) -> list[str]:
        """Compare every file with the digest it was published with, and the funnel's parts with their sums.

        Returns
        -------
        One line for each fault; none if all is as it was written.
        """
        faults = [fault for batch in self.batches() for fault in _faults(batch)]
        return faults or _sums_that_differ(self.table())


def id_digest(search_id: object) -> int:
    """Return the digest by which a store knows a search id: an integer itself, or 64 bits of a text's md5."""
    if isinstance(search_id, int):
        return search_id
    return int(hashlib.md5(str(search_id).encode(), usedforsecurity=False).hexdigest()[:16], 16)


def _known(search_ids: pl.Series, batches: Sequence[StoredBatch]) -> pl.Series:
    if search_ids.is_empty():
        return pl.Series([], dtype=pl.Boolean)
    digests = [id_digest(search_id) for search_id in search_ids]
    wanted = pl.Series("id", digests, dtype=batches[0].frame("ids").schema["id"])
    found = [
        pl.scan_parquet(batch.folder / "ids.parquet", glob=False)
        .filter(pl.col("id").is_in(wanted.implode()))
        .collect()["id"]
        for batch in batches
    ]
    return wanted.is_in(pl.concat(found).implode())


def _write_batch(content: BatchContent, folder: Path, number: int) -> None:
    for kind, table in zip(_TABLES, (content.closed, content.opened), strict=True):
        (folder / kind).mkdir()
        for name, contract in FOLDER_TABLES.items():
            write_table(contract.canonical(getattr(table, name)), folder / kind / f"{name}.parquet")
    for name in _FRAMES:
        write_table(content.frames[name], folder / f"{name}.parquet")
    files = sorted(folder.rglob("*.parquet"))
    digests = {file.relative_to(folder).as_posix(): _digest(file) for file in files}
    _write_json(folder / "batch.json", {**content.info, "number": number, "digests": digests})
    for file in files:
        _sync(file)


def _faults(batch: StoredBatch) -> list[str]:
    faults = []
    for name, digest in batch.info["digests"].items():
        file = batch.folder / name
        if not file.is_file():
            faults.append(f"{file} is missing")
        elif _digest(file) != digest:
            faults.append(f"{file} is not what was written: its digest differs")
    return faults


def _sums_that_differ(table: PatternTable) -> list[str]:
    """Check that the parts of the funnel add up to what was read, and patterns to sessions."""
    rows = table.funnel.filter(pl.col("depth") == 0).group_by("source", "step").agg(pl.col("rows").sum())
    count = {(source, step): number for source, step, number in rows.iter_rows()}
    faults = []
    for source in ("searches", "clicks"):
        parts = {step: number for (of, step), number in count.items() if of == source and step != "read"}
        if sum(parts.values()) != count.get((source, "read"), 0):
            read = count.get((source, "read"), 0)
            faults.append(f"{source}: {read:,} read, but {sum(parts.values()):,} kept or left out")
    formed, left_out = count.get(("sessions", "formed"), 0), count.get(("sessions", "left out"), 0)
    if table.patterns["sessions"].sum() != formed - left_out:
        found = table.patterns["sessions"].sum()
        faults.append(f"{formed - left_out:,} sessions kept, but {found:,} in patterns")
    return faults


def _drop_data(folder: Path) -> None:
    for name in _TABLES:
        shutil.rmtree(folder / name, ignore_errors=True)
    for file in folder.glob("*.parquet"):
        file.unlink()


def _read(file: Path) -> pl.DataFrame:
    try:
        return pl.read_parquet(file, glob=False)
    except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise _broken(file, error) from error


def _read_json(file: Path) -> dict[str, Any]:
    try:
        value = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise _broken(file, error) from error
    if not isinstance(value, dict) or not {"files", "watermark_ms", "digests"} <= value.keys():
        raise _broken(file, ValueError("it lacks what clickassay wrote"))
    return value


def _broken(file: Path, error: Exception) -> StoreError:
    reason = str(error).splitlines()[0] if str(error) else type(error).__name__
    return StoreError(
        f"{file} is broken: {reason}; `clickassay store verify` names all such files, "
        "`clickassay store forget --from` undoes batches so that they can be made again"
    )


def _write_json(file: Path, value: Mapping[str, Any]) -> None:
    """Write a file that appears whole or not at all."""
    work = file.with_name(f".{file.name}.new")
    text = json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False)
    work.write_text(text + "\n", encoding="utf-8", errors="backslashreplace")
    _sync(work)
    work.replace(file)


def _sync(path: Path) -> None:
    """Have the system write a file, or the names in a folder, to disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _digest(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
