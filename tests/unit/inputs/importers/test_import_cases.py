"""Every folder ``cases/<importer>/<idea>`` is one foreign log and what must come of it, worked by hand.

It holds the inputs, perhaps ``options.json``, and ``expected.json``: tables, and all counts that are not 0.
``cases/<importer>/refusals.toml`` has what the importer refuses: files, and what the message says.
"""

import json
import tomllib
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from clickassay.core import errors
from clickassay.inputs.importers.baidu_ultr import import_baidu_ultr
from clickassay.inputs.importers.base import Imported
from clickassay.inputs.importers.judgments.files import HowToRead
from clickassay.inputs.importers.judgments.importer import Choices, import_judgments
from clickassay.inputs.importers.letor import import_letor
from clickassay.inputs.importers.pyclick import import_pyclick
from clickassay.inputs.importers.tiangong_st import import_tiangong_st
from clickassay.inputs.importers.trec_session import import_trec_session
from clickassay.inputs.importers.ubi.importer import import_ubi
from clickassay.inputs.importers.yahoo_l18 import import_yahoo_l18
from clickassay.inputs.importers.yandex import import_yandex
from support.places import IMPORTED

GOOD = sorted(path for path in IMPORTED.glob("*/*") if path.is_dir())
REFUSED = [
    pytest.param(file.parent.name, refusal, id=f"{file.parent.name}-{name}")
    for file in sorted(IMPORTED.glob("*/refusals.toml"))
    for name, refusal in tomllib.loads(file.read_text(encoding="utf-8")).items()
]


def _read(case: Path, name: str) -> dict[str, Any]:
    file = case / name
    return json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}


def _optional(case: Path, name: str) -> Path | None:
    return case / name if (case / name).exists() else None


def _yandex(case: Path, out: Path) -> Imported:
    optional = {"judgments": case / "judgments.tsv", "query_map": case / "map.tsv"}
    given = {name: file for name, file in optional.items() if file.exists()}
    return import_yandex(case / "log.tsv", **given, out=out, **_read(case, "options.json"))


def _trec_session(case: Path, out: Path) -> Imported:
    return import_trec_session(case / "sessions.xml", case / "qrels.txt", out=out)


def _yahoo_l18(case: Path, out: Path) -> Imported:
    return import_yahoo_l18(case / "log.txt", judgments=_optional(case, "judgments.txt"), out=out)


def _tiangong_st(case: Path, out: Path) -> Imported:
    labels = _optional(case, "labels.txt")
    return import_tiangong_st(case / "sessions.xml", labels=labels, out=out, **_read(case, "options.json"))


def _baidu_ultr(case: Path, out: Path) -> Imported:
    return import_baidu_ultr(case / "part.txt", labels=_optional(case, "labels.txt"), out=out)


def _pyclick(case: Path, out: Path) -> Imported:
    return import_pyclick(case / "pages.txt", out=out)


def _letor(case: Path, out: Path) -> Imported:
    return import_letor(case / "file.txt", sizes=_optional(case, "sizes.txt"), out=out)


def _judgments(case: Path, out: Path) -> Imported:
    asides = ("expected.json", "options.json", "topics.tsv")
    files = sorted(file for file in case.iterdir() if file.name not in asides)
    options = _read(case, "options.json")
    how = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in options.get("how", {}).items()
    }
    topics = case / "topics.tsv" if (case / "topics.tsv").exists() else None
    choices = Choices(**options.get("choices", {}), topics=topics)
    return import_judgments(files, out=out, how=HowToRead(**how), choices=choices)


def _ubi(case: Path, out: Path) -> Imported:
    files = sorted(file for file in case.iterdir() if file.suffix != ".json")
    return import_ubi(files, out=out, **_read(case, "options.json"))


IMPORTERS = {
    "baidu_ultr": _baidu_ultr,
    "judgments": _judgments,
    "letor": _letor,
    "pyclick": _pyclick,
    "tiangong_st": _tiangong_st,
    "trec_session": _trec_session,
    "yahoo_l18": _yahoo_l18,
    "ubi": _ubi,
    "yandex": _yandex,
}
"""How the files of a case are given to its importer; its cases lie in a folder of its name."""


def _run(case: Path, out: Path) -> Imported:
    return IMPORTERS[case.parent.name](case, out)


def _named(case: Path) -> str:
    return f"{case.parent.name}-{case.name}"


def _rows(folder: Path, table: str) -> list[dict[str, Any]] | None:
    file = folder / f"{table}.parquet"
    if not file.exists():
        return None
    frame = pl.read_parquet(file)
    if "timestamp" in frame.columns:
        assert frame.schema["timestamp"] == pl.Datetime("ms", "UTC")
        frame = frame.with_columns(pl.col("timestamp").dt.to_string("%Y-%m-%dT%H:%M:%S%.3f"))
    return frame.to_dicts()


def test_there_are_cases_of_every_importer():
    for importer in IMPORTERS:
        assert any(case.parent.name == importer for case in GOOD)
        assert (IMPORTED / importer / "refusals.toml").is_file()


@pytest.mark.parametrize("table", ["searches", "clicks", "judgments"])
@pytest.mark.parametrize("case", GOOD, ids=_named)
def test_a_foreign_log_becomes_the_expected_table(case, table, tmp_path):
    _run(case, tmp_path / "out")
    assert _rows(tmp_path / "out", table) == _read(case, "expected.json")[table]


@pytest.mark.parametrize("case", GOOD, ids=_named)
def test_everything_read_dropped_or_changed_is_counted(case, tmp_path):
    imported = _run(case, tmp_path / "out")
    expected = _read(case, "expected.json")
    assert {name: count for name, count in imported.counts.items() if count} == expected["counts"]
    for part in expected["notes_say"]:
        assert part in " ".join(imported.notes)


@pytest.mark.parametrize("case", GOOD, ids=_named)
def test_import_json_holds_the_counts_and_notes_that_are_returned(case, tmp_path):
    imported = _run(case, tmp_path / "out")
    record = json.loads((tmp_path / "out" / "import.json").read_text(encoding="utf-8"))
    assert imported.folder == tmp_path / "out"
    assert record["counts"] == imported.counts
    assert record["notes"] == list(imported.notes)
    assert {file["name"] for file in record["inputs"].values()} == {
        file.name for file in case.iterdir() if file.suffix != ".json"
    }


def _written(refusal: dict[str, Any], folder: Path) -> Path:
    """Write the files of a refusal as the folder of a case."""
    folder.mkdir(parents=True)
    for name, text in refusal.get("files", {}).items():
        (folder / name).write_bytes(text.encode("utf-8"))
    for name, digits in refusal.get("hex", {}).items():
        (folder / name).write_bytes(bytes.fromhex(digits))
    if "options" in refusal:
        (folder / "options.json").write_text(json.dumps(refusal["options"]), encoding="utf-8")
    return folder


@pytest.mark.parametrize(("importer", "refusal"), REFUSED)
def test_a_broken_file_is_refused_with_what_was_found_and_nothing_is_left_behind(importer, refusal, tmp_path):
    case = _written(refusal, tmp_path / importer / "case")
    place = tmp_path / "place"
    place.mkdir()
    with pytest.raises(getattr(errors, refusal.get("error", "InputError"))) as caught:
        _run(case, place / "out")
    for part in refusal["says"]:
        assert part in str(caught.value)
    assert "\n" not in str(caught.value)
    assert list(place.iterdir()) == []
