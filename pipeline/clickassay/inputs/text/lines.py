"""The front door of text files: unpacked, without a mark, line by line; UTF-16 and the like are refused."""

import gzip
import io
import os
import shlex
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any

from clickassay.core.errors import InputError
from clickassay.core.progress import Event, Progress, silent
from clickassay.core.text.words import first_line
from clickassay.inputs.files import check_path, malformed
from clickassay.inputs.foreign import FIRST_BYTES, refuse_foreign

LONGEST_LINE = 1 << 28
"""Most bytes of a line: judgments may be one line of JSON, and a small archive may hold an endless line."""

_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_MARK = b"\xef\xbb\xbf"
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_LINES_PER_REPORT = 100_000
_BLOCK_BYTES = 1 << 24
"""Bytes of a file that are looked at together before an engine reads it; far fewer than a line may have."""


@dataclass(frozen=True)
class Opened:
    """A text file that is being read."""

    stream: "io.BufferedReader[Any]"  # Its bytes, unpacked; lines end with a line feed.
    share: Callable[[], float]  # Returns the share of the file that was read, 0..1.
    line_end: str  # What ends its lines in the file: a line feed, or a carriage return alone.


@contextmanager
def opened(file: Path, expected: str = "a text file") -> Iterator[Opened]:
    """Open a text file, plain or compressed with gzip or zstd, whatever its name.

    Raises InputError if it is missing, a pipe or unreadable, or what compresses it is damaged.
    """
    check_path(file)
    try:
        with file.open("rb") as raw:
            first = _unpacked(raw).read(FIRST_BYTES)
        with file.open("rb") as raw:
            size = max(1, os.fstat(raw.fileno()).st_size)
            stream = _unpacked(raw)
            # the last byte may be half of a line's end
            of_old_macs = b"\r" in first[:-1] and b"\n" not in first and not first.startswith(b"PAR1")
            given = io.BufferedReader(_WithLineFeeds(stream)) if of_old_macs else stream
            yield Opened(given, lambda: min(1.0, raw.tell() / size), "\r" if of_old_macs else "\n")
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or first_line(error)
        raise InputError(f"cannot read {file}: {reason}; expected {expected}") from error


class _WithLineFeeds(io.RawIOBase):
    def __init__(self, stream: io.BufferedReader) -> None:
        self._stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:  # noqa: ANN401 - Python 3.11 has no name for it
        view = memoryview(buffer)
        block = self._stream.read(len(view)).replace(b"\r", b"\n")
        view[: len(block)] = block
        return len(block)


def _unpacked(raw: io.BufferedReader) -> io.BufferedReader:
    first = raw.peek(4)
    if first.startswith(_GZIP):
        return io.BufferedReader(gzip.GzipFile(fileobj=raw))
    if first.startswith(_ZSTD):
        import pyarrow as pa  # noqa: PLC0415 - few files need it, and it takes its time

        return io.BufferedReader(pa.CompressedInputStream(pa.PythonFile(raw), "zstd"))
    return raw


def is_packed(file: Path) -> bool:
    """Return whether a file is compressed with gzip or zstd."""
    with file.open("rb") as stream:
        return stream.read(4).startswith((_GZIP, _ZSTD))


def head(file: Path, size: int, expected: str = "a log or judgments") -> bytes:
    """Return the first bytes of a text file, unpacked, without a mark; InputError as `opened`, or UTF-16."""
    with opened(file, expected) as source:
        raw = source.stream.read(size)
    refuse_utf16(file, raw)
    return raw.removeprefix(_MARK)


def refuse_utf16(file: Path, raw: bytes) -> None:
    """Refuse (InputError) UTF-16, by its mark or every other byte being 0, with the command for UTF-8."""
    if raw.startswith(_UTF16_MARKS):
        name, sign = "utf-16", "byte order mark"
    elif len(raw) >= 8 and raw[:8].replace(b"\0", b"") in (raw[0:8:2], raw[1:8:2]):
        name, sign = ("utf-16le" if raw[1] == 0 else "utf-16be"), "every other byte is 0"
    else:
        return
    given = shlex.quote(str(file))
    raise InputError(
        f"{file} is in UTF-16 ({sign}), expected UTF-8; convert it: "
        f"iconv -f {name} -t utf-8 {given} > {shlex.quote(f'utf8-{file.name}')}"
    )


def lines(
    file: Path, *, progress: Progress = silent, encoding: str = "utf-8", hint: str = ""
) -> Iterator[tuple[int, str]]:
    """Yield (line number from 1, line without its end) of a text file, reporting progress.

    encoding: one with line ends of ASCII, as UTF-8 and GB18030; `hint` ends the message of lines that are
      not.
    Raises InputError as `opened`; if a line is not in this encoding, or longer than `LONGEST_LINE` bytes.
    """
    with opened(file) as source:
        refuse_foreign(file, source.stream.peek(FIRST_BYTES)[:FIRST_BYTES])
        for number, raw in enumerate(iter(partial(source.stream.readline, LONGEST_LINE + 1), b""), 1):
            if len(raw) > LONGEST_LINE:
                raise _endless(file, number, raw)
            if number == 1:
                refuse_utf16(file, raw)
            if number % _LINES_PER_REPORT == 0:
                progress(Event(f"reading {file.name}", source.share()))
            try:
                text = raw.decode(encoding)
            except UnicodeDecodeError as error:
                expected = encoding.upper() + " text" + hint
                raise malformed(file, number, repr(raw[:20]), expected=expected) from error
            yield number, (text.removeprefix("\ufeff") if number == 1 else text).rstrip("\r\n")


def _endless(file: Path, number: int, raw: bytes) -> InputError:
    return malformed(file, number, repr(raw[:20]), expected=f"lines of at most {LONGEST_LINE:,} bytes")


def check_table(what: str, file: Path, format_: str) -> None:
    """Look at CSV or JSON lines before columns are inferred; InputError as `check_lines`, or for an array."""
    first = check_lines(what, file)
    if first.startswith(b"PAR1"):
        raise InputError(
            f"{what}: {file} is Parquet by its first bytes; rename it to {file.name.split('.')[0]}.parquet"
        )
    if format_ == "json" and first.lstrip().startswith(b"["):
        given, other = shlex.quote(str(file)), shlex.quote(f"{file.name.split('.')[0]}.jsonl")
        raise InputError(
            f"{what}: {file} is one JSON array, expected one object per line; convert it: "
            f"jq -c '.[]' {given} > {other}"
        )


def _refuse_endless_line(file: Path, stream: IO[bytes]) -> None:
    """Refuse a file with a line beyond `LONGEST_LINE`; its lines are not split, which would take longer."""
    number, length, first = 1, 0, b""  # of the line that has begun
    while block := stream.read(_BLOCK_BYTES):
        end = block.find(b"\n")
        first = first or block[:20]
        length += end if end >= 0 else len(block)
        if length > LONGEST_LINE:
            raise _endless(file, number, first)
        if end >= 0:
            begins = block.rfind(b"\n") + 1
            number, length, first = (
                number + block.count(b"\n"),
                len(block) - begins,
                block[begins : begins + 20],
            )


def check_lines(what: str, file: Path) -> bytes:
    """Look at a text file before an engine reads it; return its first bytes.

    Raises InputError if it is a pipe, in UTF-16, or has a line beyond `LONGEST_LINE`, which would end the
    process; the message begins with `what`.
    """
    try:
        check_path(file)
        if file.is_dir():
            raise InputError(f"{file} is a folder, expected a file; name one in it")
        first = head(file, FIRST_BYTES)
        refuse_foreign(file, first)
        if is_packed(file) or file.stat().st_size > LONGEST_LINE:
            with opened(file) as source:
                _refuse_endless_line(file, source.stream)
    except InputError as error:
        raise InputError(f"{what}: {error}") from error
    return first
