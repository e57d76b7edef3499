"""The source of an input, made ordinary files where it is none: SQL, object stores, tables of lakes."""

from pathlib import Path

from clickassay.core.progress import Progress, silent
from clickassay.core.text.paths import is_uri
from clickassay.inputs.files import check_path
from clickassay.inputs.frames import Frame, framed
from clickassay.inputs.sources.fingerprint import Made
from clickassay.inputs.sources.mapping import Names
from clickassay.inputs.staging.lakes import is_lake, lake_rows
from clickassay.inputs.staging.objects import fetched
from clickassay.inputs.staging.sql import InputSql, selected

Source = str | Path | InputSql | Frame | Made
"""A file, folder, glob or address of an object store; SQL; a table in memory; or what was made of one."""


def staged(
    what: str, source: Source, names: Names, progress: Progress = silent, *, held: bool = False
) -> str | Path | Made:
    """Return the files of an input, as they lie here or made in the scratch folder; InputError if unreadable.

    held: whether the rows of a frame, and the lists of SQL, may stay in memory.
    """
    if isinstance(source, Made):
        return source
    if isinstance(source, InputSql):
        lists_in = names.get("results", "results") if held and what == "searches" else None
        return selected(what, source, progress, lists_in)
    if isinstance(source, Frame):
        return framed(what, source, names, held=held)
    check_path(Path(source), what)
    if is_uri(str(source)) and not Path(source).exists():
        return fetched(what, str(source), names, progress)
    return lake_rows(what, Path(source), names, progress) or source


def is_plain(source: Source) -> bool:
    """Tell whether an input is files that lie here as they are, or what was made of one already."""
    if isinstance(source, Made):
        return True
    return isinstance(source, str | Path) and not is_uri(str(source)) and not is_lake(Path(source))
