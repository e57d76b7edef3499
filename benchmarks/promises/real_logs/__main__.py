"""Import real logs, run them with default settings, and write the page about what came out.

    python -m benchmarks.promises.real_logs [--data ../shared/data] [--out reports/real-logs.md]

The logs are no part of this repository. A statement of the page that no longer holds stops the command.
"""

import argparse
import shlex
import tempfile
from pathlib import Path

from benchmarks.lib.measuring import ROOT, clickassay, measured
from benchmarks.promises.real_logs.page import Found, written

CLARA, TREC = "clara2_naver", "trec_session_2012_2013"
WIDTH = 110


def main() -> None:
    """Make the runs in a folder that is gone at the end, and write the page."""
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=form)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--out", type=Path, default=ROOT / "reports" / "real-logs.md")
    parser.add_argument("--runs", type=Path, help="a new folder in which the runs stay")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) if options.runs is None else options.runs
        place.mkdir(exist_ok=True)
        for words in (line for lines in commands(options.data.resolve()).values() for line in lines):
            measured(clickassay(*in_folder(words, place), "--quiet"))
        found = {name: Found(place / name, place / f"run_{name}") for name in commands(Path())}
        shown = "\n\n".join("\n".join(map(folded, lines)) for lines in commands(Path("data")).values())
        options.out.write_text(written(found, shown), encoding="utf-8")


def commands(data: Path) -> dict[str, list[list[str]]]:
    """Return the command lines of each log: import, groups where judgments are of topics, run."""
    clara, trec = data / CLARA, data / TREC
    names = ("SearchLog_beta", "QueryUrlRelevance_beta")
    log, labels = (str(clara / f"CLARA2{name}") for name in names)
    mapped = ["--query-map", str(clara / "derived_query_id_map.tsv")]
    found = {
        "clara2": [
            ["import", "yandex", log, "--judgments", labels, *mapped, "--out", "clara2"],
            [*run_of("clara2"), "--max-grade", "5", "--out", "run_clara2"],
        ]
    }
    for year in (2012, 2013):
        name, files = f"trec{year}", (trec / f"sessiontrack{year}.xml", trec / f"qrels{year}.txt")
        found[name] = [
            ["import", "trec-session", *map(str, files), "--out", name],
            ["groups", "--judgments", f"{name}/judgments.parquet", "--out", f"{name}/queries.parquet"],
            [*run_of(name), "--queries", f"{name}/queries.parquet", "--out", f"run_{name}"],
        ]
    return found


def run_of(name: str) -> list[str]:
    """Return the beginning of the command that runs an imported log."""
    tables = ("searches", "clicks", "judgments")
    return ["run", *(part for table in tables for part in (f"--{table}", f"{name}/{table}.parquet"))]


def in_folder(words: list[str], place: Path) -> list[str]:
    """Return a command line with its relative paths below a folder."""
    return [str(place / word) if word.startswith(("clara2", "trec2", "run_")) else word for word in words]


def folded(words: list[str]) -> str:
    """Return a command line as a document shows it, in lines that are not too long."""
    lines = ["    clickassay"]
    for word in map(shlex.quote, words):
        if len(lines[-1]) + len(word) > WIDTH:
            lines = [*lines[:-1], f"{lines[-1]} \\", "     "]
        lines[-1] += f" {word}"
    return "\n".join(lines)


if __name__ == "__main__":
    main()
