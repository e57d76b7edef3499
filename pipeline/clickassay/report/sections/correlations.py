"""Correlations of click and offline metrics: Table 2, Table 3, and what would correlate anyway."""

import re
from collections.abc import Iterable, Mapping, Sequence

import polars as pl

from clickassay.core.contracts.columns import EVERY
from clickassay.core.records import SAMPLE_COLUMNS, SampleKey
from clickassay.core.text.words import capital, listed, number
from clickassay.correlation.uncertainty.intervals import ALPHA
from clickassay.findings.estimates import Estimate, estimate, not_computed
from clickassay.findings.ranking import Lead, Ranking, rank, rank_within
from clickassay.findings.run import Run
from clickassay.metrics.catalogue import BASELINES
from clickassay.report import model
from clickassay.report.charts.marks import heat_map
from clickassay.report.tables import Cell, ReportTable, Row, p_cell
from clickassay.report.verdict.sentences import BASELINE_MEANINGS, adds_text, caution_sentence, test_text

NO_CORRELATIONS = "There is no correlation to show: no sample has configurations to compare."
HEAT_LEGEND = (("cell-up", "positive"), ("cell-down", "negative"), ("bold", "highest in its row"))
QCTR_NOTE = (
    "QCTR comes last: Chapelle et al. (2009) found its correlations slightly negative and excluded it from "
    "their tables."
)
NOISE_CORRECTED_NOTE = (
    "Clicks in few sessions are noisy, and noise lowers every correlation. These estimates remove the "
    "noise: they show what the same configurations would give with infinitely many sessions. Estimates "
    "may exceed 1."
)


# ---- Table 2 ------------------------------------------------------------------------------------


def correlations_section(run: Run) -> model.Section:
    """Table 2: every click metric against every offline metric and baseline, per sample."""
    known = {sample: model.by_pair(run.correlations(sample)) for sample in model.shown_samples(run)}
    drawn = {sample: cells for sample, cells in known.items() if cells}
    pictured = list(drawn.items())[: None if run.settings.full else 1]
    figures = tuple(_heat_figure(run, place, *one) for place, one in enumerate(pictured))
    every, names = run.competing("correlations").filter(split=EVERY), (*run.editorial, *BASELINES)
    corrected = {
        sample: {
            (row["click_metric"], row["editorial_metric"]): model.noise_corrected(row)
            for row in sample.rows(every).iter_rows(named=True)
        }
        for sample in drawn
    }

    def rows(estimates: Mapping[SampleKey, model.ByPair]) -> tuple[Row, ...]:
        return tuple(
            Row(sample.label, click, model.of_metrics(cells, click, names))
            for sample, cells in estimates.items()
            for click in _present(run.clicks, cells, 0)
        )

    without_noise = rows(corrected)
    tables = (
        ReportTable(
            "table2_correlations", "Table 2. Weighted correlation, with 95% CI", "Click metric",
            names, rows({sample: model.by_pair(sample.rows(every)) for sample in drawn}), data=every,
        ),
        ReportTable(
            "table2_noise_corrected",
            "Table 2. Noise-corrected weighted correlation (as with infinitely many sessions), with 95% CI",
            "Click metric", names, without_noise, notes=(NOISE_CORRECTED_NOTE,) if without_noise else (),
        ),
    )  # fmt: skip
    reading = _reading(run) if drawn else (NO_CORRELATIONS,)
    return model.Section(
        "correlations", "Which metric correlates with which click metric", reading, figures,
        legend=HEAT_LEGEND if figures else (), folded=tables,
    )  # fmt: skip


def _heat_figure(run: Run, place: int, sample: SampleKey, cells: model.ByPair) -> model.Figure:
    clicks, editorial = _present(run.clicks, cells, 0), _present(run.editorial, cells, 1)
    parts = []
    for click in clicks:
        own = (f"{name} {number(cells[click, name].value)}" for name in editorial if (click, name) in cells)
        parts.append(f"{click}: {', '.join(own)}")
    alt = f"Heat map of correlations at {sample.label}. {'; '.join(parts)}."
    drawing = heat_map(cells, clicks, editorial)
    return model.Figure(f"correlations-{place}", capital(sample.label), alt, drawing, "table2_correlations")


def _present(names: Sequence[str], cells: Iterable[tuple[str, str]], side: int) -> tuple[str, ...]:
    there = {pair[side] for pair in cells}
    return tuple(name for name in names if name in there)


def _reading(run: Run) -> tuple[str, ...]:
    shown = pl.col("click_metric").is_in(run.clicks)
    known = run.frames["correlations"].filter(pl.col("correlation").is_not_null(), shown, split=EVERY)
    if known.is_empty():
        return ("No correlation has a value; the reasons are under the table.", QCTR_NOTE)
    top = known.sort("correlation", descending=True, maintain_order=True).row(0, named=True)
    return (
        f"The highest of these correlations is {number(top['correlation'])}: {top['editorial_metric']} with "
        f"{top['click_metric']} at {SampleKey.of(top).label}. Rows share sessions and clicks, so a "
        f"metric that is highest in many rows is not stronger evidence.",
        QCTR_NOTE,
    )


# ---- Table 3 ------------------------------------------------------------------------------------


_BINARY = ("AP", "RR")
_VARIANT = re.compile(r"^(AP|RR)\(rel=(\d+)\)$")


def good_section(run: Run) -> model.Section:
    """Table 3: AP and RR, by the lowest grade that counts as relevant."""
    there = set(run.frames["correlations"]["editorial_metric"])
    matches = filter(None, (_VARIANT.match(name) for name in run.editorial if name in there))
    variants = sorted((match[1], -int(match[2]), match[0]) for match in matches)
    # AP and RR, each with its variants of another relevance threshold, the lowest last
    bases = {base: [name for other, _, name in variants if other == base] for base in _BINARY}
    families = tuple((base, *names) for base, names in bases.items() if names)
    names = tuple(name for family in families for name in family)
    data = run.frames["correlations"].filter(pl.col("editorial_metric").is_in(names), split=EVERY)
    title = "Table 3. AP and RR by the lowest grade that counts as relevant"

    def rows(samples: Sequence[SampleKey]) -> tuple[Row, ...]:
        return tuple(
            Row(model.group_heading(run, sample), click, model.of_metrics(cells, click, names))
            for sample in samples
            if names and (cells := model.by_pair(run.correlations(sample)))
            for click in _present(run.clicks, cells, 0)
        )

    own = ReportTable(
        "table3_good", title + model.headline_suffix(run), "Click metric", names, rows(run.headline_samples),
        data=data,
    )  # fmt: skip
    rest = ReportTable("table3_samples", title, "Click metric", names, rows(model.other_samples(run)))
    cells = {} if run.headline is None else model.by_pair(run.correlations(run.headline))
    changes = []
    for family in families:
        values = {name: cells.get((run.click, name), not_computed()).value for name in family}
        known = [f"{name} {number(one)}" for name, one in values.items() if one is not None]
        changes += [", ".join(known)] if len(known) > 1 else []
    text = "Nothing can be shown: the run has no variant of AP or RR with another relevance threshold."
    if families:
        text = f"Nothing can be compared: AP and RR have no correlation with {run.click}."
    if changes and run.headline is not None:
        text = (
            f"Correlation with {run.click} at {run.headline.label}, by the lowest grade that counts as "
            f"relevant: {'; '.join(changes)}. AP and RR without a threshold take "
            f"“{run.grade_label(run.settings.relevant_grade)}”."
        )
    return model.Section(
        "good", "Does the relevance threshold matter?", (text,), tables=(own,),
        folded=model.other_samples_table(rest), fold_words="Other samples",
    )  # fmt: skip


ORDER_BLIND = BASELINES[0]
BASELINE_HEADS = (
    *(capital(BASELINE_MEANINGS[name]) for name in BASELINES),
    *("Best metric", "Its name", "Better than the mean grade by", "Adjusted p"),
)


def baselines_section(run: Run) -> model.Section:
    """Compare the best metric with the baselines, and SS with its value if clicks ignored the grades."""
    plain = run.of_baselines("correlations").filter(split=EVERY)
    shown = [sample for sample in model.shown_samples(run) if sample.rows(plain).height]
    ss = run.frames["correlations"].filter(split=EVERY, click_metric="SS")
    nulls = []
    for sample in model.shown_samples(run):
        by_metric = {row["editorial_metric"]: row for row in sample.rows(ss).iter_rows(named=True)}
        if by_metric:
            found = [by_metric.get(name) for name in run.editorial]
            values = [None if row is None else row["null_correlation"] for row in found]
            nothing = (not_computed() if value is None else Estimate(value) for value in values)
            nulls += [
                Row(sample.label, "observed", tuple(map(estimate, found))),
                Row(sample.label, "if clicks ignored grades", tuple(nothing)),
            ]
    columns = (*SAMPLE_COLUMNS, "click_metric", "editorial_metric", "correlation", "null_correlation")
    rows = []
    for sample in shown:
        ranking = rank(run, sample)
        best: tuple[Cell, ...] = (not_computed(), None, not_computed(), None)
        if ranking.values:
            added = _lead(ranking, ORDER_BLIND)
            best = (ranking.top, ranking.best, added.estimate, p_cell(added.p_adjusted))
        rows.append(Row("", sample.label, (*baseline_values(run, sample).values(), *best)))
    tables = (
        ReportTable(
            "baselines", f"Correlation of the baselines with {run.click}, and of the best metric", "Sample",
            BASELINE_HEADS, tuple(rows), data=plain,
        ),
        ReportTable(
            "ss_null", "Correlation of SS: observed, and if clicks ignored the grades", "SS", run.editorial,
            tuple(nulls), data=ss.select(columns),
        ),
    )  # fmt: skip
    reading: tuple[str, ...] = ("Nothing can be compared: no configuration was used.",)
    if run.headline is not None and run.headline in shown:
        reading = (*_baseline_sentences(run, run.headline), _null_text(run.headline.rows(ss)))
    return model.Section("baselines", "Baselines: correlations without a metric", reading, tables=tables)


def baseline_values(run: Run, sample: SampleKey) -> dict[str, Estimate]:
    """Return the correlations of the baselines with the headline click metric, by name."""
    plain = model.by_pair(sample.rows(run.of_baselines("correlations")).filter(split=EVERY))
    return dict(zip(BASELINES, model.of_metrics(plain, run.click, BASELINES), strict=True))


def _lead(ranking: Ranking, baseline: str) -> Lead:
    """Return how much higher than a baseline the best metric correlates with the headline click metric."""
    return ranking.leads.get(baseline, Lead(Estimate(None, reason="not compared")))


def _baseline_sentences(run: Run, sample: SampleKey) -> tuple[str, ...]:
    """Return the values of the baselines, whether the best metric is above them, and what metrics add."""
    baselines = baseline_values(run, sample).items()
    values = listed(f"{BASELINE_MEANINGS[name]} {number(one.value)}" for name, one in baselines)
    text = f"Correlation with {run.click} at {sample.label}: {values}."
    ranking = rank(run, sample)
    if not ranking.values:
        return (text,)
    best, added = ranking.best, _lead(ranking, ORDER_BLIND)
    not_beaten = [f"the {BASELINE_MEANINGS[name]}" for name in BASELINES if not _lead(ranking, name).is_ahead]
    verdict = f"It is significantly better than all of them (adjusted p < {ALPHA})."
    if not_beaten:
        verdict = f"It is not significantly better than {listed(not_beaten, 'or')}."
    texts = [f"{text} The best metric, {best}, has {number(ranking.top.value)}. {verdict}"]
    if added.value is not None:
        texts.append(
            f"The mean grade ignores the order of results; the correlation of {best} is "
            f"{number(added.value)} higher ({test_text(added)}).{caution_sentence(added.estimate)}"
        )
    if run.headline_place is not None:
        within = rank_within(run, run.headline_place)
        adds = [text for name in within.baselines if (text := adds_text(within, name))]
        texts += [f"Within queries: {' '.join(adds)}"] if adds else []
    return tuple(texts)


def _null_text(ss: pl.DataFrame) -> str:
    """Return how high the correlations of SS would be if clicks ignored the grades."""
    text = (
        "SS is 1 if a clicked result has a good grade. SS therefore correlates with offline metrics even "
        "if clicks ignore the grades; for other click metrics, this correlation would be 0."
    )
    known = ss.drop_nulls(["correlation", "null_correlation"])
    if known.is_empty():
        return text
    top = known.sort("correlation", "editorial_metric", descending=True).row(0, named=True)
    return (
        f"{text} That of {top['editorial_metric']} is {number(top['correlation'])}; if clicks ignored the "
        f"grades it would be {number(top['null_correlation'])}. Do not compare metrics by SS."
    )
