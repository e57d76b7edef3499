"""What holds for the folder of any importer, whatever the log."""

import hashlib
import json
import os
import shutil

import polars as pl
import pytest

from clickassay.core.errors import InputError, OutputError, SettingsError
from clickassay.inputs.importers.judgments import RatingOptions, import_judgments
from clickassay.inputs.importers.trec_session import import_trec_session
from clickassay.inputs.importers.yandex import import_yandex
from support.places import IMPORTED

LOG = IMPORTED / "yandex" / "clara" / "log.tsv"
JUDGMENTS = IMPORTED / "yandex" / "clara" / "judgments.tsv"


def test_a_missing_log_is_an_input_error_that_names_it(tmp_path):
    with pytest.raises(InputError, match=r"nowhere\.tsv"):
        import_yandex(tmp_path / "nowhere.tsv", out=tmp_path / "out")
    with pytest.raises(InputError, match=r"nowhere\.xml"):
        import_trec_session(tmp_path / "nowhere.xml", LOG, out=tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_given_as_log_is_an_input_error(tmp_path):
    with pytest.raises(InputError, match="directory"):
        import_yandex(IMPORTED, out=tmp_path / "out")


def test_the_same_log_gives_the_same_bytes(tmp_path):
    digests = []
    for name in ("one", "two"):
        import_yandex(LOG, judgments=JUDGMENTS, out=tmp_path / name)
        files = sorted((tmp_path / name).iterdir())
        assert len(files) == 4
        digests.append({file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files})
    assert digests[0] == digests[1]


@pytest.mark.slow
def test_a_log_longer_than_a_batch_keeps_every_row_and_reports_progress(tmp_path):
    lines = 250_000  # searches and clicks in turn: more than one batch of either
    log = tmp_path / "log.tsv"
    with log.open("w") as stream:
        for session in range(lines // 2):
            stream.write(f"{session}\t0\tQ\t7\t0\ta\tb\n{session}\t9\tC\tb\n")
    parts: list[float | None] = []
    imported = import_yandex(log, out=tmp_path / "out", progress=lambda event: parts.append(event.part))
    assert imported.counts["searches"] == imported.counts["clicks"] == lines // 2
    assert imported.counts["results_shown"] == lines
    assert parts == sorted(parts)
    assert len(parts) == 2
    assert all(part is not None and 0 < part <= 1 for part in parts)


def test_a_log_whose_name_is_no_text_is_taken_in_and_named(tmp_path):
    log = tmp_path / os.fsdecode(b"log\xff.tsv")
    shutil.copy(LOG, log)
    import_yandex(log, out=tmp_path / "out")
    record = json.loads((tmp_path / "out" / "import.json").read_text(encoding="utf-8"))
    assert record["inputs"]["log"]["name"] == log.name


def test_judgments_of_a_file_whose_name_is_no_text_are_of_a_judge_by_that_name_spelled_out(tmp_path):
    raters, plain = tmp_path / "raters.csv", tmp_path / os.fsdecode(b"plain\xff.csv")
    raters.write_text("query,url,grade,judge\nq,a,1,ann\n")
    plain.write_text("query,url,grade\nq,b,0\n")
    import_judgments([raters, plain], out=tmp_path / "out")
    judges = pl.read_parquet(tmp_path / "out" / "judgments.parquet")["judge"].to_list()
    assert judges == ["ann", "plain\\udcff"]
    with pytest.raises(SettingsError, match=r"--judge: found '.*udcff', expected a name in UTF-8"):
        import_judgments(
            [raters], out=tmp_path / "other", rating_options=RatingOptions(judges=(os.fsdecode(b"\xff"),))
        )


def test_a_folder_may_have_a_name_that_no_database_could_lie_in_but_must_be_text(tmp_path):
    import_yandex(LOG, out=tmp_path / "what?")
    assert (tmp_path / "what?" / "searches.parquet").is_file()
    with pytest.raises(OutputError, match="is not UTF-8; choose another --out"):
        import_yandex(LOG, out=tmp_path / os.fsdecode(b"out\xff"))
