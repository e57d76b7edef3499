"""Two finished runs read back: their tables, and what differs in inputs, settings and versions."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from clickassay.core.contracts.correlation import COMPARISONS, CORRELATIONS, DIFFERENCES
from clickassay.core.contracts.run import STATISTICS
from clickassay.core.text.words import plural, visible
from clickassay.findings.decision import Kind
from clickassay.findings.run import Run, broken, run_at
from clickassay.inputs.sources.fingerprint import recorded_digest

SAME, CHANGED, ONLY_A, ONLY_B = "same", "changed", "only in A", "only in B"
"""States of an entry that two runs may have."""

INPUT, SETTING, VERSION, OTHER = "input", "setting", "version", "record"
"""Kinds of entries in the record of a run."""

_OTHER = ("stored_depth", "has_navigational", "skipped_attributes", "outcome_values", "notes")
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
    """Return a run, or read its folder, and check the compared tables; ReportError names a broken file."""
    run = run_at(place)
    for contract in (STATISTICS, CORRELATIONS, DIFFERENCES, COMPARISONS):
        frame = run.tables[contract.name]
        holes = [name for name in contract.key if frame[name].has_nulls()]
        if holes:
            raise broken(run.file(contract.name), f"null in {', '.join(holes)}")
        value = {"correlations": "correlation", "differences": "exact"}.get(contract.name)
        if value is not None and (frame[value].abs() > 1).any():
            raise broken(run.file(contract.name), f"{value} outside -1..1")
    unknown = set(run.tables["verdict"]["decision"]) - set(get_args(Kind))
    if unknown:
        raise broken(run.file("verdict"), f"decision {visible(unknown.pop())} is unknown")
    return run


def entries(a: Run, b: Run) -> tuple[RecordedPair, ...]:
    """Compare records of two runs but commands: all inputs, also equal ones, and what else differs."""
    found = []
    for kind, of_a, of_b in zip((INPUT, SETTING, VERSION, OTHER), _records(a), _records(b), strict=True):
        # the package before the libraries
        for name in sorted({*of_a, *of_b}, key=lambda name: (name != "clickassay", name)):
            texts = [_words(kind, own[name]) if name in own else None for own in (of_a, of_b)]
            if name not in of_b:
                status = ONLY_A
            elif name not in of_a:
                status = ONLY_B
            else:
                status = SAME if _identity(kind, of_a[name]) == _identity(kind, of_b[name]) else CHANGED
            if kind == INPUT or status != SAME:
                found.append(RecordedPair(kind, name, status, *texts))
    return tuple(found)


def _records(run: Run) -> tuple[Mapping[str, Any], ...]:
    info = run.info
    asked = {name: value for name, value in info["settings"].items() if name != "clock"}
    return info["inputs"], asked, info["versions"], {name: info[name] for name in _OTHER if name in info}


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
    files, size = (
        plural(number, noun) if isinstance(number, int) else f"{number} {noun}s"
        for noun, number in (("file", value.get("files")), ("byte", value.get("bytes")))
    )
    kind, _, digest = str(recorded_digest(value)).partition(":")
    return f"{some}: {files}, {size}, {kind} {digest[:_HANDLE]}"
