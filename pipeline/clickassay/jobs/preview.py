"""What a foreign log would be once imported: it is imported to a place that is gone afterwards."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from clickassay.core.progress import Progress
from clickassay.core.settings import Settings
from clickassay.inputs import detect as layouts
from clickassay.inputs import importers as formats
from clickassay.inputs.importers.base import Imported
from clickassay.jobs.inspect import Inspection, inspect_log

IMPORTERS: dict[str, Callable[[Path, Path, Progress], Imported]] = {
    layouts.UBI.name: lambda file, out, progress: formats.import_ubi([file], out=out, progress=progress),
    layouts.YANDEX.name: lambda file, out, progress: formats.import_yandex(file, out=out, progress=progress),
    layouts.PYCLICK.name: lambda file, out, progress: formats.import_pyclick(
        file, out=out, progress=progress
    ),
    layouts.YAHOO.name: lambda file, out, progress: formats.import_yahoo_l18(
        file, out=out, progress=progress
    ),
    layouts.TIANGONG.name: lambda file, out, progress: formats.import_tiangong_st(
        file, out=out, progress=progress
    ),
    layouts.BAIDU.name: lambda file, out, progress: formats.import_baidu_ultr(
        file, out=out, progress=progress
    ),
}
"""Importers that need no more than one file, by the layout."""


def foreign_log(
    file: Path, layout: str, judgments: dict[str, str], settings: Settings, progress: Progress
) -> tuple[Imported, Inspection]:
    """Tell what importing a file would count and say, and what a run would make of it.

    Parameters
    ----------
    file, layout
        A file of a layout in `IMPORTERS`.
    judgments
        Canonical judgments by the name of their table, or nothing.

    Raises
    ------
    InputError
        If the file is not in the layout, or the judgments cannot be read.
    """
    with TemporaryDirectory(prefix="clickassay-inspect-") as place:
        out = Path(place) / "log"
        imported = IMPORTERS[layout](file, out, progress)
        tables = {name: str(out / f"{name}.parquet") for name in ("searches", "clicks")}
        found = inspect_log(tables | judgments, settings, progress=progress)
        facts = tuple(replace(table, path=_later(table.path, out)) for table in found.tables)
        return imported, replace(found, tables=facts, command=_later(found.command, out))


def _later(text: str, out: Path) -> str:
    """Name the folder as the command that imports does."""
    return text.replace(str(out), "FOLDER")
