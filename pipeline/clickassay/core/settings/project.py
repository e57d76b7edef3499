"""A project file, ``clickassay.toml``: inputs, columns, settings and output of a job in one place.

A file of ``--settings`` has the same form. Paths in it count from its own folder, those in SQL that it has
or names too.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from clickassay.core.errors import SettingsError
from clickassay.core.files.documents import DocumentError, read_toml
from clickassay.core.files.output import place_to_write
from clickassay.core.settings.of_tests import TESTS, declared_tests
from clickassay.core.text.paths import is_uri, local_path
from clickassay.core.text.words import did_you_mean

PROJECT = "clickassay.toml"
"""The file that is taken from the working folder unless another is named."""

COLUMNS, INPUTS, OUTCOMES = "columns", "inputs", "outcomes"
"""Sections: which columns files call otherwise, where the inputs are, and the kinds of outcomes."""

TABLES = ("searches", "clicks", "judgments", "queries", "scores", "outcomes", "assignments", "past_tests")
INPUT_NAMES = (*TABLES, *(f"{name}_sql" for name in TABLES), "database")
"""What the section of inputs may have."""

_PLACES = ("out", "store")
_DATE = "{date}"


@dataclass(frozen=True)
class ProjectFile:
    """What a file of settings says, each part as it was written."""

    file: Path  # The file.
    settings: Mapping[str, Any] = field(default_factory=dict)  # Settings by name.
    inputs: Mapping[str, str] = field(default_factory=dict)  # Inputs by their names in `INPUT_NAMES`.
    # out, store: Where runs and the pattern store are written, or empty; ``{date}`` stands for the day (UTC).
    out: str = ""
    store: str = ""
    rules: tuple[str, ...] = ()  # What a run must keep.

    def place(self, text: str) -> str:
        """Return a path of the file from the working folder; an address as it is, but for ``file:///…``."""
        text = str(local_path(text))
        return text if is_uri(text) or not text else str(self.file.parent / text)

    def out_today(self) -> Path | None:
        """Return where today's run is written; None if the file does not say."""
        today = datetime.now(UTC).date().isoformat()
        place = self.place(self.out.replace(_DATE, today))
        return place_to_write(place, f"out of {self.file}: ") if self.out else None

    def runs(self) -> list[Path]:
        """Return what lies where runs are written, the last at the end: by the day in its name."""
        if not self.out:
            return []
        return sorted(_matching(Path(self.place(self.out))))


def _matching(place: Path) -> list[Path]:
    if _DATE not in str(place):
        return [place] if place.exists() else []
    parents = _matching(place.parent)
    if _DATE not in place.name:
        return [parent / place.name for parent in parents if (parent / place.name).exists()]
    named = re.compile(re.escape(place.name).replace(re.escape(_DATE), r"\d{4}-\d\d-\d\d"))
    return [
        one for parent in parents if parent.is_dir() for one in parent.iterdir() if named.fullmatch(one.name)
    ]


def project_at_hand(file: Path | None) -> ProjectFile | None:
    """Return the project file that was named, else the working folder's, if any; SettingsError if broken."""
    if file is not None:
        return read_project(file)
    return read_project(Path(PROJECT)) if Path(PROJECT).is_file() else None


def read_project(file: Path, kind: str = "project file") -> ProjectFile:
    """Read settings, whose values are checked elsewhere; SettingsError if the file is not of its form."""
    try:
        values = read_toml(file)
    except (OSError, DocumentError) as error:
        fault = f"{error.strerror}; give a TOML file" if isinstance(error, OSError) else error
        raise SettingsError(f"{kind} {file}: {fault}") from error
    where = f"{kind} {file}"

    def section_of(name: str, kind: type, form: str) -> dict[str, Any]:
        own = values.pop(name, {})
        if not isinstance(own, dict) or not all(isinstance(one, kind) for one in own.values()):
            raise SettingsError(f"{where}: {name} {form}")
        return own

    form = f'needs a section for each table, such as [{COLUMNS}.searches] with search_id = "request_id"'
    columns = pairs_of(section_of(COLUMNS, dict, form))
    form = f'must be a section, such as [{INPUTS}] with searches = "logs/searches"'
    inputs = _inputs(section_of(INPUTS, object, form), where)
    form = f'must be a section of kinds, such as [{OUTCOMES}] with stars = "rating"'
    kinds = pairs_of(section_of(OUTCOMES, str, form))
    form = f'needs a section for each test, such as [{TESTS}.new_ranker] with control = "old"'
    tests = pairs_of(section_of(TESTS, dict, form))
    try:
        declared_tests(tests)
    except ValueError as error:
        raise SettingsError(f"{where}: [{TESTS}]: {error}") from error
    places = {name: _text(values.pop(name), name, where) for name in _PLACES if name in values}
    for name, place in places.items():
        if "{" in place.replace(_DATE, "" if name == "out" else _DATE):
            raise SettingsError(
                f'{where}: {name} = "{place}"; braces may contain only {_DATE}, and only in out'
            )
    rules = values.pop("rules", [])
    if not isinstance(rules, list) or not all(isinstance(rule, str) for rule in rules):
        raise SettingsError(f'{where}: rules must be a list of texts, such as rules = ["coverage >= 0.8"]')
    section = next((name for name, value in values.items() if isinstance(value, dict)), None)
    if section is not None:
        raise SettingsError(
            f"{where}: section [{section}]; settings stand without sections, but for [{INPUTS}] and "
            f"[{COLUMNS}.searches] and the like for other tables, [{OUTCOMES}] and [{TESTS}.NAME]"
        )
    named = {name.replace("-", "_"): value for name, value in values.items()}
    if len(named) < len(values):
        twice = next(name for name in values if "-" in name and name.replace("-", "_") in values)
        raise SettingsError(f"{where}: {twice} occurs twice, with - and with _; give it once")
    of_sections = (("column", columns), ("outcome_kind", kinds), ("test", tests))
    more = {name: own for name, own in of_sections if own}
    settings = named | {name: [*named.get(name, []), *own] for name, own in more.items()}
    return ProjectFile(file, settings, inputs, places.get("out", ""), places.get("store", ""), tuple(rules))


def pairs_of(given: Mapping[Any, Any]) -> list[str]:
    """Return texts such as ``searches.query=q`` of a dict, whose values may be dicts."""
    return [
        f"{name}{'.' if isinstance(value, Mapping) else '='}{rest}"
        for name, value in given.items()
        for rest in (pairs_of(value) if isinstance(value, Mapping) else [value])
    ]


def _inputs(section: Mapping[str, object], where: str) -> dict[str, str]:
    named = {name.replace("-", "_"): value for name, value in section.items()}
    unknown = next((name for name in named if name not in INPUT_NAMES), None)
    if unknown is not None:
        raise SettingsError(f"{where}: unknown input {unknown}; {did_you_mean(unknown, INPUT_NAMES)}")
    return {name: _text(value, name, where) for name, value in named.items()}


def _text(value: object, name: str, where: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise SettingsError(f"{where}: {name} must be a text: a file, a folder or a glob in quotes")
    return value
