"""The report of an evaluation of runs against judgments: tables, pictures and sentences, as data."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from operator import itemgetter
from typing import Any

import polars as pl

from clickassay.core.text.words import MINUS, count, listed, number, plural, signed, span, visible
from clickassay.correlation.uncertainty.intervals import ALPHA
from clickassay.findings.estimates import Estimate
from clickassay.report.charts.lines import MOST_LINES, Line, curves, difference_bars
from clickassay.report.charts.marks import IntervalHeads, common_domain, intervals
from clickassay.report.charts.vega import apart
from clickassay.report.model import Figure, Section, StudyReport
from clickassay.report.tables import (
    Cell,
    Fields,
    ReportTable,
    Row,
    ShownColumn,
    Spelled,
    Text,
    field,
    shown_table,
    under,
)
from clickassay.studies.evaluation.evaluate import Evaluation

PLACES = 4
"""Decimals of a shown number, as trec_eval has them; files for programs have all digits."""

MOST_BARS = 120
"""Queries of the picture of differences."""

_SINGLE = "intervals and t tests need two queries"
_ALIKE = "all differences are equal"
_INTERVAL, _TESTS, _QUERIES = "95% CI", "p-value", "Queries"
WORTH = "Worth: the number of queries judged by people alone that gives as narrow an interval."
LETTERS = "Runs that share a letter are not significantly different (Holm, over all comparisons)."
_NAMED = 4

Frames = Mapping[str, pl.DataFrame]
"""The tables of `studies.evaluation.forms.EVALUATION_TABLES` by name."""

Conventions = tuple[tuple[str, str], ...]
"""Pairs (convention, text)."""


# ---- columns: numbers with four decimals ---------------------------------------------------------


def _fixed(value: float | None, reason: str) -> Cell:
    return Estimate(None, reason=reason) if value is None else Spelled(number(value, PLACES), value)


def _number(head: str, name: str, reason: str) -> ShownColumn:
    return ShownColumn(head, lambda row: _fixed(row[name], reason))


def _with_ends(head: str, name: str, reason: str = "no query") -> tuple[ShownColumn, ...]:
    low, high = _number("low", "ci_low", _SINGLE), _number("high", "ci_high", _SINGLE)
    return _number(head, name, reason), *under(_INTERVAL, low, high)


def _test(head: str, name: str, reason: Text) -> ShownColumn:
    def cell(row: Fields) -> Cell:
        p, smallest = row[name], 10**-PLACES
        if p is None:
            return Estimate(None, reason=reason(row) if callable(reason) else reason)
        return Spelled(f"< {smallest:g}" if p < smallest else number(p, PLACES), p)

    return ShownColumn(head, cell)


def _pair(row: Fields) -> str:
    return f"{row['run']} {MINUS} {row['baseline']}"


# ---- tables -------------------------------------------------------------------------------------


_BY_RUN: Mapping[str, Any] = {"explained": False, "group_head": "Run", "group": itemgetter("run")}
_BY_RUNS: Mapping[str, Any] = {"explained": False, "group_head": "Runs", "group": _pair}
_BY_CLASS: Mapping[str, Any] = {
    "explained": False, "group_head": "Class", "group": lambda row: f"{row['by']}: {row['class']}",
}  # fmt: skip
_MEASURE = field("Measure", "measure")


def evaluation_tables(frames: Frames, *, per_query: bool) -> tuple[ReportTable, ...]:
    """Return all tables except the curves, with all their rows."""
    tables = [runs_table(frames["runs"]), means_table(frames["means"])]
    if _has(frames, "leaderboard"):
        board = frames["leaderboard"]
        tables += [replace(leaderboard_table(board), notes=(highest(board), LETTERS))]
    tables += [comparisons_table(frames["comparisons"])] if frames["comparisons"].height else []
    tables += corrected_tables(frames)
    tables += class_tables(frames)
    tables += [per_query_table(frames["per_query"])] if per_query else []
    return tuple(replace(table, most=max(1, len(table.rows))) for table in tables)


def _has(frames: Frames, name: str) -> bool:
    return name in frames and frames[name].height > 0


def runs_table(frame: pl.DataFrame) -> ReportTable:
    """Return the counts of queries and results of each run."""
    run, *counts = frame.columns
    heads = ("Judged", "Averaged", "Missing", "Not judged", "Results", "With a grade")
    columns = [field(head, name) for head, name in zip(heads, counts, strict=True)]
    return shown_table(
        "runs", "Queries and results of the runs", frame, field("Run", run),
        (*under(_QUERIES, *columns[:4]), *columns[4:]), explained=False,
    )  # fmt: skip


def means_table(frame: pl.DataFrame) -> ReportTable:
    """Return the mean of each measure and run, with its bounds where they were computed."""
    bounds = (_number("least", "low", "no bound"), _number("largest", "high", "no bound"))
    shown = under("Bounds", *bounds) if frame["low"].count() > 0 else ()
    columns = (*_with_ends("Mean", "mean"), field(_QUERIES, "n_queries"), *shown)
    return shown_table("means", "Means over queries", frame, _MEASURE, columns, **_BY_RUN)


def comparisons_table(frame: pl.DataFrame) -> ReportTable:
    """Return the differences of every two runs, with tests."""

    def why(row: Fields) -> str:
        return _SINGLE if row["ci_low"] is None else _ALIKE

    return shown_table(
        "comparisons", "Differences between runs", frame, _MEASURE,
        (
            *_with_ends("Difference", "difference"),
            *under(_TESTS, _test("t test", "p_value", why), _test("randomised", "p_randomised", why),
                   _test("Holm", "p_holm", why)),
            *under(_QUERIES, *(field(name, name) for name in ("better", "worse", "equal"))),
        ),
        notes=("Better means a larger value, worse a smaller one, even where less is better.",), **_BY_RUNS,
    )  # fmt: skip


def leaderboard_table(frame: pl.DataFrame) -> ReportTable:
    """Return the runs in the order of their means, with the letters of their groups."""
    p = _test("p", "p_best", _ALIKE)
    return shown_table(
        "leaderboard", "Leaderboard", frame, ShownColumn("Run", lambda row: f"{row['place']}. {row['run']}"),
        (
            field("Letters", "group"), *_with_ends("Mean", "mean", _SINGLE),
            _number("behind the first", "below_best", _SINGLE),
            replace(p, cell=lambda row: "" if row["place"] == 1 else p.cell(row)),
        ),
        group=itemgetter("measure"), notes=(LETTERS,), group_head="Measure", explained=False,
    )  # fmt: skip


def highest(frame: pl.DataFrame) -> str:
    """Say which run has the best mean of the first measure, and which do not differ from it significantly."""
    first = frame.filter(measure=frame["measure"][0])
    top = first.row(0, named=True)
    least = first["mean"].drop_nulls()
    lowest = least.len() > 1 and least[0] < least[-1]
    rest = first[1:]
    beaten = pl.col("p_best").fill_null(1.0) < ALPHA
    alike = [visible(run) for run in rest.filter(~beaten)["run"]]
    if not alike:
        others = "all other runs are significantly different"
    elif len(alike) == rest.height:
        others = "no run is significantly different from it"
    else:
        named = listed(alike) if len(alike) <= _NAMED else f"{len(alike)} other runs"
        others = f"{named} {'is' if len(alike) == 1 else 'are'} not significantly different from it"
    mean = "lowest" if lowest else "highest"
    return f"{visible(top['run'])} has the {mean} mean {top['measure']}; {others}."


def answer(evaluation: Evaluation) -> str:
    """Return which ranking is better, or the mean of the only one, without a full stop."""
    means, comparisons = evaluation.means, evaluation.comparisons
    if evaluation.leaderboard.height:
        return highest(evaluation.leaderboard).removesuffix(".")
    if comparisons.height:
        row = comparisons.row(0, named=True)
        one, other, ahead = visible(row["run"]), visible(row["baseline"]), row["difference"]
        is_less = any(one.metric.less_is_better for one in evaluation.measures if str(one) == row["measure"])
        known = row["ci_low"] is not None
        ends = f" (95% CI {span(row['ci_low'], row['ci_high'])})" if known else ""
        numbers = f"{row['measure']} {signed(ahead)}{ends}"
        if row["p_holm"] is None or row["p_holm"] >= ALPHA:
            return f"No significant difference between {one} and {other}: {numbers}"
        return f"{one} {'beats' if (ahead > 0) is not is_less else 'is worse than'} {other}: {numbers}"
    row = means.row(0, named=True)
    ends = "" if row["ci_low"] is None else f" (95% CI {span(row['ci_low'], row['ci_high'])})"
    return f"{visible(row['run'])}: {row['measure']} {number(row['mean'])}{ends}"


def class_tables(frames: Frames) -> list[ReportTable]:
    """Return means and differences within classes of queries; none without classes."""
    if not _has(frames, "class_means"):
        return []
    queries = field(_QUERIES, "n_queries")
    tables = [
        shown_table(
            "class_means", "Means by class of queries", frames["class_means"],
            ShownColumn("Run and measure", lambda row: f"{row['run']}, {row['measure']}"),
            (*_with_ends("Mean", "mean", _SINGLE), queries), **_BY_CLASS,
        ),
        shown_table(
            "class_comparisons", "Differences by class of queries", frames["class_comparisons"],
            ShownColumn("Runs and measure", lambda row: f"{_pair(row)}, {row['measure']}"),
            (
                *_with_ends("Difference", "difference", _SINGLE),
                *under(_TESTS, _test("t test", "p_value", _ALIKE), _test("Holm", "p_holm", _ALIKE)), queries,
            ),
            **_BY_CLASS,
        ),
    ]  # fmt: skip
    return [table for table in tables if table.rows]


def corrected_tables(frames: Frames) -> list[ReportTable]:
    """Return means and differences of a judge of more queries, corrected by people; none without a judge."""
    if not _has(frames, "corrected_means"):
        return []

    def corrected(head: str, name: str) -> ShownColumn:
        return ShownColumn(head, lambda row: _fixed(row[name], row["reason"] or _SINGLE))

    def worth(row: Fields) -> Cell:
        if row["worth"] is None:
            return Estimate(None, reason=row["reason"] or _SINGLE)
        return Spelled(count(round(row["worth"])), row["worth"])

    def why(row: Fields) -> str:
        return row["reason"] or _ALIKE

    sides = [
        (corrected("mean", side), corrected("low", f"{side}_low"), corrected("high", f"{side}_high"))
        for side in ("judge", "people")
    ]
    columns = (
        corrected("Corrected", "value"),
        *under(_INTERVAL, corrected("low", "ci_low"), corrected("high", "ci_high")),
        *under("By the judge alone", *sides[0]),
        *under("By people alone", *sides[1]),
        *under(_QUERIES, field("of both", "n_both"), ShownColumn("worth", worth)),
    )
    tests = under(_TESTS, _test("p", "p_value", why), _test("Holm", "p_holm", why))
    tables = [
        shown_table(
            "corrected_means", "Means corrected by people", frames["corrected_means"], _MEASURE, columns,
            notes=(WORTH,), **_BY_RUN,
        ),
        shown_table(
            "corrected_comparisons", "Differences corrected by people", frames["corrected_comparisons"],
            _MEASURE, (*columns, *tests), notes=(WORTH,), **_BY_RUNS,
        ),
    ]  # fmt: skip
    return [table for table in tables if table.rows]


def per_query_table(frame: pl.DataFrame) -> ReportTable:
    """Return the value of each measure, run and query."""
    columns = [_number("Value", "value", "no bound")]
    if frame["low"].count():
        columns += [_number("least", "low", "no bound"), _number("largest", "high", "no bound")]
    return shown_table(
        "per_query", "Values by query", frame.sort("run", "measure", maintain_order=True),
        field("Query", "query"), columns, group=lambda row: f"{row['run']}, {row['measure']}", data=frame,
        for_papers=False, group_head="Run and measure", explained=False,
    )  # fmt: skip


def gain_table(frame: pl.DataFrame) -> ReportTable:
    """Return cumulated gains by rank and run, and of the ideal lists."""
    columns: list[ShownColumn] = []
    for name in ("cg", "dcg"):
        shown = (("of the list", name), ("ideal", f"ideal_{name}"), ("ratio", f"n{name}"))
        columns += under(name.upper(), *(_number(head, own, "no query") for head, own in shown))
    return shown_table(
        "gain_curves", "Cumulated gain by rank", frame, field("Rank", "rank"), columns, **_BY_RUN
    )


def _by_difference(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.sort("difference", "query", descending=[True, False])


def _runs(frame: pl.DataFrame) -> tuple[str, ...]:
    return tuple(frame["run"].unique(maintain_order=True))


# ---- pictures ---------------------------------------------------------------------------------


def means_figures(frame: pl.DataFrame, shares: frozenset[str]) -> tuple[Figure, ...]:
    """Draw means with intervals, by measure; of one run, all those in 0..1 (`shares`) in one picture."""
    if frame["run"].n_unique() == 1:
        rows = {row["measure"]: row for row in frame.iter_rows(named=True) if row["measure"] in shares}
        return (_means_figure("means", "Means", rows, "Measure"),) if rows else ()
    return tuple(
        _means_figure(
            f"mean-{place}", str(measure), {row["run"]: row for row in part.iter_rows(named=True)}, "Run"
        )
        for place, ((measure,), part) in enumerate(frame.group_by("measure", maintain_order=True))
    )


def _means_figure(name: str, title: str, rows: Mapping[str, Mapping[str, Any]], head: str) -> Figure:
    labels = apart({key: visible(key) for key in rows})
    means = {
        labels[key]: Estimate(row["mean"], row["ci_low"], row["ci_high"])
        for key, row in rows.items()
        if row["mean"] is not None
    }
    texts = IntervalHeads("Mean over queries", name=head)
    drawing = intervals(tuple(means), means, texts, domain=common_domain(tuple(means.values())))
    values = "; ".join(f"{key} {number(one.value, PLACES)}" for key, one in means.items())
    return Figure(name, title, f"{title}, means with their 95% CIs: {values}.", drawing, "means")


def recall_precision_figure(frame: pl.DataFrame) -> Figure:
    """Draw interpolated precision by recall."""
    lines = _lines(frame, "recall", "precision")
    drawing = curves(lines, domains=((0, 1), (0, 1)), heads=("Recall", "Precision"))
    words = "; ".join(
        f"{visible(line.name)} from {number(high, PLACES)} to {number(low, PLACES)}"
        for line in lines
        for (_, high), *_, (_, low) in [line.points]
    )
    alt = f"Interpolated precision falls from recall 0 to recall 1: {words}."
    return Figure("recall-precision", "Precision by recall", alt, drawing, "recall_precision")


def _gain_figure(frame: pl.DataFrame, name: str, ideal: str | None, title: str) -> Figure:
    lines = _lines(frame, "rank", name)
    if ideal is not None:
        lines += [Line("ideal", _lines(frame, "rank", ideal)[0].points, quiet=True)]
    top = max(1e-9, *(y for line in lines for _, y in line.points))
    depth = max(2, int(str(frame["rank"].max())))
    words = "; ".join(f"{visible(line.name)} {number(line.points[-1][1], PLACES)}" for line in lines)
    drawing = curves(
        lines, domains=((1, depth), (0, 1 if ideal is None else 1.05 * top)), heads=("Rank", title)
    )
    return Figure(
        f"curve-{name}", f"{title} by rank", f"{title} at rank {depth}: {words}.", drawing, "gain_curves"
    )


def _lines(frame: pl.DataFrame, x: str, y: str) -> list[Line]:
    return [Line(run, frame.filter(run=run).select(x, y).rows()) for run in _runs(frame)[:MOST_LINES]]


def difference_figure(frame: pl.DataFrame) -> Figure:
    """Draw the differences of R-precision of two runs, a bar for each query."""
    rows = _by_difference(frame).select("query", "difference").rows()
    half = MOST_BARS // 2
    drawn = rows if len(rows) <= MOST_BARS else [*rows[:half], *rows[-half:]]
    up, down = (sum(sign * value > 0 for _, value in rows) for sign in (1, -1))
    other, first = (visible(frame[name][0]) for name in ("run", "baseline"))
    alt = (
        f"R-precision of {other} is higher for {plural(up, 'query', 'queries')}, that of {first} for {down}."
    )
    alt += "" if drawn is rows else f" Drawn are the {half} largest and the {half} smallest differences."
    drawing = difference_bars(drawn, head="Difference of R-precision")
    return Figure("r-precision", "R-precision, query by query", alt, drawing, "r_precision_differences")


# ---- the page -----------------------------------------------------------------------------------


def build_evaluation_report(
    evaluation: Evaluation, frames: Frames, told: Conventions, *, rel: int, command: str, per_query: bool
) -> StudyReport:
    """Turn the frames of an evaluation into sentences, tables and pictures, without writing anything.

    frames: those of the evaluation that are shown, and its curves; rel: lowest grade that the curves of
    precision count as relevant.
    """
    shares = frozenset(str(one) for one in evaluation.measures if one.metric.high == 1)
    runs, means = frames["runs"]["run"].to_list(), frames["means"]
    queries = plural(int(frames["runs"]["queries_averaged"][0]), "query", "queries")
    named = [visible(run) for run in runs] if len(runs) <= _NAMED else [plural(len(runs), "run")]
    sections = [
        Section(
            "means", "Means", ("Mean of each measure over the queries, with its 95% CI.",),
            means_figures(means, shares), tables=(means_table(means), runs_table(frames["runs"])),
        ),
        *_comparison_sections(frames),
        *_curve_sections(frames, rel),
    ]  # fmt: skip
    if per_query:
        reading, table = ("Every measure of every query.",), per_query_table(frames["per_query"])
        sections.append(Section("queries", "Values by query", reading, folded=(table,)))
    lead = f"{plural(means['measure'].n_unique(), 'measure')} of {listed(named)} over {queries}."
    return StudyReport(
        "Rankings against judgments", answer(evaluation), lead, told, tuple(sections),
        visible(command, limit=10_000),
    )  # fmt: skip


def _comparison_sections(frames: Frames) -> Iterable[Section]:
    if "leaderboard" in frames:
        board = frames["leaderboard"]
        yield Section("leaderboard", "Leaderboard", (highest(board),), tables=(leaderboard_table(board),))
    frame = frames["comparisons"]
    if frame.height:
        significant = frame.filter(pl.col("p_holm") < ALPHA).height
        have = "has" if significant == 1 else "have"
        text = (
            f"{significant} of {plural(frame.height, 'difference')} {have} p < 0.05 after Holm's correction."
        )
        yield Section("comparisons", "Comparisons", (text,), tables=(comparisons_table(frame),))
    if "class_means" in frames:
        frame = frames["class_comparisons"]
        significant = frame.filter(pl.col("p_holm") < ALPHA).height
        text = (
            f"{significant} of {plural(frame.height, 'difference')} within classes have p < 0.05 after "
            "Holm's correction over all of them. A difference in a class alone is no sign that classes "
            "differ: compare intervals."
        )
        yield Section("classes", "By class of queries", (text,), tables=tuple(class_tables(frames)))
    if "corrected_means" in frames:
        judged, both = frames["corrected_means"].select("n_queries", "n_both").row(0)
        text = (
            f"A judge judged {plural(judged, 'query', 'queries')}, people {count(both)} of them. People's "
            "grades correct the judge's means over all its queries. Intervals are valid whatever errors the "
            "judge makes, if people's queries were chosen as the conventions say."
        )
        yield Section("corrected", "Corrected by people", (text,), tables=tuple(corrected_tables(frames)))


def _curve_sections(frames: Frames, rel: int) -> Iterable[Section]:
    more = frames["recall_precision"]["run"].n_unique() - MOST_LINES  # the same runs have curves of gain
    left_out = (f"Pictures show the first {MOST_LINES} runs, tables all.",) if more > 0 else ()
    frame = frames["recall_precision"]
    text = (
        "The largest precision at each level of recall or above, averaged over the queries. "
        f"Relevant: grade {rel} or more."
    )
    by_run = [frame.filter(run=run)["precision"].to_list() for run in _runs(frame)]
    levels = zip(frame["recall"].unique(maintain_order=True), *by_run, strict=True)
    rows = tuple(
        Row("", f"{level:.1f}", tuple(_fixed(value, "no query") for value in values))
        for level, *values in levels
    )
    title = "Interpolated precision by recall"
    table = ReportTable("recall_precision", title, "Recall", _runs(frame), rows, data=frame, explained=False)
    yield Section(
        "recall", "Precision by recall", (text, *left_out), (recall_precision_figure(frame),), folded=(table,)
    )
    frame = frames["gain_curves"]
    text = (
        "Sum of the grades down to each rank (CG), and of the grades divided by max(1, log2 of the rank) "
        "(DCG), averaged over the queries, with those of the ideal lists (judged results by falling grade)."
    )
    ratio = (
        "The ratio is one of averages (Järvelin and Kekäläinen 2000), not an average of ratios as nDCG is."
    )
    one, two = (_gain_figure(frame, name, f"ideal_{name}", name.upper()) for name in ("cg", "dcg"))
    three = _gain_figure(frame, "ndcg", None, "DCG / ideal DCG")
    yield Section(
        "gain", "Gain by rank", (text, ratio, *left_out), (one, two, three), folded=(gain_table(frame),)
    )
    frame = frames["r_precision_differences"]
    if frame.height:
        figure = difference_figure(frame)
        text = f"{figure.alt} Relevant: grade {rel} or more."
        meaning = "R-precision: precision at the number of relevant results of the query."
        table = shown_table(
            "r_precision_differences", "Differences of R-precision by query", _by_difference(frame),
            field("Query", "query"), (_number("Difference", "difference", "no query"),), data=frame,
            for_papers=False, explained=False,
        )  # fmt: skip
        yield Section("r-precision", "Query by query", (text, meaning), (figure,), folded=(table,))
