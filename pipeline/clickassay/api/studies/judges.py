"""From Python: how well judges agree, from judgments alone."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from clickassay.api.given import Names, several
from clickassay.api.screen.parts import Part, on_screen
from clickassay.api.screen.result import SavedResult, attribute_of
from clickassay.core.errors import SettingsError
from clickassay.core.files.scratch import scratch_file
from clickassay.core.files.tables import as_csv, write_tables
from clickassay.core.provenance import versions
from clickassay.core.text.words import plural
from clickassay.inputs.frames import Frame, of_dict
from clickassay.inputs.importers.judgments import RatingOptions
from clickassay.report.writers.page import write_study
from clickassay.studies.judges import verdict
from clickassay.studies.judges.compare import JudgesCompared
from clickassay.studies.judges.report import build_judges_report, judges_tables

_ALWAYS = ("agreement", "confusion", "grades", "sheet")
"""Tables that every comparison has."""


def file_of(given: Any, name: str) -> Path:  # noqa: ANN401 - a table of any library
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


class JudgesResult(SavedResult):
    """How well judges agree; prints the answer, each measure with its interval, and the shares of grades.

    Parameters
    ----------
    found
        The numbers.
    at_least
        The quadratic kappa that the agreement must reach.
    """

    def __init__(self, found: JudgesCompared, at_least: float | None = None) -> None:
        self.found, self.at_least = found, at_least

    @property
    def answer(self) -> str:
        """Whether the first two judges agree; without a full stop."""
        return verdict.answer(self.found, self.at_least)

    @property
    def verdict(self) -> str:
        """Whether the first two judges agree, on what, and what would settle it."""
        return f"{self.answer}. {verdict.details(self.found, self.at_least)}"

    agreement: pl.DataFrame = attribute_of(
        "found.agreement", "A row for each pair of judges and measure: the value with its interval."
    )
    confusion: pl.DataFrame = attribute_of(
        "found.confusion", "A row for each pair of judges and pair of grades: how often the judges gave them."
    )
    grades: pl.DataFrame = attribute_of(
        "found.grades", "A row for each judge and grade: how often the judge gave it."
    )
    sheet: pl.DataFrame = attribute_of(
        "found.sheet",
        "Results that are graded differently, the largest difference first, with an empty column `grade`.",
    )
    bias: pl.DataFrame = attribute_of(
        "found.bias", "A row for each pair of judges and group of results: mean difference, quadratic kappa."
    )
    rankings: pl.DataFrame = attribute_of(
        "found.rankings",
        "A row for each pair of judges and measure: tau and tau_AP of the order of rankings.",
    )
    ranking_pairs: pl.DataFrame = attribute_of(
        "found.ranking_pairs",
        "A row for each pair of judges, measure and pair of rankings: the difference under both judges.",
    )
    clicks: Mapping[str, pl.DataFrame] = attribute_of(
        "found.clicks",
        "What clicks say of the judges: tables judge_disagreements and judge_comparisons of `run`.",
    )

    @property
    def tables(self) -> Mapping[str, pl.DataFrame]:
        """The tables by their names."""
        names = ("agreement", "confusion", "grades", "bias", "rankings", "ranking_pairs", "sheet")
        tables = {name: getattr(self, name) for name in names} | dict(self.clicks)
        return {name: table for name, table in tables.items() if table.height or name in _ALWAYS}

    @property
    def facts(self) -> dict[str, Any]:
        """The content of the JSON document: the verdict, and every table but the sheet."""
        again = {
            judge: {"results": results, "same_grade": equal, "rule": "first"}
            for judge, (results, equal) in self.found.repeated.items()
        }
        tables = {name: table.to_dicts() for name, table in self.tables.items() if name != "sheet"}
        return {
            "answer": self.answer, "verdict": self.verdict, "not_judged": self.found.not_judged,
            "judged_again": again, **tables,
        }  # fmt: skip

    def write(self, out: Path, *, force: bool, command: str = "") -> Path:
        """Write as `save` does; `command` is recorded as what made them."""
        report = build_judges_report(self.found, self.at_least, command=command)
        tables = {name: table for name, table in self.tables.items() if name != "sheet"}
        info = {"command": command, "versions": versions()}
        texts = {"to_decide.csv": as_csv(self.sheet)}
        write_tables(out, tables, info, texts=texts, also=partial(write_study, report), force=force)
        return out

    def parts(self) -> Iterator[Part]:
        """Yield the answer, and the tables."""
        yield f"{self.answer}."
        yield verdict.details(self.found, self.at_least)
        if said := verdict.rankings_sentence(self.found):
            yield said
        for table in judges_tables(self.found).values():
            yield from on_screen(table) if table.rows else ()
        yield verdict.overlap_sentence(self.found)
        yield from verdict.repeated_sentences(self.found)
        yield from verdict.other_scales(self.found)
        if caution := next(iter(self.agreement["caution"].drop_nulls()), None):
            yield f"Caution: {caution}."
