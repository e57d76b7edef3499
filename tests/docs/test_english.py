"""Sentences that people read use the field's words: a table of habits, and what to say instead."""

import ast
import re

import pytest

from support.places import ROOT, tracked

PACKAGE = ROOT / "pipeline" / "clickassay"
API = re.compile(r"api/(?!screen/)|cli/commands/|measures\.py")
"""Modules whose docstrings users read: `help(clickassay.run)`, `clickassay run --help`."""

INSTEAD = {
    r"interval for all at once": "simultaneous 95% CI",
    r"hold for all (rows )?at once": "are simultaneous",
    r"(beyond|within|below|above) noise": "significant / not significant",
    r"significantly below none": "not significantly worse than any",
    r"counts? as none": "is treated as negligible",
    r"(is|are) no finding|no fault found": "passed",
    r"cannot say": "inconclusive",
    r"could not speak": "skipped",
    r"grade of the first result alone": "top result's grade",
    r"relevance of the first result alone": "top result relevant",
    r"(left|leave|leaves|leaving) (it |them )?out\b": "exclude",
    r"delivered (again|twice)": "duplicate",
    r"\belsewhere\b": "outside the top k",
    r"foreign": "other tools",
    r"heavy-tailed": "a few queries dominate",
    r"(together|combined), depth \d": "top 5",
    r"\d\s%": "95%, without a blank",
    r"(does|do) not contradict": "does not confirm, or is not significant",
    r"editorial (click )?metric": "offline metric",
    r"(taken|takes?|taking) (it |them )?for\b": "treat as, count as",
    r"ratings that are none|\bis no (table|number|limit|whole|grade)\b": "is not a …",
    r"leads? no\b": "cannot be the headline",
    r"\b(better|worse|decided?|best) by (MeanRR|UCTR|clicks|judge)\b": "on clicks, with the grades of",
    r"appears? whole|or not at all": "written atomically",
    r"not to be relied on|do not rely on": "unreliable, may be too narrow",
    r"\bnothing is better\b|\bnothing by\b": "no metric is",
    r"are of no use": "too small to matter",
    r"is the bound of": "the upper limit comes from",
    r"\bis lower by\b|\bis higher by\b": "is 0.06 lower",
    r"holds? neither": "contains no",
    r"write \w+ alike|written alike|name \w+ alike": "the same way",
    r"called otherwise|call otherwise": "named differently",
    r"findings? of health|health findings?": "data checks",
}
"""Pattern of a habit, and what the house says instead."""

HABIT = re.compile("|".join(INSTEAD))
VALUES = re.compile(
    r"left out|elsewhere|of no use|delivered again|(reversed, )?within noise|"
    r"means of editorial metrics|(no longer )?beyond noise( now)?|queries( and users)? left out|cannot say"
)
"""Values of columns of tables: they are names, and keep their spelling."""

EXCEPT = {
    # values of a column, listed in its meaning
    ("pipeline/clickassay/core/contracts/conventions.py", "beyond noise"),
    ("pipeline/clickassay/core/contracts/conventions.py", "within noise"),
    # names of numbers in a sentence with blanks
    ("pipeline/clickassay/health/checks.py", "elsewhere"),
    # names of counts of a simulated log
    ("pipeline/clickassay/inputs/simulate/rows.py", "delivered again"),
    # the name of the paper's word, linked to the meaning of ours
    ("pipeline/clickassay/report/glossary.toml", "editorial metric"),
    # values of columns: equations of the funnel, lists of steps, output of a run
    ("docs/reference/funnel.md", "left out"),
    ("docs/reference/funnel.md", "elsewhere"),
    ("docs/reference/diff.md", "left out"),
    ("docs/how-to/own-log-format.md", "elsewhere"),
    ("docs/reference/formats.md", "elsewhere"),
    ("docs/tutorial.md", "delivered again"),
    # tools beside this one: "the same metric elsewhere"
    ("docs/reference/tables.md", "elsewhere"),
}
"""What may stay in a file: its path and the words."""

OF_RUNS = ("docs/sample/", "docs/make/")
"""What is copied from a run: its words are those of the package. And scripts."""


def strings(path):
    """Yield the line and text of each string of a module that people may read; a value is ``{}``."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):  # breadth first: whoever holds a string comes before it
        if isinstance(node, ast.Expr):
            node.value.seen = True
        if isinstance(node, ast.FunctionDef) and API.match(path.relative_to(PACKAGE).as_posix()):
            yield node.lineno, "" if node.name.startswith("_") else ast.get_docstring(node) or ""
        if isinstance(node, ast.JoinedStr):
            parts = [part.value if isinstance(part, ast.Constant) else "{}" for part in node.values]
            yield node.lineno, "".join(parts)
            for part in node.values:
                part.seen = True
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and not hasattr(node, "seen"):
            yield node.lineno, node.value


def lines(path):
    """Yield the number and text of each line of a page, without code, and cells that are a value."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        words = re.sub(r"\{[%{].*?[%}]\}|`[^`]*`|https?:\S+", "{}", line)
        yield number, "|".join("" if VALUES.fullmatch(cell.strip()) else cell for cell in words.split("|"))


def files():
    """Return the files whose words people read."""
    names = [
        name
        for name in tracked()
        if name.startswith(("pipeline/clickassay/", "docs/")) or name == "README.md"
    ]
    return [
        ROOT / name
        for name in sorted(names)
        if name.endswith((".py", ".j2", ".md", "glossary.toml")) and not name.startswith(OF_RUNS)
    ]


def faults(path):
    """Return the habits of a file, each with its place and what to write."""
    name = path.relative_to(ROOT).as_posix()
    is_code = name.startswith("pipeline/") and path.suffix == ".py"
    return [
        f"{name}:{line}: {found.group()!r}: write {instead!r}"
        for line, text in (strings if is_code else lines)(path)
        if HABIT.search(text) and not VALUES.fullmatch(text)
        for pattern, instead in INSTEAD.items()
        for found in re.finditer(pattern, text)
        if (name, found.group()) not in EXCEPT
    ]


def test_what_people_read_has_the_words_of_the_field():
    read = files()
    assert len(read) > 300
    assert [fault for path in read for fault in faults(path)] == []


@pytest.mark.parametrize("text", ["interval for all at once", "it lies within noise", "95 % of them"])
def test_a_habit_is_found_in_strings_and_pages(text, monkeypatch, tmp_path):
    monkeypatch.setattr(f"{__name__}.ROOT", tmp_path)
    monkeypatch.setattr(f"{__name__}.PACKAGE", tmp_path / "pipeline" / "clickassay")
    for name, written in (("pipeline/clickassay/one.py", f'said = f"{text} {{1}}"'), ("docs/one.md", text)):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"\n{written}\n", encoding="utf-8")
        (fault,) = faults(tmp_path / name)
        assert fault.startswith(f"{name}:2: ")
