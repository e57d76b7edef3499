"""Secrets of a command line are in nothing that it prints or writes."""

import json
import sys

import pytest

from clickassay.cli.console import say
from clickassay.cli.exit import command_line, run_command
from clickassay.cli.progress import shown_progress
from clickassay.core.errors import InputError
from clickassay.core.progress import Event
from support.logs import tiny

URL = "s3a://KEY:HUSH@bucket/log"
CONNECT = "sc://localhost:1/;token=HUSH"
USAGE = [(URL,), ("check", "run", URL), ("run", "--unjudged", URL), ("run", f"--{URL}")]


@pytest.mark.parametrize("arguments", USAGE, ids=lambda words: words[0])
def test_an_error_of_usage_repeats_no_secret(arguments):
    outcome = tiny.inside(*arguments)
    assert outcome.code == 2
    assert "HUSH" not in outcome.err
    assert "…@bucket" in outcome.err


def test_a_server_that_does_not_answer_is_named_without_its_token(tmp_path):
    log = tiny.write_log(tmp_path)
    line = tiny.one_line(tiny.inside(*log.options("patterns"), "--engine=spark", "--spark-remote", CONNECT))
    assert "HUSH" not in line
    assert "sc://localhost:1/;…" in line


def failing():
    raise InputError(f"{URL} does not exist")


def faulty():
    raise ZeroDivisionError(URL)


@pytest.mark.parametrize(("command", "code"), [(failing, 2), (faulty, 3)])
def test_refusals_and_tracebacks_have_no_secret(capsys, command, code):
    assert run_command(command) == code
    assert "HUSH" not in capsys.readouterr().err.replace('HUSH@bucket/log"', "")


def test_lines_and_notes_have_no_secret(capsys):
    say(f"Pattern table: {URL}")
    with shown_progress(quiet=False) as progress:
        progress(Event(f"reading {URL}", note=True))
    shown = capsys.readouterr()
    assert shown.out == "Pattern table: s3a://…@bucket/log\n"
    assert shown.err == "clickassay: reading s3a://…@bucket/log\n"


def test_the_command_that_a_run_keeps_has_no_secret(tmp_path, monkeypatch):
    log = tiny.write_log(tmp_path)
    monkeypatch.setattr(sys, "argv", ["clickassay", *log.options(), "--spark-remote", CONNECT, URL])
    told = "sc://localhost:1/;…"
    assert told in command_line()
    tiny.said_by(*log.options())
    kept = (log.out / "settings.json").read_text(encoding="utf-8")
    assert "HUSH" not in kept
    assert told in json.loads(kept)["command"]


def test_what_a_terminal_obeys_is_spelled_out_in_errors_of_usage_too():
    assert "\x1b" not in tiny.inside("run", "--depth", "\x1b[2J").err
