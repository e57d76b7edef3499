"""Files read and written: broken documents, faults of the machine, SQL by name, and Ctrl-C meanwhile."""

import errno
import json
import os
import signal
import threading
import time
from pathlib import Path

import pytest
from pydantic import BaseModel

from clickassay.core.errors import MachineError, QueryError
from clickassay.core.files import documents
from clickassay.core.files.documents import DocumentError, check_form, read_json, read_toml
from clickassay.core.files.machine import refuse_machine_fault
from clickassay.core.files.sql import sql_names, sql_text
from clickassay.core.files.tables import interrupts_later
from support.places import ROOT

DEEP, LONG, DOTS = 100_000, 5_000, 50_000
BROKEN_TOML = {
    "not valid TOML": b"a = ",
    "no text": b"a = '\xff'",
    "zero byte": b"\x00",
    "nested lists": b"a = " + b"[" * 40_000,
    "nested tables": b"a = " + b"{a=" * 30_000,
    "a long number": b"a = " + b"9" * LONG,
    "a key of many parts": b".".join([b"a"] * DOTS) + b" = 1",
    "a head of many parts": b"[" + b".".join([b'"a"'] * 1_000) + b"]",
    "too long": b"#" * 100_001,
}
BROKEN_JSON = {
    "not valid JSON": b'{"a": ', "no text": b'{"a": "\xff"}', "nested lists": b'{"a": ' + b"[" * DEEP,
    "nested objects": b'{"a":' * DEEP, "a long number": b'{"a": ' + b"9" * LONG + b"}", "no object": b"[1]",
    "nothing": b"",
}  # fmt: skip


@pytest.mark.parametrize(
    ("read", "content"),
    [(read_toml, one) for one in BROKEN_TOML.values()] + [(read_json, one) for one in BROKEN_JSON.values()],
    ids=[*BROKEN_TOML, *(f"JSON: {name}" for name in BROKEN_JSON)],
)
def test_a_broken_document_is_one_kind_of_error_and_soon(tmp_path, read, content):
    file = tmp_path / "document"
    file.write_bytes(content)
    began = time.monotonic()
    with pytest.raises(DocumentError):
        read(file)
    assert time.monotonic() - began < 5


def test_json_has_a_limit_of_size_too(tmp_path, monkeypatch):
    monkeypatch.setattr(documents, "MOST_JSON_BYTES", 10)
    (tmp_path / "long.json").write_text('{"a": "0123456789"}')
    with pytest.raises(DocumentError, match="more than 10 bytes"):
        read_json(tmp_path / "long.json")


def test_a_file_that_is_missing_is_no_broken_document(tmp_path):
    for read in (read_toml, read_json):
        with pytest.raises(FileNotFoundError):
            read(tmp_path / "nowhere")


def test_a_mark_at_the_beginning_of_toml_is_skipped(tmp_path):
    (tmp_path / "a.toml").write_bytes(b"\xef\xbb\xbfa = [1, 2]")
    assert read_toml(tmp_path / "a.toml") == {"a": [1, 2]}


class Form(BaseModel):
    rows: int
    names: list[str]


def test_a_form_is_held_to_its_types_and_may_have_more():
    good = {"rows": 3, "names": ["a"], "more": None}
    assert check_form(good, Form) == good
    for odd, place in ((good | {"rows": "3"}, "rows: "), (good | {"names": ["a", 1]}, r"names\.1: ")):
        with pytest.raises(DocumentError, match=place):
            check_form(json.loads(json.dumps(odd)), Form)


PLACE = Path("store/000001/batch.json")


@pytest.mark.parametrize("number", [errno.EACCES, errno.EIO, errno.EMFILE, errno.ENOMEM, errno.ESTALE])
@pytest.mark.parametrize("told_by_polars", [False, True])
def test_the_system_is_named_and_nothing_is_called_broken(number, told_by_polars):
    error = OSError(f"reading failed (os error {number}): x") if told_by_polars else OSError(number, "x")
    with pytest.raises(MachineError, match=r"^cannot read store/000001/batch\.json: [^;]+; [^;]+$") as raised:
        refuse_machine_fault(PLACE, error)
    assert "broken" not in str(raised.value)


def test_a_cause_of_the_system_is_found():
    error = ValueError("a table could not be read")
    error.__cause__ = OSError(errno.EMFILE, "x")
    with pytest.raises(
        MachineError, match=r"Too many open files; raise the limit of open files \(`ulimit -n`\)"
    ):
        refuse_machine_fault(PLACE, error)


@pytest.mark.parametrize("error", [FileNotFoundError(errno.ENOENT, "x"), ValueError("not valid JSON")])
def test_a_fault_of_the_file_is_none_of_the_system(error):
    refuse_machine_fault(PLACE, error)


def test_the_text_of_a_name_is_that_of_its_file():
    for folder in ("questions/log", "steps/5_visits", "checks"):
        names = sql_names(folder)
        assert list(names) == sorted(file.stem for file in (ROOT / "sql" / folder).glob("*.sql"))
        for name in names:
            assert sql_text(f"{folder}/{name}") == (ROOT / "sql" / folder / f"{name}.sql").read_text("utf-8")


@pytest.mark.parametrize(
    "name", ["questions/log/../log/coverage", "coverage", "", "/questions/log/coverage", "questions/log/"]
)
def test_only_files_directly_in_a_folder_have_names(name):
    with pytest.raises(QueryError):
        sql_text(name)


@pytest.fixture
def heard():
    """Let Ctrl-C be heard, which is ignored where tests run in the background of a script."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("heard")
def test_an_interrupt_comes_after_the_block():
    done = []

    def work():
        with interrupts_later():
            os.kill(os.getpid(), signal.SIGINT)
            done.append(sum(range(1000)))  # Python looks for signals between its steps

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == [499_500]


def test_afterwards_an_interrupt_comes_at_once():
    before = signal.getsignal(signal.SIGINT)
    with interrupts_later():
        assert signal.getsignal(signal.SIGINT) is not before
    assert signal.getsignal(signal.SIGINT) is before


def test_an_error_of_the_block_is_the_error_seen():
    with pytest.raises(ZeroDivisionError), interrupts_later():
        raise ZeroDivisionError


def test_another_thread_is_not_disturbed():
    seen = []

    def work():
        with interrupts_later():
            seen.append(signal.getsignal(signal.SIGINT))

    usual = signal.getsignal(signal.SIGINT)
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [usual]
