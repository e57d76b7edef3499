"""The report of an evaluation of runs against judgments."""

from collections.abc import Mapping

import polars as pl

from clickassay.core.text.words import count, listed, plural, visible
from clickassay.correlation.uncertainty.intervals import ALPHA
from clickassay.report.charts.lines import MOST_LINES
from clickassay.report.model import Section
from clickassay.report.writers.page import StudyReport
from clickassay.studies.evaluation.report.sections import (
    class_tables,
    comparisons_table,
    corrected_tables,
    difference_figure,
    differences_table,
    gain_figures,
    gain_table,
    highest,
    leaderboard_table,
    means_figures,
    means_table,
    per_query_table,
    recall_precision_figure,
    recall_precision_table,
    runs_table,
)

_NAMED = 4


def build_evaluation_report(
    frames: Mapping[str, pl.DataFrame],
    conventions: tuple[tuple[str, str], ...],
    *,
    rel: int,
    shares: frozenset[str],
    command: str,
    per_query: bool,
) -> StudyReport:
    """Turn the frames of an evaluation into sentences, tables and pictures, without writing anything.

    frames: the tables of `studies.evaluation.forms.EVALUATION_TABLES` by name.
    conventions: pairs (convention, text): the definitions that the numbers depend on.
    rel: lowest grade that the curves of precision count as relevant.
    shares: names of the measures that lie in 0..1.
    command: the command line.
    per_query: whether the page has the values by query.
    """
    runs = frames["runs"]["run"].to_list()
    queries = plural(int(frames["runs"]["queries_averaged"][0]), "query", "queries")
    named = [visible(run) for run in runs] if len(runs) <= _NAMED else [plural(len(runs), "run")]
    sections = (
        _means_section(frames, shares),
        *((_leaderboard_section(frames),) if "leaderboard" in frames else ()),
        *((_comparisons_section(frames),) if frames["comparisons"].height else ()),
        *((_classes_section(frames),) if "class_means" in frames else ()),
        *((_corrected_section(frames),) if "corrected_means" in frames else ()),
        _recall_section(frames, rel),
        _gain_section(frames),
        *((_differences_section(frames, rel),) if frames["r_precision_differences"].height else ()),
        *((_per_query_section(frames),) if per_query else ()),
    )
    lead = f"{plural(frames['means']['measure'].n_unique(), 'measure')} over {queries}."
    return StudyReport(
        "Rankings against judgments",
        f"Evaluation of {listed(named)}",
        lead,
        conventions,
        sections,
        visible(command, limit=10_000),
    )


def _means_section(frames: Mapping[str, pl.DataFrame], shares: frozenset[str]) -> Section:
    return Section(
        "means",
        "Means",
        ("Mean of each measure over the queries, with its 95 % interval.",),
        means_figures(frames["means"], shares),
        tables=(means_table(frames["means"]), runs_table(frames["runs"])),
    )


def _comparisons_section(frames: Mapping[str, pl.DataFrame]) -> Section:
    frame = frames["comparisons"]
    significant = frame.filter(pl.col("p_holm") < 0.05).height
    have = "has" if significant == 1 else "have"
    text = f"{significant} of {plural(frame.height, 'difference')} {have} p < 0.05 after Holm's correction."
    return Section("comparisons", "Comparisons", (text,), tables=(comparisons_table(frame),))


def _leaderboard_section(frames: Mapping[str, pl.DataFrame]) -> Section:
    frame = frames["leaderboard"]
    return Section("leaderboard", "Leaderboard", (highest(frame),), tables=(leaderboard_table(frame),))


def _classes_section(frames: Mapping[str, pl.DataFrame]) -> Section:
    frame = frames["class_comparisons"]
    significant = frame.filter(pl.col("p_holm") < ALPHA).height
    text = (
        f"{significant} of {plural(frame.height, 'difference')} within classes have p < 0.05 after Holm's "
        "correction over all of them. A difference in a class alone is no sign that classes differ: compare "
        "intervals."
    )
    return Section("classes", "By class of queries", (text,), tables=tuple(class_tables(frames)))


def _corrected_section(frames: Mapping[str, pl.DataFrame]) -> Section:
    judged, both = frames["corrected_means"].select("n_queries", "n_both").row(0)
    text = (
        f"A judge judged {plural(judged, 'query', 'queries')}, people {count(both)} of them. The judge's "
        "means over all its queries are corrected by what people say of theirs. Intervals hold with any "
        "errors of the judge, also rare ones, if people's queries were chosen as the conventions say."
    )
    return Section("corrected", "Corrected by people", (text,), tables=tuple(corrected_tables(frames)))


def _recall_section(frames: Mapping[str, pl.DataFrame], rel: int) -> Section:
    frame = frames["recall_precision"]
    text = (
        "The largest precision at each level of recall or above, averaged over the queries. "
        f"Relevant: grade {rel} or more."
    )
    return Section(
        "recall",
        "Precision by recall",
        (text, *_left_out(frame)),
        (recall_precision_figure(frame),),
        folded=(recall_precision_table(frame),),
    )


def _left_out(frame: pl.DataFrame) -> tuple[str, ...]:
    more = frame["run"].n_unique() - MOST_LINES
    return (f"The pictures have the first {MOST_LINES} runs, the tables all.",) if more > 0 else ()


def _gain_section(frames: Mapping[str, pl.DataFrame]) -> Section:
    frame = frames["gain_curves"]
    text = (
        "Sum of the grades down to each rank (CG), and of the grades divided by max(1, log2 of the rank) "
        "(DCG), averaged over the queries, with those of the ideal lists (judged results by falling grade)."
    )
    ratio = (
        "The ratio is one of averages (Järvelin and Kekäläinen 2000), not an average of ratios as nDCG is."
    )
    return Section(
        "gain",
        "Gain by rank",
        (text, ratio, *_left_out(frame)),
        gain_figures(frame),
        folded=(gain_table(frame),),
    )


def _differences_section(frames: Mapping[str, pl.DataFrame], rel: int) -> Section:
    frame = frames["r_precision_differences"]
    figure = difference_figure(frame)
    text = f"{figure.alt} Relevant: grade {rel} or more."
    return Section(
        "r-precision",
        "Query by query",
        (text, "R-precision: precision at the number of relevant results of the query."),
        (figure,),
        folded=(differences_table(frame),),
    )


def _per_query_section(frames: Mapping[str, pl.DataFrame]) -> Section:
    return Section(
        "queries", "Values by query", ("Every measure of every query.",),
        folded=(per_query_table(frames["per_query"]),),
    )  # fmt: skip
