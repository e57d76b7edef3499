"""From Python: how far judges agree, from judgments alone."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from clickassay.api.given import HasRun, Names, Place, Table, Told, saved, several, source_of
from clickassay.api.screen.parts import Part, on_screen
from clickassay.api.screen.progress import progress_of
from clickassay.api.screen.python import for_python
from clickassay.api.screen.result import Result
from clickassay.core.errors import SettingsError
from clickassay.core.files.output import SETTINGS_FILE, place_to_write, published_folder, write_json
from clickassay.core.files.scratch import scratch, scratch_file
from clickassay.core.files.tables import as_csv, write_table, writing_tables
from clickassay.core.progress import Progress, silent
from clickassay.core.provenance import versions
from clickassay.core.settings.texts import pairs_of
from clickassay.core.text.words import plural
from clickassay.inputs.importers.judgments.importer import RatingOptions
from clickassay.inputs.staging.frames import Frame
from clickassay.inputs.text.frames import of_dict
from clickassay.jobs.judges import MEASURE, JudgesAsked, compare_files
from clickassay.report.writers.page import write_study
from clickassay.studies.judges.compare import JudgesCompared
from clickassay.studies.judges.report import build_judges_report, judges_tables
from clickassay.studies.judges.verdict import (
    other_scales,
    overlap_sentence,
    rankings_sentence,
    repeated_sentences,
    verdict,
)

_ALWAYS = ("agreement", "confusion", "grades", "sheet")
"""Tables that every comparison has."""


@for_python
def judges(  # noqa: PLR0913 - one parameter for each question
    files: Any,  # noqa: ANN401 - a table of any library
    *others: Any,  # noqa: ANN401
    judge: Names = (),
    grade_map: Names | Mapping[Any, Any] = (),
    max_grade: int | None = None,
    rankings: Sequence[str | Path] = (),
    measures: str = MEASURE,
    queries: Table = None,
    by: Names = (),
    run: HasRun | Place | None = None,
    at_least: float | None = None,
    progress: Told = False,
) -> "JudgesResult":
    """Measure how far judges agree, without a log.

    Parameters
    ----------
    files, others
        The judgments of each judge: a file of any layout that `clickassay import judgments` reads, a frame,
        or a dict ``{query: {doc: grade}}``; side by side, in a list, or in a dict by the judge's name. Or one
        with a column ``judge``.
    judge
        A name for each; without them, files have their own names, and frames are judge 1, judge 2.
    grade_map
        Grades of ratings that are none, as ``0=0,1=1,10=3,100=4``, or a dict: one for all, or one for each.
    max_grade
        Top of the scale, which AC1 depends on; ratings above are refused. None = the highest grade found.
    rankings, measures
        Run files of TREC, two or more, whose order is compared under the judges by these measures.
    queries, by
        A table with a column query and classes of queries; columns of it (None = all that are classes).
    run
        A pattern table or store of a log, or a run of these judges, that was saved: whose order its clicks
        support.
    at_least
        A quadratic kappa that the agreement is held against, as 0.4.
    progress
        As `run` takes it.

    Raises
    ------
    InputError, SettingsError
        If a file cannot be read, or there is one judge.
    NothingInCommonError
        If no two judges judged a result in common.

    Examples
    --------
    >>> found = ca.judges(["people.csv", "model.csv"])
    >>> found.verdict.startswith("people and model have a quadratic kappa of ")
    True
    """
    several_given = isinstance(files, list | tuple) and not isinstance(next(iter(files), None), dict | list)
    named, given = {}, list(files) if several_given and not others else [files, *others]
    if isinstance(files, Mapping) and not others:
        named, given = {str(name): one for name, one in files.items()}, list(files.values())
    if isinstance(grade_map, Mapping):
        grade_map = ",".join(pairs_of(grade_map))
    asked = JudgesAsked(tuple(map(Path, rankings)), measures, source_of(queries), several(by), saved(run))
    with progress_of(progress) as told, scratch():
        places = [_file_of(one, f"judge {at}") for at, one in enumerate(given, 1)]
        options = rating_options(places, several(judge) or tuple(named), grade_map, max_grade)
        return JudgesResult.of(places, options, asked, at_least, told)


def _file_of(given: Any, name: str) -> Path:  # noqa: ANN401 - a table of any library
    """Return the file of judgments: a frame or a dict is written into the scratch folder."""
    if isinstance(given, str | Path):
        return Path(given)
    if isinstance(given, Mapping) and any(isinstance(one, Mapping) for one in given.values()):
        given = of_dict(given, "judgments", ("query", "doc", "grade"))
    rows = Frame(given).lazy("judgments").collect()
    place = scratch_file(f"the given frame of {name}", f"{name}.parquet")
    rows.write_parquet(place)
    return place


def rating_options(
    files: Sequence[Path], names: Sequence[str], grade_map: Names, max_grade: int | None
) -> RatingOptions:
    """Return the options of an import, with the name of each file as its judge where several have none."""
    if names and len(names) != len(files):
        raise SettingsError(
            f"--judge: {plural(len(names), 'name')} for {plural(len(files), 'file')}; give one for each"
        )
    from clickassay.studies.evaluation.job import run_names  # noqa: PLC0415 - it imports the report

    own = tuple(names) or (tuple(run_names(files, "file")) if len(files) > 1 else ())
    return RatingOptions(grade_map=several(grade_map), max_grade=max_grade, judges=own)


class JudgesResult(Result):
    """How far judges agree; it prints the verdict, each measure with its interval, and the shares of grades.

    Parameters
    ----------
    found
        The numbers.
    at_least
        A quadratic kappa that the agreement is held against.
    """

    def __init__(self, found: JudgesCompared, at_least: float | None = None) -> None:
        self.found, self.at_least = found, at_least

    @classmethod
    def of(
        cls,
        files: Sequence[Path],
        options: RatingOptions,
        asked: JudgesAsked | None = None,
        at_least: float | None = None,
        progress: Progress = silent,
    ) -> "JudgesResult":
        """Compare, as `judges` says."""
        if at_least is not None and not -1 <= at_least <= 1:
            raise SettingsError(f"--at-least: found {at_least:g}; a kappa is -1 to 1")
        return cls(compare_files(files, options, asked or JudgesAsked(), progress=progress), at_least)

    @property
    def verdict(self) -> str:
        """How far the first two judges agree, and what would settle it."""
        return verdict(self.found, self.at_least)

    @property
    def agreement(self) -> pl.DataFrame:
        """A row for each pair of judges and measure: the value with its interval."""
        return self.found.agreement

    @property
    def confusion(self) -> pl.DataFrame:
        """A row for each pair of judges and of grades: how often one gave this and the other that."""
        return self.found.confusion

    @property
    def grades(self) -> pl.DataFrame:
        """A row for each judge and grade: how often the judge gave it."""
        return self.found.grades

    @property
    def sheet(self) -> pl.DataFrame:
        """Results that are graded differently, the largest difference first, with an empty column `grade`."""
        return self.found.sheet

    @property
    def bias(self) -> pl.DataFrame:
        """A row for each pair of judges and group of results: mean difference, quadratic kappa."""
        return self.found.bias

    @property
    def rankings(self) -> pl.DataFrame:
        """A row for each pair of judges and measure: tau and tau_AP of the order of rankings."""
        return self.found.rankings

    @property
    def ranking_pairs(self) -> pl.DataFrame:
        """A row for each pair of judges, measure and two rankings: their difference under both."""
        return self.found.ranking_pairs

    @property
    def clicks(self) -> Mapping[str, pl.DataFrame]:
        """What the clicks of `run` say: tables judge_disagreements and judge_comparisons of a run."""
        return self.found.clicks

    @property
    def tables(self) -> Mapping[str, pl.DataFrame]:
        """The tables by their names."""
        names = ("agreement", "confusion", "grades", "bias", "rankings", "ranking_pairs", "sheet")
        tables = {name: getattr(self, name) for name in names} | dict(self.clicks)
        return {name: table for name, table in tables.items() if table.height or name in _ALWAYS}

    def save(self, out: str | Path, *, force: bool = False) -> Path:
        """Write a report, the tables as Parquet, and the sheet as `to_decide.csv`; return the folder."""
        return self.write(place_to_write(out), force=force)

    def write(self, out: Path, *, force: bool, command: str = "") -> Path:
        """Write as `save` does; `command` is recorded as what made them."""
        report = build_judges_report(self.found, self.at_least, command=command)
        with published_folder(out, force=force) as folder, writing_tables():
            for name, table in self.tables.items():
                if name != "sheet":
                    write_table(table, folder / f"{name}.parquet")
            write_study(report, folder)
            (folder / "to_decide.csv").write_text(as_csv(self.sheet), encoding="utf-8", newline="\n")
            write_json(folder / SETTINGS_FILE, {"command": command, "versions": versions()})
        return out

    def parts(self) -> Iterator[Part]:
        """Yield the verdict, and the tables."""
        yield self.verdict
        if said := rankings_sentence(self.found):
            yield said
        for table in judges_tables(self.found).values():
            yield from on_screen(table) if table.rows else ()
        yield overlap_sentence(self.found)
        yield from repeated_sentences(self.found)
        yield from other_scales(self.found)
        if caution := next(iter(self.agreement["caution"].drop_nulls()), None):
            yield f"Caution: {caution}."
