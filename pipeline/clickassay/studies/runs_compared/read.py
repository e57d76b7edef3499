"""Two finished runs read back: their tables, and what differs in inputs, settings and versions."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from clickassay.core.contracts.correlation import COMPARISONS, CORRELATIONS, DIFFERENCES
from clickassay.core.contracts.form import Table
from clickassay.core.contracts.run import STATISTICS
from clickassay.core.text.words import plural, visible
from clickassay.findings.decision import Kind
from clickassay.findings.run import Run, broken, run_at
from clickassay.inputs.sources.fingerprint import recorded_digest

SAME, CHANGED, ONLY_A, ONLY_B = "same", "changed", "only in A", "only in B"
"""States of an entry that two runs may have."""

INPUT, SETTING, VERSION, OTHER = "input", "setting", "version", "record"
"""Kinds of entries in the record of a run."""

_TABLES = (STATISTICS, CORRELATIONS, DIFFERENCES, COMPARISONS)
_OTHER = ("stored_depth", "has_navigational", "skipped_attributes", "outcome_values", "notes")
_RANGES = {"correlations": "correlation", "differences": "exact"}
_HANDLE = 12  # digits of a digest that are shown


@dataclass(frozen=True)
class RecordedPair:
    """One input, setting, version or other record of two runs."""

    kind: str  # `INPUT`, `SETTING`, `VERSION` or `OTHER`.
    name: str  # e.g. ``searches``, ``relevant_grade``, ``polars``.
    status: str  # `SAME`, `CHANGED`, `ONLY_A` or `ONLY_B`.
    # a, b: Its values as JSON text, of an input in words; None where a run does not have it.
    a: str | None
    b: str | None


def read_for_comparison(place: Run | Path) -> Run:
    """Return a run, or read its folder, and check the tables that are compared.

    Raises ReportError if there is no run, or a file of it is missing or broken; the message names the file.
    """
    run = run_at(place)
    for contract in _TABLES:
        _check_values(run, contract)
    unknown = set(run.tables["verdict"]["decision"]) - set(get_args(Kind))
    if unknown:
        raise broken(run.file("verdict"), f"decision {visible(unknown.pop())} is none that is known")
    return run


def _check_values(run: Run, contract: Table) -> None:
    frame = run.tables[contract.name]
    holes = [name for name in contract.key if frame[name].has_nulls()]
    if holes:
        raise broken(run.file(contract.name), f"null in {', '.join(holes)}")
    value = _RANGES.get(contract.name)
    if value is not None and (frame[value].abs() > 1).any():
        raise broken(run.file(contract.name), f"{value} beyond -1..1")


def entries(a: Run, b: Run) -> tuple[RecordedPair, ...]:
    """Compare the records of two runs: inputs, settings, versions; the command is not compared.

    Returns all inputs, also equal ones; of the rest only what differs.
    """
    of_both = (
        (INPUT, a.info["inputs"], b.info["inputs"]),
        (SETTING, _asked(a.info), _asked(b.info)),
        (VERSION, a.info["versions"], b.info["versions"]),
        (OTHER, _chosen(a.info), _chosen(b.info)),
    )
    every = [
        _entry(kind, name, of_a, of_b)
        for kind, of_a, of_b in of_both
        for name in sorted({*of_a, *of_b}, key=_in_order)
    ]
    return tuple(entry for entry in every if entry.kind == INPUT or entry.status != SAME)


def _asked(info: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a run but for its clock, which no two runs share."""
    return {name: value for name, value in info["settings"].items() if name != "clock"}


def _chosen(info: Mapping[str, Any]) -> dict[str, Any]:
    return {name: info[name] for name in _OTHER if name in info}


def _in_order(name: str) -> tuple[bool, str]:
    return name != "clickassay", name  # the package before the libraries


def _entry(kind: str, name: str, of_a: Mapping[str, Any], of_b: Mapping[str, Any]) -> RecordedPair:
    texts = [_words(kind, own[name]) if name in own else None for own in (of_a, of_b)]
    if name not in of_b:
        status = ONLY_A
    elif name not in of_a:
        status = ONLY_B
    else:
        status = SAME if _identity(kind, of_a[name]) == _identity(kind, of_b[name]) else CHANGED
    return RecordedPair(kind, name, status, *texts)


def _identity(kind: str, value: object) -> str:
    """Return a text that is equal for equal values; a file with another name is the same input."""
    if kind == INPUT and isinstance(value, dict):
        value = [value.get("files"), value.get("bytes"), recorded_digest(value)]
    return json.dumps(value, sort_keys=True)


def _words(kind: str, value: object) -> str:
    if kind != INPUT or not isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False)
    names = value.get("names")
    some = ", ".join(dict.fromkeys(str(name) for name in names)) if isinstance(names, list) else ""
    files, size = (_count(value.get(name), name[:-1]) for name in ("files", "bytes"))
    kind, _, digest = str(recorded_digest(value)).partition(":")
    return f"{some}: {files}, {size}, {kind} {digest[:_HANDLE]}"


def _count(value: object, noun: str) -> str:
    return plural(value, noun) if isinstance(value, int) else f"{value} {noun}s"
