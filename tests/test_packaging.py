"""What is built and installed works away from the checkout.

The wheel is installed into a virtual environment of its own, which borrows the libraries of the one that
runs the tests.
"""

import email
import os
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path

import polars as pl
import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def run(*command, cwd):
    """Run a command without PYTHONPATH; return what it prints."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "COV_"))}
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def sources(folder, *endings):
    """Return the files below a folder of the checkout, by their paths from the folder's parent."""
    files = (
        path for path in (ROOT / folder).rglob("*") if path.is_file() and "__pycache__" not in path.parts
    )
    kept = (path for path in files if not endings or path.suffix in endings)
    return {path.relative_to(ROOT).as_posix() for path in kept if not path.name.startswith(".")}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Build the wheel of the checkout."""
    place = tmp_path_factory.mktemp("wheel")
    options = ("--quiet", "--no-deps", "--no-build-isolation", "--disable-pip-version-check")
    run(sys.executable, "-m", "pip", "wheel", *options, "--wheel-dir", place, ROOT, cwd=place)
    (file,) = place.glob("*.whl")
    return file


@pytest.fixture(scope="module")
def sdist(tmp_path_factory):
    """Build the source distribution of the checkout."""
    place = tmp_path_factory.mktemp("sdist")
    run(sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", place, cwd=ROOT)
    (file,) = place.glob("*.tar.gz")
    return file


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """Install the wheel into an environment of its own; return its folder of programs."""
    place = tmp_path_factory.mktemp("installed") / "venv"
    venv.create(place, with_pip=False, symlinks=True)
    python = place / "bin" / "python"
    own = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=place).strip())
    (own / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    options = ("--quiet", "--no-deps", "--no-index", "--ignore-installed", "--disable-pip-version-check")
    run(sys.executable, "-m", "pip", "--python", python, "install", *options, wheel, cwd=place)
    return place / "bin"


@pytest.fixture
def elsewhere(tmp_path):
    """Return a working directory that is not the checkout."""
    place = tmp_path / "foreign folder"
    place.mkdir()
    return place


# ---- what is in it ----------------------------------------------------------------------------


def test_the_wheel_holds_the_package_its_templates_and_the_sql_and_nothing_else(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    packed = {name for name in names if ".dist-info/" not in name}
    sql = {f"pipeline/{name}" for name in sources("sql", ".sql")}
    assert (
        packed - {f"pipeline/sql/{name}" for name in (".sqlfluff", ".sqlfluffignore")}
        == sources("pipeline") | sql
    )
    assert "pipeline/py.typed" in packed
    assert len(sql) > 50
    assert {"pipeline/report/templates/report.html.j2", "pipeline/report/templates/report.md.j2"} <= packed


def test_the_wheel_states_name_command_and_needs(wheel):
    archive = zipfile.ZipFile(wheel)
    (info,) = {name.split("/")[0] for name in archive.namelist() if ".dist-info/" in name}
    metadata = email.message_from_bytes(archive.read(f"{info}/METADATA"))
    assert (metadata["Name"], metadata["Version"]) == ("clickassay", PROJECT["version"])
    assert metadata["Requires-Python"] == ">=3.11"
    assert metadata.get_payload().strip()  # the README
    needed = {need for need in metadata.get_all("Requires-Dist") if "extra ==" not in need}
    assert needed == set(PROJECT["dependencies"])
    assert archive.read(f"{info}/entry_points.txt").decode().split() == [
        "[console_scripts]", "clickassay", "=", "pipeline.cli:main",
    ]  # fmt: skip


def test_a_wheel_built_again_has_the_same_bytes(wheel, tmp_path):
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path, cwd=ROOT)
    assert (tmp_path / wheel.name).read_bytes() == wheel.read_bytes()


def test_the_source_distribution_holds_what_the_wheel_is_built_of(sdist):
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert sources("pipeline") | sources("sql", ".sql") | {"pyproject.toml", "README.md"} <= names
    assert [
        name for name in names if name.startswith(("tests", "benchmarks", "data_samples", "reports"))
    ] == []


# ---- what it does -----------------------------------------------------------------------------


def test_the_installed_package_is_not_the_checkout(installed, elsewhere):
    place = Path(
        run(installed / "python", "-c", "import pipeline; print(pipeline.__file__)", cwd=elsewhere).strip()
    )
    assert place.is_relative_to(installed.parent)
    assert not place.is_relative_to(ROOT)


def test_the_installed_command_tells_the_version_of_the_project(installed, elsewhere):
    assert run(installed / "clickassay", "--version", cwd=elsewhere) == f"clickassay {PROJECT['version']}\n"


def test_the_installed_command_goes_from_simulation_to_report_and_question(installed, elsewhere):
    clickassay = installed / "clickassay"
    run(
        clickassay,
        "simulate",
        "--world",
        "cascade",
        "--searches",
        500,
        "--queries",
        5,
        "--out",
        "log",
        cwd=elsewhere,
    )
    inputs = [
        part
        for name in ("searches", "clicks", "judgments", "queries")
        for part in (f"--{name}", f"log/{name}.parquet")
    ]
    quick = ("--depth", 5, "--iterations", 20)
    printed = run(clickassay, "run", *inputs, *quick, "--out", "reports/first", cwd=elsewhere)
    assert printed.startswith("Report: reports/first/report.html\n1. ")
    assert "<html" in (elsewhere / "reports" / "first" / "report.html").read_text(encoding="utf-8")
    assert pl.read_parquet(elsewhere / "reports" / "first" / "statistics.parquet")[
        "n_sessions"
    ].to_list() == [500]
    answered = run(clickassay, "query", "reports/first", "--name", "coverage", "--csv", cwd=elsewhere)
    assert len(answered.splitlines()) == 2
