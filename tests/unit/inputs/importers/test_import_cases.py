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
from clickassay.inputs.importers.judgments import RatingOptions, import_judgments
from clickassay.inputs.importers.letor import import_letor
from clickassay.inputs.importers.pyclick import import_pyclick
from clickassay.inputs.importers.ratings import ReadOptions
from clickassay.inputs.importers.tiangong_st import import_tiangong_st
from clickassay.inputs.importers.trec_session import import_trec_session
from clickassay.inputs.importers.ubi import import_ubi
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


def _judgments(*files: Path, out: Path, read_options=None, rating_options=None, query_map=None) -> Imported:
    given = (read_options or {}).items()
    reading = ReadOptions(
        **{name: tuple(value) if isinstance(value, list) else value for name, value in given}
    )
    rating = RatingOptions(**(rating_options or {}), query_map=query_map)
    return import_judgments(files, out=out, read_options=reading, rating_options=rating)


def _ubi(*files: Path, out: Path, **options: Any) -> Imported:
    return import_ubi(files, out=out, **options)


IMPORTERS = {
    "baidu_ultr": (import_baidu_ultr, {"judgments": "labels.txt"}),
    "judgments": (_judgments, {"query_map": "topics.tsv"}),
    "letor": (import_letor, {"sizes": "sizes.txt"}),
    "pyclick": (import_pyclick, {}),
    "tiangong_st": (import_tiangong_st, {"judgments": "labels.txt"}),
    "trec_session": (lambda qrels, xml, out: import_trec_session(xml, qrels, out=out), {}),
    "yahoo_l18": (import_yahoo_l18, {"judgments": "judgments.txt"}),
    "ubi": (_ubi, {}),
    "yandex": (import_yandex, {"judgments": "judgments.tsv", "query_map": "map.tsv"}),
}
"""What imports a case, whose folder lies in one of this name, and its options that are files.

All other files of a case are its logs, in the order of their names.
"""


def _run(case: Path, out: Path) -> Imported:
    read, optional = IMPORTERS[case.parent.name]
    given = {option: case / name for option, name in optional.items() if (case / name).exists()}
    asides = {*given.values(), case / "expected.json", case / "options.json"}
    logs = sorted(file for file in case.iterdir() if file not in asides)
    return read(*logs, **given, out=out, **_read(case, "options.json"))


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


@pytest.mark.parametrize("case", GOOD, ids=_named)
def test_a_foreign_log_becomes_the_expected_tables_and_all_is_counted_and_recorded(case, tmp_path):
    imported, expected = _run(case, tmp_path / "out"), _read(case, "expected.json")
    for table in ("searches", "clicks", "judgments"):
        assert _rows(tmp_path / "out", table) == expected[table]
    assert _rows(tmp_path / "out", "outcomes") == expected.get("outcomes")
    assert {name: count for name, count in imported.counts.items() if count} == expected["counts"]
    for part in expected["notes_say"]:
        assert part in " ".join(imported.notes)
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
