"""Judges compared: by their grades, by the rankings that they evaluate, by the clicks of a log."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl

from clickassay.core.contracts.judges import AGREEMENT, JUDGE_COMPARISONS, JUDGE_DISAGREEMENTS
from clickassay.core.errors import SettingsError
from clickassay.core.files.scratch import with_scratch
from clickassay.core.progress import Event, Progress, silent
from clickassay.core.settings import load_settings
from clickassay.core.text.words import listed
from clickassay.correlation.classes import class_columns
from clickassay.findings.run import open_run
from clickassay.inputs.frames import Frame
from clickassay.inputs.importers.judgments import RatingOptions
from clickassay.inputs.staging.sources import Source
from clickassay.jobs.inputs import Sources, read_attributes
from clickassay.jobs.patterns import opened_table
from clickassay.jobs.run import make_run
from clickassay.metrics.names import parse_measures
from clickassay.patterns.places import Place, place_of
from clickassay.studies.evaluation.evaluate import evaluate
from clickassay.studies.evaluation.job import run_names
from clickassay.studies.judges.compare import JudgesCompared, compare_judges, judged_by_both, judgments_of
from clickassay.studies.judges.rankings import rankings_under

FEWEST = 10
"""Draws of Algorithm 3 in a run of which nothing but the judges is read."""


@with_scratch()
def compare_files(
    files: Sequence[Path],
    options: RatingOptions,
    *,
    rankings: Sequence[Path] = (),
    measures: str = "",
    queries: Source | None = None,
    by: tuple[str, ...] = (),
    run: Path | None = None,
    progress: Progress = silent,
) -> JudgesCompared:
    """Compare the judges of files; also the order of `rankings` by `measures` under every two.

    queries, by: a table with a column query and classes of queries; its columns, none = all that are classes.
    run: a run of these judges, or a pattern table or store: its clicks are held against the judges.
    Raises InputError, SettingsError if a file cannot be read, or there is one judge; NothingInCommonError if
    no two judges judged a result in common, or rankings have no judged query.
    """
    if len(rankings) == 1:
        raise SettingsError("--rankings: give two or more rankings to compare")
    if by and queries is None:
        raise SettingsError("--by requires --queries, the table with the classes of queries")
    named = run_names(rankings, "ranking")
    classes = None
    if queries is not None:
        classes = class_columns(read_attributes(queries, load_settings(), progress), by)
    judges, rows, not_judged = judgments_of(files, options, progress=progress)
    found = compare_judges(judges, rows, max_grade=options.max_grade, classes=classes)
    found = replace(found, not_judged=not_judged)
    top = max(1, int(str(rows["grade"].max()))) if options.max_grade is None else options.max_grade
    if run is not None:
        found = replace(found, clicks=_by_clicks(run, judges, rows, top, progress))
    if not named:
        return found
    parts = list(_rankings(judged_by_both(judges, rows), named, measures, top, progress))
    orders, pairs = (pl.concat(frames) for frames in zip(*parts, strict=True))
    return replace(found, rankings=orders, ranking_pairs=pairs)


def _rankings(
    pairs: Mapping[tuple[str, str], pl.DataFrame],
    rankings: Mapping[str, Path],
    measures: str,
    top: int,
    progress: Progress,
) -> Iterator[tuple[pl.DataFrame, pl.DataFrame]]:
    """Yield rows of RANKINGS and RANKING_PAIRS for every two judges and measure, the first measure first.

    Both judges' grades are of the results that both judged, so that what one left out makes no difference.
    """
    parsed = parse_measures(measures)
    for judges, pair in pairs.items():
        progress(Event(f"evaluating rankings with the grades of {judges[0]} and {judges[1]}"))
        sides = [
            evaluate(
                pair.select("grade", "doc", query="topic"),
                dict(rankings),
                parsed,
                max_grade=top,
                baseline=next(iter(rankings)),  # its own tests are not used: the fewest
                strict=True,
            ).per_query
            for pair in (pair.rename({grade: "grade"}) for grade in ("grade_a", "grade_b"))
        ]
        for measure in sides[0]["measure"].unique(maintain_order=True):
            # of each judge by run: runs in the order given, the same queries of each
            one, two = (
                {
                    str(run): rows["value"].to_numpy()
                    for (run,), rows in side.filter(measure=measure).group_by("run", maintain_order=True)
                }
                for side in sides
            )
            yield rankings_under(judges, measure, (one, two))


def _by_clicks(
    place: Path, judges: tuple[str, ...], rows: pl.DataFrame, top: int, progress: Progress
) -> dict[str, pl.DataFrame]:
    """Return what the clicks of a log say of judges: the tables of a run (method 7.5)."""
    if place_of(place) is Place.RUN:
        made = open_run(place)
        known = made.tables[AGREEMENT.name]
        there = {*known["judge_a"], *known["judge_b"]}
        if not there >= set(judges):
            raise SettingsError(
                f"--run {place} has {f'the judges {listed(sorted(there))}' if there else 'one judge'}, not "
                f"{listed(judges)}; give a pattern table of its log, which `clickassay patterns` makes"
            )
    else:
        once = rows.unique(["judge", "query", "url"], keep="first", maintain_order=True)
        graded = Frame(once.select("judge", "grade", query="topic", url="doc"))
        usual = load_settings()
        settings = load_settings(
            depth=opened_table(place).stored_depth, max_grade=top, click_models="NONE", iterations=FEWEST,
            relevant_grade=min(usual.relevant_grade, top), success_grade=min(usual.success_grade, top),
        )  # fmt: skip
        made, _ = make_run(Sources(judgments=graded), settings, patterns=place, progress=progress)
    return {one.name: made.tables[one.name] for one in (JUDGE_DISAGREEMENTS, JUDGE_COMPARISONS)}
