"""The only module that knows where ``sql/`` lies: inside the wheel, or beside the package in a checkout."""

from functools import cache
from pathlib import Path

from clickassay.core.errors import EngineError, QueryError
from clickassay.core.text.words import did_you_mean

_PACKAGE = Path(__file__).resolve().parents[2]


@cache  # a pattern table asks some sixty times, and files do not change under a run
def sql_text(name: str) -> str:
    """Return the text of ``sql/<name>.sql``, e.g. of ``questions/log/coverage`` or ``steps/5_visits/visits``.

    Raises QueryError, with the closest name and all, if there is none; EngineError without ``sql``.
    """
    folder, _, stem = name.rpartition("/")
    known = sql_names(folder)
    if stem not in known:
        raise QueryError(f"no SQL file {name!r}; {did_you_mean(stem, known)}")
    return (_root() / folder / f"{stem}.sql").read_text(encoding="utf-8")


@cache
def sql_names(folder: str) -> tuple[str, ...]:
    """Return the sorted names of SQL in ``sql/<folder>``; QueryError if there is none such."""
    folders = sql_folders()
    if folder not in folders:
        raise QueryError(f"no folder {folder!r} of SQL files; {did_you_mean(folder, folders)}")
    return tuple(sorted(path.stem for path in (_root() / folder).glob("*.sql")))


@cache
def sql_folders() -> tuple[str, ...]:
    """Return the folders of ``sql`` and the folders in these, sorted, e.g. ``steps/5_visits``."""
    root = _root()
    return tuple(sorted(path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_dir()))


def _root() -> Path:
    for folder in (_PACKAGE / "sql", _PACKAGE.parents[1] / "sql"):
        if folder.is_dir():
            return folder
    raise EngineError(f"no folder sql in {_PACKAGE} or beside it; install clickassay again")
