"""Run folders to compare, made from the sample log without a report; and the command that compares them."""

import json
import shutil
from functools import cache

import polars as pl

from clickassay.core.contracts.run import LAYOUT
from clickassay.core.files.tables import write_table
from clickassay.core.provenance import plain_settings, versions
from clickassay.core.settings import Settings
from clickassay.findings.draw import with_findings
from clickassay.jobs.analyse import analyse
from clickassay.jobs.inputs import Sources
from clickassay.jobs.patterns import log_to_patterns
from clickassay.studies.runs_compared.compare import compare_runs
from clickassay.studies.runs_compared.numbers import DiffOptions
from support.logs import tiny
from support.places import SAMPLE, SAMPLE_LOG
from support.reports.report_runs import drawn

SETTINGS = Settings(depth=(5,), iterations=10, threads=1, click_models=("NONE",), folds=8)
"""With few folds of users a comparison is quick; with fewer than eight it says so beside its numbers."""


def compared(*arguments) -> tiny.Outcome:
    """Run ``diff`` in this process."""
    return tiny.inside("diff", *arguments)


@cache
def patterns():
    return log_to_patterns(Sources(*SAMPLE_LOG.values()), SETTINGS)


@cache
def between(a, b, options=DiffOptions()):  # noqa: B008 - frozen
    """Compare two runs, once."""
    return compare_runs(a, b, options)


def judgments():
    return pl.read_parquet(SAMPLE["judgments"])


def of_half(rows, half):
    """The judgments of every other query."""
    queries = rows["query"].unique().sort()
    return rows.filter(pl.col("query").is_in(queries.gather_every(2, offset=half).to_list()))


def made(folder, rows=None, **settings):
    """Make a run of the sample log with these judgments."""
    folder.mkdir()
    rows, chosen = judgments() if rows is None else rows, SETTINGS.model_copy(update=settings)
    rows.write_parquet(folder / "judged.parquet")
    frames = analyse(patterns(), Sources(judgments=folder / "judged.parquet"), chosen)
    inputs = {"searches": fingerprint(1, 1000), "judgments": fingerprint(2, rows.height)}
    info = {"inputs": inputs, "settings": plain_settings(chosen), "versions": versions(), "command": "made"}
    rest = {"layout": LAYOUT, "notes": [], "stored_depth": 5}
    run, findings = drawn(frames, info | rest)
    for name, frame in with_findings(run, findings).tables.items():
        write_table(frame, folder / f"{name}.parquet")
    (folder / "settings.json").write_text(json.dumps(info | rest))
    return folder


def fingerprint(files, size, name="part.parquet"):
    return {"names": [name], "files": files, "bytes": size, "digest": f"sha256:{size:064x}"}


def changed_table(run, folder, name, change):
    """Copy a run and change one of its tables."""
    shutil.copytree(run, folder)
    file = folder / f"{name}.parquet"
    change(pl.read_parquet(file)).write_parquet(file)
    return folder


def changed_info(run, folder, change):
    """Copy a run and change its settings.json in place."""
    shutil.copytree(run, folder)
    file = folder / "settings.json"
    info = json.loads(file.read_text(encoding="utf-8"))
    change(info)
    file.write_text(json.dumps(info), encoding="utf-8")
    return folder


def with_folds(run, folder, folds):
    """Copy a run whose users are put together to so many folds, a divisor of their number."""

    def together(rows):
        key = ["configuration_id", "fold", "click_mask"]
        return rows.with_columns(pl.col("fold") % folds).group_by(key).agg(pl.col("sessions").sum()).sort(key)

    copy = changed_table(run, folder, "patterns", together)
    info = json.loads((copy / "settings.json").read_text(encoding="utf-8"))
    info["settings"]["folds"] = folds
    (copy / "settings.json").write_text(json.dumps(info), encoding="utf-8")
    return copy


FIRST = ("north", 5, "all", "MeanRR", "ERR")
ONE = DiffOptions(("ERR",), ("MeanRR",), markets=("north",))
"""The numbers of that place, and the means of both metrics."""
COLUMNS = ("market", "depth", "judge", "click_metric", "editorial_metric")


def at(place=FIRST):
    """Return the condition for the overall row of a place."""
    return pl.all_horizontal(
        pl.col("split") == "all", *(pl.col(n) == v for n, v in zip(COLUMNS, place, strict=True))
    )


def number(diff, place=FIRST):
    """Return the row of an overall correlation in a comparison of two runs."""
    return diff.numbers.filter(at(place), table="correlations").row(0, named=True)
