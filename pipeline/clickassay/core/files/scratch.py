"""The folder of a job for tables that it makes on the way: made when it is asked for, gone at the end.

A job opens it for all that it calls: `scratch_folder` is asked anywhere below. What lies in it goes by the
name of its source, in messages too.
"""

import functools
import inspect
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import ParamSpec, TypeVar

from clickassay.core.errors import ClickassayError, OutputError
from clickassay.core.files.output import is_disk_full, place_to_write, work_folder
from clickassay.core.text.paths import is_uri

P = ParamSpec("P")
R = TypeVar("R")


class Scratch:
    """The folder of a job, and what lies in it; made on the disk of `near`, None = the system's place."""

    def __init__(self, near: Path | None) -> None:
        self._near, self.made = near, ExitStack()
        self._folder: Path | None = None
        self._folders = 1
        self.sources: dict[str, str] = {}
        """What messages name in place of a file or folder."""

    @property
    def parent(self) -> Path:
        """Where the folder is made."""
        if self._near is None:
            return Path(tempfile.gettempdir())
        return next(folder for folder in self._near.absolute().parents if folder.is_dir())

    def new(self, source: object) -> Path:
        """Return a new folder for what is made of a source, which messages name in its place."""
        if self._folder is None:
            self._folder = self.made.enter_context(work_folder(self.parent, ".scratch."))
        place = self._folder / str(self._folders)
        self._folders += 1
        place.mkdir()
        self.sources[str(place)] = str(source)
        return place


_CURRENT: ContextVar[Scratch | None] = ContextVar("scratch", default=None)


@contextmanager
def scratch(near: Path | str | None = None) -> Iterator[Scratch]:
    """Open the scratch folder of a job, or take that of the job around it, on the disk that `near` is on."""
    outer = _CURRENT.get()
    if outer is not None:
        yield outer
        return
    own = Scratch(None if near is None else Path(near))
    token = _CURRENT.set(own)
    try:
        yield own
    except ClickassayError as error:
        for made in sorted(own.sources, key=len, reverse=True):
            error.args = tuple(str(one).replace(made, own.sources[made]) for one in error.args)
        raise
    except Exception as error:
        if not is_disk_full(error):
            raise
        raise OutputError(
            f"disk full in {own.parent}, where inputs are prepared; free space, or choose another --out"
        ) from error
    finally:
        _CURRENT.reset(token)
        own.made.close()


def with_scratch(near: str | None = None) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Give a job a scratch folder, beside the place that its parameter `near` names if it can be."""

    def decorate(job: Callable[P, R]) -> Callable[P, R]:
        signature = inspect.signature(job)

        @functools.wraps(job)
        def done(*args: P.args, **more: P.kwargs) -> R:
            place = None if near is None else signature.bind(*args, **more).arguments.get(near)
            is_far = isinstance(place, str) and is_uri(place)  # what Spark reaches is up to the job
            with scratch(None if place is None or is_far else place_to_write(place)):
                return job(*args, **more)

        return done

    return decorate


def scratch_folder(source: object) -> Path:
    """Return a new folder in the scratch folder of the job that is being done; RuntimeError outside a job."""
    current = _CURRENT.get()
    if current is None:
        raise RuntimeError("no job is running: open `scratch()` first")
    return current.new(source)


def scratch_file(source: object, name: str) -> Path:
    """Return a new file of this name in the scratch folder, which messages name by its source."""
    file = scratch_folder(source) / name
    scratch_named(file, source)
    return file


def scratch_named(file: Path, source: object) -> None:
    """Let messages name a source in place of a file or folder of the scratch folder."""
    current = _CURRENT.get()
    assert current is not None  # noqa: S101 - else nothing could lie in it
    current.sources[str(file)] = str(source)
