"""From Python: how far judges agree, from judgments alone."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import polars as pl

from clickassay.api.given import Told
from clickassay.api.screen.parts import Part, ShownTable
from clickassay.api.screen.progress import progress_of
from clickassay.api.screen.python import for_python
from clickassay.api.screen.result import Result
from clickassay.core.contracts.columns import EVERY
from clickassay.core.errors import SettingsError
from clickassay.core.files.output import SETTINGS_FILE, published_folder, write_json
from clickassay.core.files.tables import as_csv, write_table, writing_tables
from clickassay.core.progress import Progress, silent
from clickassay.core.provenance import versions
from clickassay.core.text.words import MISSING, count, number, percent, plural, visible
from clickassay.inputs.importers.judgments.importer import RatingOptions
from clickassay.studies.judges.compare import MEASURES, JudgesCompared, compare_judges, judgments_of, verdict


@for_python
def judges(
    files: Sequence[str | Path],
    *,
    judge: Sequence[str] = (),
    grade_map: str | None = None,
    max_grade: int | None = None,
    progress: Told = False,
) -> "JudgesResult":
    """Measure how far judges agree, without a log.

    Parameters
    ----------
    files
        A file of judgments for each judge, of any layout that `clickassay import judgments` reads; or one
        with a column ``judge``.
    judge
        A name for each file; without them, files have their own names.
    grade_map
        Grades of ratings that are none, as ``0=0,1=1,10=3,100=4``.
    max_grade
        Top of the scale, which AC1 depends on; ratings above are refused. None = the highest grade found.
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
    options = rating_options([Path(file) for file in files], judge, grade_map, max_grade)
    with progress_of(progress) as told:
        return JudgesResult.of([Path(file) for file in files], options, told)


def rating_options(
    files: Sequence[Path], names: Sequence[str], grade_map: str | None, max_grade: int | None
) -> RatingOptions:
    """Return the options of an import, with the name of each file as its judge where several have none."""
    if names and len(names) != len(files):
        raise SettingsError(
            f"--judge: {plural(len(names), 'name')} for {plural(len(files), 'file')}; give one for each"
        )
    from clickassay.studies.evaluation.job import run_names  # noqa: PLC0415 - it imports the report

    own = tuple(names) or (tuple(run_names(files, "file")) if len(files) > 1 else ())
    return RatingOptions(grade_map=grade_map, max_grade=max_grade, judges=own)


class JudgesResult(Result):
    """How far judges agree; it prints the verdict, each measure with its interval, and the shares of grades.

    Parameters
    ----------
    found
        The numbers.
    """

    def __init__(self, found: JudgesCompared) -> None:
        self.found = found

    @classmethod
    def of(cls, files: Sequence[Path], options: RatingOptions, progress: Progress = silent) -> "JudgesResult":
        """Compare, as `judges` says."""
        names, rows = judgments_of(files, options, progress=progress)
        return cls(compare_judges(names, rows, max_grade=options.max_grade))

    @property
    def verdict(self) -> str:
        """How far the first two judges agree, in a sentence."""
        return verdict(self.found)

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
    def tables(self) -> Mapping[str, pl.DataFrame]:
        """The tables by their names."""
        return {name: getattr(self, name) for name in ("agreement", "confusion", "grades", "sheet")}

    def save(self, out: str | Path, *, force: bool = False) -> Path:
        """Write the tables as Parquet, and the sheet as `to_decide.csv`, into a folder; return the folder."""
        return self.write(Path(out), force=force)

    def write(self, out: Path, *, force: bool, command: str = "") -> Path:
        """Write as `save` does; `command` is recorded as what made them."""
        with published_folder(out, force=force) as folder, writing_tables():
            for name in ("agreement", "confusion", "grades"):
                write_table(self.tables[name], folder / f"{name}.parquet")
            (folder / "to_decide.csv").write_text(as_csv(self.sheet), encoding="utf-8", newline="\n")
            write_json(folder / SETTINGS_FILE, {"command": command, "versions": versions()})
        return out

    def parts(self) -> Iterator[Part]:
        """Yield the verdict, the measures, and how often each grade is given."""
        yield self.verdict
        yield _agreement(self.agreement)
        yield _grades(self.grades, self.found.judges)
        for judge, (results, equal) in self.found.repeated.items():
            yield (
                f"{visible(judge)} judged {plural(results, 'result')} more than once, "
                f"{percent(equal / results)} of them with the same grade; the first counts."
            )
        if caution := next(iter(self.agreement["caution"].drop_nulls()), None):
            yield f"Caution: {caution}."


def _agreement(frame: pl.DataFrame) -> ShownTable:
    heads = ["Judges", "Measure", "Value", "low", "high", "Results", "Queries"]
    rows = [
        [
            "all judges" if row["judge_a"] == EVERY else f"{row['judge_a']}, {row['judge_b']}",
            MEASURE_HEADS[row["measure"]],
            *(_cell(row[name]) for name in ("value", "ci_low", "ci_high")),
            count(row["n_results"]),
            count(row["n_queries"]),
        ]
        for row in frame.iter_rows(named=True)
    ]
    return ShownTable(heads, rows, heads[2:], "Agreement, with 95 % intervals over queries")


def _grades(frame: pl.DataFrame, names: Sequence[str]) -> ShownTable:
    shares = {(row["judge"], row["grade"]): row["share"] for row in frame.iter_rows(named=True)}
    grades = sorted({grade for _, grade in shares})
    heads = ["Grade", *names]
    rows = [[str(grade), *(percent(shares.get((name, grade), 0.0)) for name in names)] for grade in grades]
    return ShownTable(heads, rows, heads[1:], "How often each grade is given")


MEASURE_HEADS = {
    "equal": "same grade",
    "kappa": "kappa",
    "kappa_linear": "kappa, linear",
    "kappa_quadratic": "kappa, quadratic",
    "ac1": "AC1",
    "alpha_nominal": "alpha, nominal",
    "alpha_ordinal": "alpha, ordinal",
    "alpha_interval": "alpha, interval",
    "mean_difference": "mean grade, second - first",
}
"""What measures are called in the printed table."""

assert MEASURE_HEADS.keys() == MEASURES.keys()  # noqa: S101 - a measure without a name


def _cell(value: float | None) -> str:
    return MISSING if value is None else number(value, 3)
