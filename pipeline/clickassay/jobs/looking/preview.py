"""A preview of the import of a foreign log: it is imported to a temporary folder and inspected there."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from clickassay.core.progress import Progress
from clickassay.core.settings import Settings
from clickassay.inputs.importers.baidu_ultr import import_baidu_ultr
from clickassay.inputs.importers.base import Imported
from clickassay.inputs.importers.judgments.files import IMPORTED_LAYOUTS
from clickassay.inputs.importers.judgments.importer import import_judgments
from clickassay.inputs.importers.letor import import_letor
from clickassay.inputs.importers.pyclick import import_pyclick
from clickassay.inputs.importers.tiangong_st import import_tiangong_st
from clickassay.inputs.importers.ubi.importer import import_ubi
from clickassay.inputs.importers.yahoo_l18 import import_yahoo_l18
from clickassay.inputs.importers.yandex import import_yandex
from clickassay.inputs.staging.sources import Source
from clickassay.inputs.text import layouts
from clickassay.jobs.looking.inspect import Inspection, inspect_log

IMPORTERS: dict[str, Callable[..., Imported]] = {
    layouts.UBI.name: lambda file, **more: import_ubi([file], **more),
    layouts.YANDEX.name: import_yandex,
    layouts.PYCLICK.name: import_pyclick,
    layouts.YAHOO.name: import_yahoo_l18,
    layouts.TIANGONG.name: import_tiangong_st,
    layouts.BAIDU.name: import_baidu_ultr,
}
"""Importers of logs that need only one file, by the name of the layout."""


def _judgments(file: Path, *, out: Path, progress: Progress) -> Imported:
    return import_judgments([file], out=out, progress=progress)


JUDGMENTS: dict[str, Callable[..., Imported]] = {
    **{name: _judgments for name in IMPORTED_LAYOUTS if name != layouts.JUDGMENTS.name},
    layouts.LETOR.name: import_letor,
}
"""Importers of judgments that need only one file, by the name of the layout."""


def foreign_judgments(file: Path, layout: str, progress: Progress) -> Imported:
    """Return the counts and notes of importing a file of a layout in `JUDGMENTS`; nothing is kept.

    Raises InputError if the importer refuses the file as it is.
    """
    with TemporaryDirectory(prefix="clickassay-inspect-") as place:
        return JUDGMENTS[layout](file, out=Path(place) / "judgments", progress=progress)


def foreign_log(
    file: Path, layout: str, judgments: Mapping[str, Source], settings: Settings, progress: Progress
) -> tuple[Imported, Inspection]:
    """Return the counts and notes of importing a file, and an inspection of the imported log.

    file, layout: a file of a layout in `IMPORTERS`.
    judgments: path of canonical judgments by the name of their table; may be empty.

    Raises InputError if the file is not in the layout, or the judgments cannot be read.
    """
    with TemporaryDirectory(prefix="clickassay-inspect-") as place:
        out = Path(place) / "log"
        imported = IMPORTERS[layout](file, out=out, progress=progress)
        tables = {name: str(out / f"{name}.parquet") for name in ("searches", "clicks")}
        inspection = inspect_log({**tables, **judgments}, settings, progress=progress)
        facts = tuple(replace(table, path=_later(table.path, out)) for table in inspection.tables)
        return imported, replace(inspection, tables=facts, command=_later(inspection.command, out))


def _later(text: str, out: Path) -> str:
    """Put FOLDER in place of the temporary folder, as in the command that imports."""
    return text.replace(str(out), "FOLDER")
