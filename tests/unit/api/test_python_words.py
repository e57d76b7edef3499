"""What the command line says, in the words of Python."""

import ast
import inspect
import re

import pytest

import clickassay as ca
from clickassay.api.screen.python import FUNCTIONS, KEYWORDS, in_python, python_errors
from clickassay.core.errors import InputError
from clickassay.core.settings import SETTINGS
from support.places import ROOT

SAID = {
    "a run needs judgments: give --judgments": "a run needs judgments: give `judgments`",
    "more than --max-rejected allows; is": "more than `max_rejected` allows; is",
    "choose another --out, or replace it with --force":
        "choose another `out`, or replace it with `force=True`",
    "make the pattern table without --only-judged": "make the pattern table without `only_judged=True`",
    "make it with --folds 2 or more (16 by default)": "make it with `folds=2` or more (16 by default)",
    "audit a run with --unjudged drop or zero": 'audit a run with `unjudged="drop"` or zero',
    "as --time-zone Europe/Berlin; or so": "as `time_zone` Europe/Berlin; or so",
    "by --column searches.clicked=…": 'by `column="searches.clicked=…"`',
    'of a run: --metric "ERR(gains=\'0.1 0.2\')"': 'of a run: `metric="ERR(gains=\'0.1 0.2\')"`',
    "leave out --no-normalise-urls": "leave out `normalise_urls=False`",
    "give --database FILE.duckdb": "give a database to InputSql",
    "`clickassay patterns --out x` makes one": '`clickassay.pattern_table(out="x")` makes one',
    "again (`clickassay patterns --searches … --store NEW_FOLDER`)":
        "again (`clickassay.pattern_table(searches=…, store=NEW_FOLDER)`)",
    "Next: clickassay report --patterns june --judgments … --out …":
        'Next: `clickassay.open_patterns("june").report(judgments=…, out=…)`',
    "as a sheet: clickassay plan --run RUN --out SHEET":
        "as a sheet: `clickassay plan --run RUN --out SHEET` (on the command line)",
    "`clickassay store info x` shows all": "`clickassay store info x` (on the command line) shows all",
    "the words --of-nothing and -- stay": "the words --of-nothing and -- stay",
}  # fmt: skip


@pytest.mark.parametrize("text", SAID)
def test_options_become_keywords_and_commands_functions(text):
    assert in_python(text) == SAID[text]


def test_no_option_of_a_function_is_left_in_any_text_of_the_package():
    """Texts with options of commands that are functions: none keeps one, wherever it is said."""
    left = {}
    for file in (
        ROOT / "pipeline" / "clickassay" / part
        for part in ("patterns", "inputs", "judgments", "health", "jobs", "logs")
    ):
        for module in file.rglob("*.py"):
            for text in texts_of(module):
                told = re.sub(r"`clickassay [^`]*` \(on the command line\)", "", in_python(text))
                found = {one[2:].replace("-", "_") for one in re.findall(r"--[a-z][a-z-]+", told)}
                if found & SETTINGS.keys():
                    left[text] = found
    assert left == {}


def texts_of(module):
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and "--" in node.value:
            yield node.value


def test_errors_speak_of_keywords_and_an_interrupt_is_one():
    with pytest.raises(InputError, match="give `clicks`"), python_errors():
        raise InputError("give --clicks")
    with pytest.raises(KeyboardInterrupt), python_errors():
        raise RuntimeError("Query interrupted")
    with pytest.raises(RuntimeError, match="another"), python_errors():
        raise RuntimeError("another")


def test_functions_are_commands():
    from clickassay.cli.app import COMMANDS

    assert FUNCTIONS.keys() <= COMMANDS.keys()


def test_every_keyword_of_a_function_is_known_as_one():
    """Or its option would stay an option in messages."""
    named = {"run", "path", "before", "now", "qrels", "runs", "measures", "progress", "quick", "settings",
             "more"}  # fmt: skip
    for name in FUNCTIONS.values():
        taken = inspect.signature(getattr(ca, name)).parameters.keys() - named
        assert taken <= KEYWORDS | SETTINGS.keys(), name
