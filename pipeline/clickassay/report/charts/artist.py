"""Drawing in a process of its own: what draws is a browser's engine, and it must not end a run.

It reserves gigabytes of addresses, and ends its process where a limit is in its way (`ulimit -v`, as batch
systems set it; open files).
"""

import atexit
import json
import struct
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from clickassay.core.errors import ReportError

_HEAD = struct.Struct(">Q")
_PATIENCE_SECONDS = 5
_ENDED = "the process that draws has ended; a limit of memory or of open files is the usual cause"


class Artist:
    """The process that draws, started with the first picture; once it has failed, it is not asked again."""

    def __init__(self) -> None:
        self.failure = ""
        self._process: subprocess.Popen[bytes] | None = None

    def draw(self, kind: str, spec: Mapping[str, Any], version: str, **options: object) -> bytes:
        """Return a picture; ReportError if it cannot be drawn here."""
        if not self.failure:
            try:
                return self._asked(json.dumps([kind, spec, version, options]).encode() + b"\n")
            except (OSError, EOFError) as error:
                ended = self.close()
                self.failure = str(error) if ended is None else f"{_ENDED} ({ended})"
        raise ReportError(f"pictures cannot be drawn here: {self.failure}")

    def _asked(self, line: bytes) -> bytes:
        process = self._process
        if process is None:
            library = find_spec("vl_convert")
            if library is None or library.origin is None:
                raise OSError("the package vl-convert-python is missing")
            drawing, home = Path(__file__).with_name("draw.py"), Path(library.origin).parents[1]
            process = self._process = subprocess.Popen(  # noqa: S603 - our own file
                [sys.executable, "-I", "-S", str(drawing), str(home)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,  # its last words are those of a machine
            )
            atexit.register(self.close)
        if process.stdin is None or process.stdout is None:  # both are pipes
            raise EOFError
        process.stdin.write(line)
        process.stdin.flush()
        head = process.stdout.read(_HEAD.size)
        size = _HEAD.unpack(head)[0] if len(head) == _HEAD.size else 0
        picture = process.stdout.read(size)
        if not size or len(picture) < size:
            raise EOFError
        return picture

    def close(self) -> int | None:
        """End the process; return how it ended if it had done so by itself, None if there is none."""
        process, self._process = self._process, None
        if process is None:
            return None
        atexit.unregister(self.close)
        with suppress(OSError, subprocess.TimeoutExpired):  # what is not written yet
            process.communicate(timeout=_PATIENCE_SECONDS)
        process.kill()
        return process.wait()


@cache
def artist() -> Artist:
    """Return the one artist of this process."""
    return Artist()
