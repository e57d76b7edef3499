"""The files behind an input: their format recognised; messages for broken ones."""

import errno
import os
import re
import stat
from pathlib import Path

import polars as pl

from clickassay.core.errors import InputError
from clickassay.core.files.machine import refuse_machine_fault
from clickassay.core.text.words import first_line
from clickassay.inputs.foreign import FIRST_BYTES, refuse_foreign

FORMATS = {
    ".parquet": "parquet", ".pq": "parquet", ".csv": "csv", ".tsv": "tsv",
    ".jsonl": "json", ".ndjson": "json", ".json": "json",
}  # fmt: skip
READ_ERRORS = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError)
"""What reading a broken file raises; Polars panics at a page that it considers impossible."""
_LONGEST_EXCERPT = 80


def check_path(file: Path, what: str = "") -> None:
    """Refuse (InputError) what is neither file nor folder: pipes cannot be read again from the beginning."""
    of = f"{what}: " if what else ""
    try:
        mode = file.stat().st_mode
    except ValueError as error:
        why = "it contains NUL or half of a character"
        raise InputError(f"{of}{str(file)!r} cannot be a path: {why}; correct the path") from error
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise InputError(f"{of}{str(file)[:60]}… cannot be a path: it is too long; shorten it") from error
        return
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise InputError(
            f"{of}{file} is a pipe, which can be read only once; write it to a file first "
            "(such as: zcat log.gz > log.tsv) and give that"
        )


def format_of(file: Path) -> str | None:
    """Return the format by a file's name, compressed or not; None for any other name."""
    suffixes = [suffix.lower() for suffix in file.suffixes]
    if suffixes and suffixes[-1] in (".gz", ".zst"):
        suffixes = suffixes[:-1]
    return FORMATS.get(suffixes[-1]) if suffixes else None


def is_parquet(file: Path) -> bool:
    """Return whether a data file is Parquet, by its name or else by its first bytes."""
    return (format_of(file) or format_by_content("log", file)) == "parquet"


def format_by_content(what: str, file: Path) -> str:
    """Return the format of a file without a known ending; InputError if it is not Parquet, or unreadable."""
    try:
        with file.open("rb") as stream:
            first = stream.read(FIRST_BYTES)
    except OSError as error:
        raise unreadable_file(what, file, error) from error
    if first.startswith(b"PAR1"):
        return "parquet"
    refuse_foreign(file, first, what)
    raise InputError(f"{what}: format of {file} unknown; expected one of the endings {', '.join(FORMATS)}")


_FOOTER_END_BYTES = 9  # its last byte, its length in four, PAR1


def check_parquet(what: str, file: Path) -> None:
    """Refuse a file that is no Parquet by its first bytes, or encrypted: a reader would end the process.

    A footer in the clear has a signature behind it then, and else ends with the zero that ends a structure of
    Thrift; one signature in 256 ends with a zero too.

    Raises InputError if it is, with what it is instead.
    """
    with file.open("rb") as stream:
        first = stream.read(FIRST_BYTES)
        if not first.startswith(b"PAR1"):
            refuse_foreign(file, first, what)
        if b"\n" in first and re.search(rb"[\x00-\x08\x0e-\x1f]", first) is None:
            raise InputError(
                f"{what}: cannot read {file}: it is text, not Parquet; rename it to {file.stem}.csv, .tsv or "
                ".jsonl, unchanged"
            )
        stream.seek(-min(_FOOTER_END_BYTES, file.stat().st_size), os.SEEK_END)
        end = stream.read()
    if end.endswith(b"PARE") or (end.endswith(b"PAR1") and len(end) == _FOOTER_END_BYTES and end[0] != 0):
        raise InputError(
            f"{what}: {file} is encrypted; write it without encryption, or the columns that it needs"
        )


def unreadable_file(what: str, file: object, error: BaseException) -> InputError:
    """Return the error that names an unreadable file; MachineError if that is no fault of the file."""
    refuse_machine_fault(file, error)
    remedy = "check that it is complete (text: in UTF-8), or write it again"
    is_panic = isinstance(error, pl.exceptions.PanicException)
    reason = "a page of it is damaged" if is_panic else first_line(error)
    return InputError(f"{what}: cannot read {file}: {reason}; {reading_remedy(error, remedy)}")


def reading_remedy(error: BaseException, remedy: str) -> str:
    """Return what to do about an error of reading: the remedy, where the error names no other cause."""
    text = str(error)
    if "Too many open files" in text:
        return "raise the limit of open files (ulimit -n), or write the rows as fewer files"
    if "InvalidNumber" in text:
        return "integers over 128 bits are not supported: write such ids as text"
    return remedy


def malformed(file: object, line: int, found: str, *, expected: str) -> InputError:
    """Return the error for a line that is not in the layout."""
    excerpt = found if len(found) <= _LONGEST_EXCERPT else found[:_LONGEST_EXCERPT] + "…"
    return InputError(f"{file}, line {line}: found {excerpt!r}, expected {expected}; fix or remove the line")
