"""The report on judges, turned into sections."""

from collections.abc import Iterator

import polars as pl

from clickassay.core.text.words import listed, plural, visible
from clickassay.correlation.uncertainty.intervals import ALPHA
from clickassay.report.model import Section
from clickassay.report.writers.page import StudyReport
from clickassay.studies.judges.compare import JudgesCompared
from clickassay.studies.judges.report.sections import (
    agreement_figures,
    agreement_table,
    bias_figures,
    bias_table,
    clicks_tables,
    confusion_table,
    grades_table,
    pairs_table,
    rankings_table,
)
from clickassay.studies.judges.verdict import (
    other_scales,
    overlap_sentence,
    rankings_sentence,
    repeated_sentences,
    verdict,
)

CHANCE = (
    "Same grade is high by chance alone when most results are bad. Kappa and alpha correct for chance, AC1 "
    "also where nearly all results have the same grade; linear and quadratic count a miss by its distance."
)


def build_judges_report(found: JudgesCompared, at_least: float | None, *, command: str) -> StudyReport:
    """Turn the numbers into sentences, tables and pictures, without writing anything."""
    sections = (_agreement(found), _bias(found), _rankings(found), *_clicks(found))
    return StudyReport(
        "Judges compared",
        f"Do {listed(map(visible, found.judges))} agree?",
        verdict(found, at_least),
        (),
        tuple(one for one in sections if one.every_table),
        visible(command, limit=10_000),
    )


def _agreement(found: JudgesCompared) -> Section:
    reading = (CHANCE, overlap_sentence(found), *repeated_sentences(found), *other_scales(found))
    return Section(
        "agreement", "Agreement", reading,
        agreement_figures(found),
        tables=(agreement_table(found), grades_table(found)), folded=(confusion_table(found),),
        fold_words="Which grade is given for which",
    )  # fmt: skip


def _bias(found: JudgesCompared) -> Section:
    tables = (bias_table(found),) if found.bias.height else ()
    return Section(
        "bias", "Where they differ", tuple(bias_reading(found)), bias_figures(found), tables=tables
    )


def bias_reading(found: JudgesCompared) -> Iterator[str]:
    """Yield the groups whose difference is significantly unlike the rest, and what a group means."""
    tested = found.bias.filter(pl.col("p_adjusted").is_not_null())
    unlike = tested.filter(pl.col("p_adjusted") < ALPHA).height
    differ = "differs" if unlike == 1 else "differ"
    yield (
        f"Of {plural(tested.height, 'group')} of results, {unlike} {differ} significantly from the rest "
        "in how much higher the second judge grades."
    )
    yield (
        "Groups of grades are by the mean grade of both: by the grade of one judge, even two equal judges "
        "who err by chance would seem to differ. A quarter of the second judge's file can differ because "
        "its queries do."
    )


def _rankings(found: JudgesCompared) -> Section:
    tables = (rankings_table(found),) if found.rankings.height else ()
    folded = (pairs_table(found),) if tables else ()
    return Section(
        "rankings", "Do they put rankings in the same order?", (rankings_sentence(found),) if tables else (),
        tables=tables, folded=folded, fold_words="Every pair of rankings",
    )  # fmt: skip


def _clicks(found: JudgesCompared) -> tuple[Section, ...]:
    tables = clicks_tables(found)
    if not tables:
        return ()
    supported, predicted = tables
    reading = (
        "Where two judges order two neighbouring results oppositely, the clicks on exactly one of both say "
        "whose order users follow. Clicks are not the truth about relevance."
    )
    return (
        Section(
            "clicks",
            "What clicks say",
            (reading,),
            tables=(supported,),
            folded=(predicted,),
            fold_words=predicted.title,
        ),
    )
