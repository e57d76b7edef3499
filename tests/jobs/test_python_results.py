"""Results of Python's functions: they print as the commands print, and are kept as they are."""

import importlib
import inspect
import pickle
import pkgutil
import subprocess
import sys
import threading

import numpy as np
import polars as pl
import pytest
import typer

import clickassay as ca
from clickassay.api.screen import progress
from clickassay.api.screen.python import FUNCTIONS, in_python
from clickassay.cli.app import COMMANDS
from clickassay.core.progress import Event
from clickassay.core.settings import SETTINGS
from support.logs import tiny
from support.places import ROOT, SAMPLE
from support.runs.sample_run import sample

OF_THE_SHELL = {
    "settings", "project", "json", "csv", "quiet", "list", "list_metrics", "per_query", "format", "database",
    "dry_run", "help",
}  # fmt: skip
"""Options that say how a command prints, or where its options come from."""

CALLED = {
    "qrels": "qrels", "rankings": "runs", "metric": "measures",  # of evaluate
    "run_folder": "run", "path": "path", "now": "now", "before": "before",
    "rule": "rules", "searches_sql": "searches", "clicks_sql": "clicks", "judgments_sql": "judgments",
    "queries_sql": "queries",
}  # fmt: skip
"""Options by the names of their keywords, where these differ."""

RULES = ["queries >= 50", "coverage >= 0.99", "correlation(ERR, MeanRR) >= 0"]


@pytest.fixture(scope="module")
def run():
    return ca.open_run(sample())


def results(run):
    yield "diff", ca.diff(run, sample(), metric="ERR"), ("diff", sample(), sample(), "--metric", "ERR")
    rules = [part for rule in RULES for part in ("--rule", rule)]
    yield "check", ca.check(run, RULES), ("check", sample(), *rules)
    yield "power", ca.power(run, difference=0.05), ("power", sample(), "--difference", "0.05")
    yield "learn", ca.learn(run, cv_folds=3, progress=False), ("learn", sample(), "--cv-folds", "3")
    past = ROOT / "data_samples" / "past_tests.csv"
    yield "experiments", ca.experiments(past, current="ERR"), ("experiments", past, "--current", "ERR")
    judged = SAMPLE["judgments"]
    audited = ca.audit(run, judged, value="0.46", progress=False)
    yield "audit", audited, ("audit", sample(), "--judgments", judged, "--value", "0.46")
    looked = ca.inspect(searches=SAMPLE["searches"], clicks=SAMPLE["clicks"], quick=True, progress=False)
    log = ("--searches", SAMPLE["searches"], "--clicks", SAMPLE["clicks"])
    yield "inspect", looked, ("inspect", *log, "--quick")
    listed = ca.audit_grades([3, None, 4, 0, 1], [4, 3, 2, 2, 1, 0], value="0.46")
    yield "list", listed, ("audit", "--grades", "3,-,4,0,1", "--others", "4,3,2,2,1,0", "--value", "0.46")


def test_results_print_as_the_commands_and_are_kept(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", tiny.WIDE)
    for name, found, command in results(run):
        said = in_python(tiny.inside(*command).out).splitlines()
        for line in filter(str.strip, repr(found).replace("\u2500", "").splitlines()):
            assert line.strip() in {one.strip() for one in said}, (name, line)
        page = found._repr_html_()
        assert page.startswith("<section>")
        assert "<script" not in page
        assert pickle.loads(pickle.dumps(found)) == found  # noqa: S301 - our own
        assert all(isinstance(frame, pl.DataFrame) for frame in found.tables.values())
        assert found != run
        with pytest.raises(TypeError):
            hash(found)


def test_every_option_of_a_command_is_a_keyword_of_its_function():
    for command, function in FUNCTIONS.items():
        taken = inspect.signature(getattr(ca, function)).parameters
        for option in options_of(command):
            name = CALLED.get(option, option) if command == "evaluate" or option != "metric" else option
            known = name in taken or name in {"grades", "others"} or option in OF_THE_SHELL
            of_grades = command == "audit" and option in inspect.signature(ca.audit_grades).parameters
            as_setting = "settings" in taken and option in SETTINGS
            assert known or of_grades or as_setting, (command, option)


def options_of(command):
    from clickassay.cli.app import app

    group = typer.main.get_command(app)
    with group.make_context("clickassay", [], resilient_parsing=True) as context:
        return [one.name for one in group.get_command(context, command).params]


def test_every_public_name_is_there_after_every_module_was_imported():
    """To import a subpackage puts it in the place of a function of its name."""
    for found in pkgutil.walk_packages(ca.__path__, "clickassay."):
        if "explorer" not in found.name and "spark" not in found.name and found.name != "clickassay.__main__":
            importlib.import_module(found.name)
    assert set(ca.__all__) <= set(dir(ca))
    for name in set(ca.__all__) - {"__version__"}:
        assert callable(getattr(ca, name)), name
        assert getattr(ca, name).__doc__
    assert COMMANDS.keys() >= FUNCTIONS.keys()


def test_a_pattern_table_gives_the_run_of_its_log(tmp_path):
    log, few = tiny.write_log(tmp_path), {"depth": [3], "click_models": "none", "clock": "2026-06-30"}
    run = ca.run(log.searches, log.clicks, log.judgments, **few, progress=False)
    table = ca.pattern_table(tiny.searches(), tiny.clicks(), depth=3, clock="2026-06-30", progress=False)
    asked = {"depth": [3], "click_models": "none", "progress": False}
    grown = ca.pattern_table(log.searches, log.clicks, store=tmp_path / "store", depth=3, clock="2026-06-30")
    written = ca.pattern_table(log.searches, log.clicks, out=tmp_path / "table", depth=3, clock="2026-06-30")
    saved = ca.open_patterns(table.save(tmp_path / "saved"))
    assert saved == table == written
    for one in (table, grown, written, saved):
        assert one.report(tiny.judgments(), **asked).correlations.equals(run.correlations)
        assert pickle.loads(pickle.dumps(one)) == one  # noqa: S301 - our own
    assert table.report(log.judgments, out=tmp_path / "run", **asked) == ca.open_run(tmp_path / "run")
    assert "1 batch added; 0 files already read" in repr(grown)
    assert '.open_patterns("' in repr(written)
    assert "in memory" in repr(table)
    with pytest.raises(ca.SettingsError, match="idle_minutes is fixed when the pattern table is built"):
        table.report(log.judgments, idle_minutes=3)
    with pytest.raises(AttributeError, match="a pattern table has no nothing"):
        table.nothing  # noqa: B018 - asked for on purpose


def test_a_run_is_written_where_it_is_asked_for_and_checked_before_the_work(tmp_path):
    log = tiny.write_log(tmp_path)
    more = {"depth": [3], "click_models": "none", "progress": False}
    found = ca.run(log.searches, log.clicks, log.judgments, out=tmp_path / "run", **more)
    assert found == ca.open_run(tmp_path / "run")
    assert found.query("SELECT count(*) AS n FROM funnel")["n"][0] == found.funnel.height
    with pytest.raises(ca.OutputError, match=r"choose another `out`, or replace it with `force=True`"):
        ca.run("missing", None, "missing", out=tmp_path / "run", **more)


def test_charts_by_their_names(run, tmp_path):
    for name in ("ranking", "within"):
        chart = run.chart(name)
        assert chart.svg.startswith("<svg")
        assert chart.title in chart._repr_html_()
        saved = chart.save(tmp_path / f"{name}.svg")
        assert saved.read_text(encoding="utf-8") == chart.svg
    with pytest.raises(ca.ReportError, match="no chart 'rankin'; did you mean ranking"):
        run.chart("rankin")


def test_no_error_sends_to_an_option(run, tmp_path):
    mistakes = [
        lambda: ca.run(tiny.searches(), None, tiny.judgments()),
        lambda: ca.run(tiny.searches(), tiny.clicks()),
        ca.inspect,
        lambda: ca.inspect(tmp_path, searches=tiny.searches()),
        lambda: ca.power(run, difference=3),
        lambda: ca.power(run, comparisons=0),
        lambda: ca.power(run, pair="ERR"),
        lambda: ca.learn(run, utilities=True, gamma=True),
        lambda: ca.learn(run, cv_folds=1),
        lambda: ca.diff(run, run, fail_above=3),
        lambda: ca.diff(run, run, beyond_noise=True),
        lambda: ca.diff(run, run, market="east"),
        lambda: ca.check(run, "coverage"),
        lambda: ca.audit_grades([9]),
        lambda: ca.audit(run, value="x"),
        lambda: ca.audit(run, click_metric="MeanR"),
        lambda: ca.open_run(tmp_path),
        lambda: ca.open_patterns(tmp_path).tables,
        lambda: ca.pattern_table(tiny.searches(), tiny.clicks(), out="a", store="b"),
        lambda: ca.pattern_table(tiny.searches(), tiny.clicks(), tiny.judgments()),
        lambda: ca.simulate(tmp_path / "log", 0),
        lambda: ca.evaluate({"q": {"a": 9}}, {"q": ["a"]}, "ERR"),
    ]
    for place, mistake in enumerate(mistakes):
        with pytest.raises(ca.ClickassayError) as refused:
            repr(mistake())
        assert "--" not in str(refused.value), (place, str(refused.value))
        assert "\n" not in str(refused.value)


def test_a_text_is_returned_and_not_shown_where_a_notebook_would_show_it(run, monkeypatch):
    text = repr(run)
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    assert repr(run) == text


def test_rankings_print_their_table():
    found = ca.evaluate({"q": {"a": 2, "b": 0}, "r": {"c": 1}}, {"q": ["b", "a"], "r": ["c"]}, "RR nDCG@2")
    assert found["RR"] == 0.75
    assert "Means over queries" in repr(found)
    assert "0.7500" in repr(found)
    assert "Evaluation(" not in repr(found)
    assert pickle.loads(pickle.dumps(found)) == found  # noqa: S301 - our own


@pytest.mark.parametrize(
    ("mistake", "message"),
    [
        (lambda run: ca.check(run, 3), "rules: found 3, expected a text, a list"),
        (lambda run: ca.check(run, []), "rules is empty; give a rule"),
        (lambda run: ca.check(None), "a run: found None, expected the result of `run`, or a folder"),
        (lambda run: ca.power(run, question="x"), "question: found 'x', expected 'rankings', "),
        (lambda run: ca.audit(run, value=0.46), "value: found 0.46, expected a text or None"),
        (lambda run: ca.audit_grades([1.5]), r"grades: found \[1.5\], expected a list"),
        (lambda run: ca.simulate("log", "many"), "n_searches: found 'many', expected a whole number"),
        (lambda run: run.chart(3), "name: found 3, expected a text"),
        (lambda run: ca.open_run(3), "folder: found 3, expected a text or a path"),
    ],
)
def test_an_argument_of_another_kind_is_named_in_a_line(run, mistake, message):
    with pytest.raises(ca.SettingsError, match=message):
        mistake(run)


def test_numbers_of_numpy_and_numbers_as_text_are_numbers(run):
    plain = ca.power(run, depth=5, difference=0.05)
    assert ca.power(run, depth=np.int64(5), difference=np.float64(0.05)) == plain
    assert ca.power(run, depth="5", difference=0.05) == plain


class Kernel:
    """An IPython shell in a notebook."""

    kernel = None


class Handle:
    def __init__(self, page):
        self.pages = [page]

    def update(self, page):
        self.pages.append(page)


def test_a_notebook_shows_one_line_that_is_gone_at_the_end(monkeypatch):
    shown = []

    def display(page, **_):
        shown.append(Handle(page))
        return shown[-1]

    module = type(sys)("IPython")
    module.get_ipython = Kernel
    module.display = type(sys)("IPython.display")
    module.display.display, module.display.HTML = display, str
    monkeypatch.setitem(sys.modules, "IPython", module)
    monkeypatch.setitem(sys.modules, "IPython.display", module.display)
    monkeypatch.setattr(progress, "_FIRST_SECONDS", 0)
    monkeypatch.setattr(progress, "_BETWEEN_SECONDS", 0)
    with progress.progress_of(True) as told:
        told(Event("reading <b>", 0.25))
        told(Event("counting", 0.5))
        told(Event("give --clicks", note=True))
    line, note = shown
    assert line.pages == [
        '<progress value="0.250"></progress> reading &lt;b&gt;',
        '<progress value="0.500"></progress> counting',
        "",
    ]
    assert note.pages == ["<p>give `clicks`</p>"]


def test_progress_is_told_to_a_function_or_to_nobody(capsys):
    events = []
    with progress.progress_of(events.append) as told:
        told(Event("reading"))
    assert [one.message for one in events] == ["reading"]
    for wanted in (True, False):
        with progress.progress_of(wanted) as told:
            told(Event("reading"))
            told(Event("a note", note=True))
    assert capsys.readouterr().err == "clickassay: a note\n"


def test_the_command_line_is_told_in_its_own_words():
    events = []
    for wanted in (events.append, progress.AsSaid(events.append)):
        with progress.progress_of(wanted) as told:
            told(Event("give --clicks"))
    assert [one.message for one in events] == ["give `clicks`", "give --clicks"]


def test_files_that_are_left_out_are_named_in_the_thread_that_reads_them(tmp_path):
    (tmp_path / "searches").mkdir()
    tiny.searches().write_parquet(tmp_path / "searches" / "a.parquet")
    (tmp_path / "searches" / "notes.txt").write_text("x")
    told, others = [], []
    with progress.files_told(others.append):
        thread = threading.Thread(
            target=lambda: ca.inspect(searches=str(tmp_path / "searches"), quick=True, progress=told.append)
        )
        thread.start()
        thread.join()
    (note,) = [event.message for event in told if event.note]
    assert "notes.txt" in note or "ignored: 1" in note
    assert others == []


INTERRUPTED = """
import os, signal, sys
import clickassay as ca

signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it

def told(event):
    if "{at}" in event.message:
        os.kill(os.getpid(), signal.SIGINT)

try:
    ca.run({inputs}, out="run", progress=told, engine="{engine}")
except KeyboardInterrupt:
    print("interrupted", sorted(os.listdir(".")))
"""


@pytest.mark.parametrize("engine", ["arrays", "duckdb"])
def test_an_interrupt_leaves_nothing(tmp_path, engine):
    inputs = ", ".join(repr(SAMPLE[name]) for name in ("searches", "clicks", "judgments"))
    code = INTERRUPTED.format(
        at="writing tables" if engine == "arrays" else "reading", inputs=inputs, engine=engine
    )
    done = subprocess.run(
        [sys.executable, "-c", code], check=False, cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert done.stdout == "interrupted []\n", done.stderr[-2000:]


def test_a_run_that_cannot_decide_shows_values_and_says_so():
    undecided = ca.run(
        tiny.searches(), tiny.clicks(), tiny.judgments(), depth=[3], click_models="none", progress=False
    )
    assert undecided.decision.kind == "cannot_decide"
    assert repr(undecided).startswith("This log cannot decide: ")
