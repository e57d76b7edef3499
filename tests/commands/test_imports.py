"""Which libraries a command imports: those that it needs, so that it answers at once."""

import sys

import polars as pl
import pytest

from clickassay.cli.app import COMMANDS
from support.logs import tiny
from support.places import SAMPLES
from support.processes import ran

LOADED = """
import sys
from clickassay.cli.app import main
try:
    main()
finally:
    parts = {"scipy.stats", "numpy.random", "clickassay.core.settings"}
    print(*sorted({name.partition(".")[0] for name in sys.modules} | parts & set(sys.modules)))
"""
ARRAYS = {"numpy", "polars", "scipy", "duckdb", "pyarrow", "pandas"}
PAGES = {"jinja2", "vl_convert", "itables"}


def loaded_by(folder, *arguments):
    done = ran(sys.executable, "-c", LOADED, *map(str, arguments), cwd=folder)
    return set(done.stdout.splitlines()[-1].split())


@pytest.mark.parametrize("ids", [pl.Int64, pl.String])
def test_pandas_is_not_loaded_where_ids_have_nulls(tmp_path, ids):
    as_ids = pl.col("search_id").cast(ids)
    clicks = pl.concat([tiny.clicks().with_columns(as_ids), tiny.clicks()[:1].with_columns(search_id=None)])
    log = tiny.write_log(tmp_path, searches=tiny.searches().with_columns(as_ids), clicks=clicks)
    assert "pandas" not in loaded_by(tmp_path, *log.options("patterns"), "--max-rejected", "0.5")


HELPS = """
import contextlib, sys
from clickassay.cli.app import app
for words in {lines}:
    with contextlib.suppress(SystemExit):
        app(words)
    print("after", *words, *sorted({names} & set(sys.modules)))
"""


def test_help_needs_nothing_but_the_command_line_and_that_of_a_command_no_data(tmp_path):
    lines = [["--version"], ["--help"], *([name, "--help"] for name in COMMANDS)]
    code = HELPS.format(lines=lines, names=ARRAYS | PAGES | {"pydantic"})
    shown = ran(sys.executable, "-c", code, cwd=tmp_path).stdout.splitlines()
    after = [line.split()[1:] for line in shown if line.startswith("after ")]
    assert after[:2] == lines[:2]
    assert [loaded for loaded in after if (ARRAYS | PAGES) & set(loaded)] == []
    assert len(after) == len(lines)


def test_importing_the_package_needs_nothing(tmp_path):
    code = f"import clickassay, sys; print(*sorted(set(sys.modules) & {ARRAYS | PAGES | {'pydantic'}}))"
    assert ran(sys.executable, "-c", code, cwd=tmp_path).stdout.strip() == ""


def test_threads_are_those_of_polars_too_which_is_loaded_after_the_settings(tmp_path):
    code = "import polars; print(polars.thread_pool_size())"
    lines = LOADED.replace("    print", f"    {code}\n    print").splitlines()
    log = [f"--{name}={SAMPLES / name}.parquet" for name in ("searches", "clicks")]
    given = ["patterns", *log, "--threads=1", "--out=patterns", "--quiet"]
    done = ran(sys.executable, "-c", "\n".join(lines), *given, cwd=tmp_path)
    assert done.stdout.splitlines()[-2] == "1"


def test_an_evaluation_as_text_needs_no_page_no_database_and_no_distributions(tmp_path):
    (tmp_path / "qrels").write_text("q 0 a 1\nq 0 b 0\nr 0 a 1\n")
    (tmp_path / "ranking").write_text("q Q0 a 1 2 x\nq Q0 b 2 1 x\nr Q0 a 1 1 x\n")
    found = loaded_by(tmp_path, "evaluate", "qrels", "ranking")
    assert found & (PAGES | {"duckdb", "pyarrow", "pandas", "scipy.stats", "numpy.random"}) == set()


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("imports")
    files = [(f"--{name}", SAMPLES / f"{name}.parquet") for name in ("searches", "clicks", "judgments")]
    small = ("--depth", 3, "--iterations", 10, "--click-models", "none", "--quiet", "--out", folder / "run")
    found = loaded_by(folder, "run", *(part for pair in files for part in pair), *small)
    assert found & {"pandas", "itables", "scipy.stats"} == set()
    return folder / "run"


def test_a_question_needs_no_page_no_statistics_and_no_settings(run_folder):
    found = loaded_by(run_folder, "query", run_folder, "SELECT count(*) FROM configurations")
    assert found & (PAGES | {"scipy", "pandas", "numpy", "pyarrow", "clickassay.core.settings"}) == set()
