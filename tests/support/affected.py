"""The unit tests that a change may break, by imports: `make quick`.

Changed is what differs from the last commit, or, where nothing does, what that commit changed. A test is
affected when it imports, through whatever other modules, a module that changed, or a file beside it.
"""

import ast
import subprocess
import sys
from pathlib import Path

import grimp

ROOT = Path(__file__).resolve().parents[2]
TESTS, SOURCES = ROOT / "tests", ROOT / "pipeline"


def changed_files():
    if not (ROOT / ".git").exists():
        sys.exit("make quick needs a checkout of git, to know what changed; make check does not")

    def listed(*command):
        out = subprocess.run(["git", *command], cwd=ROOT, capture_output=True, text=True, check=True)
        return {Path(name) for name in out.stdout.splitlines()}

    now = listed("diff", "--name-only", "HEAD") | listed("ls-files", "--others", "--exclude-standard")
    return now or listed("diff", "--name-only", "HEAD~1", "HEAD")


def changed_modules(files, known):
    """Return the modules of changed files; of a data file those beside it, of SQL those that read it."""
    found = set()
    for file in files:
        if file.parts[:1] == ("sql",):
            found.add("clickassay.core.files.sql")
        if file.parts[:1] == ("pipeline",):
            dotted = ".".join(file.relative_to("pipeline").with_suffix("").parts).removesuffix(".__init__")
            beside = dotted.rpartition(".")[0].removesuffix(".templates")
            found |= {dotted} if file.suffix == ".py" else {name for name in known if name.startswith(beside)}
    return found & known


def imported(file):
    """Return the dotted names that a file imports, and those that they may be modules of."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            yield node.module
            yield from (f"{node.module}.{name.name}" for name in node.names)
        elif isinstance(node, ast.Import):
            yield from (name.name for name in node.names)


def affected(files):
    """Return the files of unit tests that changed files concern, from the root."""
    graph = grimp.build_graph("clickassay")
    changed = changed_modules(files, graph.modules)
    touched = changed.union(*(graph.find_downstream_modules(module) for module in changed))
    supports = {
        "support." + ".".join(p.relative_to(TESTS / "support").with_suffix("").parts): p
        for p in TESTS.glob("support/**/*.py")
    }
    touched |= {name for name, path in supports.items() if path.relative_to(ROOT) in files}
    while more := {name for name, path in supports.items() if touched.intersection(imported(path))} - touched:
        touched |= more
    if Path("tests/conftest.py") in files:
        return [Path("tests/unit")]
    tests = sorted(TESTS.glob("unit/**/test_*.py"))
    return [
        test.relative_to(ROOT)
        for test in tests
        if test.relative_to(ROOT) in files or touched.intersection(imported(test))
    ]


if __name__ == "__main__":
    sys.stdout.write(" ".join(map(str, affected(changed_files()))))
