"""Correlations of click and editorial metrics: Table 2, pairwise comparisons, Table 3, yardsticks."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from pipeline.contracts import EVERY
from pipeline.report.baselines import BASELINES, SampleBaselines
from pipeline.report.charts import common_domain, heat_map, intervals
from pipeline.report.findings import Ranking, leaders
from pipeline.report.model import (
    HEADLINE_CLICK,
    Cell,
    Estimate,
    Figure,
    Row,
    Run,
    SampleKey,
    Section,
    Table,
    by_pair,
    estimate,
    others,
)
from pipeline.report.words import MINUS, capital, listed, number, plural, sentence, signed, span

NO_CORRELATIONS = "There is no correlation to show: no sample has configurations to compare."
HEAT_LEGEND = (("cell-up", "positive"), ("cell-down", "negative"), ("bold", "highest of its row"))
QCTR_NOTE = (
    "QCTR stands last: Chapelle et al. (2009) found it slightly negative and left it out of their tables."
)
_VARIANT = re.compile(r"^(AP|RR)\(rel=(\d+)\)$")


def correlations_section(run: Run) -> Section:
    """Table 2: every click metric against every editorial metric, per sample."""
    known = {sample: by_pair(run.correlations(sample)) for sample in run.shown}
    drawn = {sample: found for sample, found in known.items() if found}
    figures = tuple(_heat_figure(run, place, *one) for place, one in enumerate(drawn.items()))
    table = Table(
        "table2_correlations",
        "Table 2. Weighted correlation, with 95 % interval",
        "Click metric",
        run.editorial,
        tuple(row for sample, found in drawn.items() for row in _metric_rows(run, sample, found)),
        data=run.frames["correlations"].filter(split=EVERY),
    )
    return Section(
        "correlations",
        "Which metric goes with which click",
        _correlations_reading(run) if drawn else (NO_CORRELATIONS,),
        figures,
        legend=HEAT_LEGEND if figures else (),
        folded=(table,),
    )


def _metric_rows(run: Run, sample: SampleKey, found: Mapping[tuple[str, str], Estimate]) -> list[Row]:
    return [
        Row(sample.label, click, tuple(found.get((click, name), _absent()) for name in run.editorial))
        for click in _present(run.clicks, found, 0)
    ]


def _heat_figure(
    run: Run, place: int, sample: SampleKey, found: Mapping[tuple[str, str], Estimate]
) -> Figure:
    return Figure(
        f"correlations-{place}",
        capital(sample.label),
        _heat_words(run, sample, found),
        heat_map(found, _present(run.clicks, found, 0), _present(run.editorial, found, 1)),
    )


def _absent() -> Estimate:
    return Estimate(None, reason="not computed")


def _present(names: Sequence[str], found: Mapping[tuple[str, str], Estimate], side: int) -> tuple[str, ...]:
    there = {pair[side] for pair in found}
    return tuple(name for name in names if name in there)


def _heat_words(run: Run, sample: SampleKey, found: Mapping[tuple[str, str], Estimate]) -> str:
    parts = [
        f"{click}: "
        + ", ".join(
            f"{name} {number(found[click, name].value)}" for name in run.editorial if (click, name) in found
        )
        for click in _present(run.clicks, found, 0)
    ]
    return f"Heat map of correlations at {sample.label}. {'; '.join(parts)}."


def _correlations_reading(run: Run) -> tuple[str, ...]:
    winners = leaders(run)
    if winners.is_empty():
        return ("No correlation has a value; the reasons stand under the table.", QCTR_NOTE)
    wins = (
        winners["editorial_metric"]
        .value_counts()
        .sort(["count", "editorial_metric"], descending=[True, False])
    )
    first = wins.row(0, named=True)
    top = winners.sort("correlation", descending=True, maintain_order=True).row(0, named=True)
    where = SampleKey(top["market"], top["depth"], top["judge"]).label
    return (
        f"{first['editorial_metric']} has the highest correlation in {first['count']} of "
        f"{plural(winners.height, 'row')} (sample and click metric). The highest of all is "
        f"{number(top['correlation'])}, {top['editorial_metric']} with {top['click_metric']} at {where}.",
        QCTR_NOTE,
    )


def comparisons_section(run: Run, ranking: Ranking | None) -> Section:
    """Which editorial metrics differ, for the headline click metric of the headline sample."""
    data = run.frames["comparisons"]
    title = "Which metrics can be told apart"
    if run.headline is None:
        rows: pl.DataFrame = data.head(0)
    else:
        rows = run.headline.rows(data).filter(click_metric=HEADLINE_CLICK)
    table = Table(
        "comparisons",
        f"Differences of correlations with {HEADLINE_CLICK}{run.at(*run.own)}",
        "Pair",
        ("Difference", "p-value", "Told apart"),
        _comparison_rows(run, rows),
        data=data,
    )
    if rows.is_empty():
        return Section("comparisons", title, ("There are no two metrics to compare.",), tables=(table,))
    figures = () if ranking is None else _lead_figure(ranking)
    return Section("comparisons", title, _comparisons_reading(run, rows), figures, folded=(table,))


def _comparison_rows(run: Run, rows: pl.DataFrame) -> tuple[Row, ...]:
    return tuple(
        Row(
            "",
            f"{row['metric_a']} {MINUS} {row['metric_b']}",
            (estimate(row, "difference"), Estimate(row["p_value"], reason="no p-value"), _verdict(row)),
        )
        for row in _pairs(run, rows)
    )


def _pairs(run: Run, rows: pl.DataFrame) -> list[dict[str, Any]]:
    """Rows of `comparisons` in the order of reports."""
    place = {name: at for at, name in enumerate(run.editorial)}
    return sorted(
        rows.iter_rows(named=True),
        key=lambda row: (place.get(row["metric_a"], 99), place.get(row["metric_b"], 99)),
    )


def _verdict(row: Mapping[str, float | None]) -> str:
    found = Estimate(row["difference"], row["ci_low"], row["ci_high"])
    if found.value is None or found.low is None:
        return "not tested"
    return "no" if found.covers_zero else "yes"


def _comparisons_reading(run: Run, rows: pl.DataFrame) -> tuple[str, ...]:
    verdicts = [(row["metric_a"], row["metric_b"], _verdict(row)) for row in _pairs(run, rows)]
    tested = [pair for pair in verdicts if pair[2] != "not tested"]
    alike = [f"{a} and {b}" for a, b, verdict in verdicts if verdict == "no"]
    where = run.headline.label if run.headline else ""
    if not tested:
        return (f"No two metrics can be compared at {where}: no difference has a value with an interval.",)
    text = f"At {where}, {len(tested) - len(alike)} of {plural(len(tested), 'pair')} can be told apart"
    if alike:
        text += f"; not {'; '.join(alike[:6])}" + (f" and {len(alike) - 6} more" if len(alike) > 6 else "")
    return (sentence(text), "Each interval stands for itself: none is widened for the number of comparisons.")


def _lead_figure(ranking: Ranking) -> tuple[Figure, ...]:
    if not ranking.leads:
        return ()
    best = ranking.best
    domain = common_domain([*ranking.leads.values(), Estimate(0.0)])
    words = ", ".join(
        f"{name} {signed(one.value or 0.0)} ({span(one.low, one.high)})"
        for name, one in ranking.leads.items()
    )
    return (
        Figure(
            "leads",
            f"How far {best} is ahead of each other metric, with 95 % interval",
            f"{best} minus: {words}.",
            intervals(ranking.others, ranking.leads, domain=domain),
        ),
    )


def good_section(run: Run) -> Section:
    """Table 3: AP and RR with the grade below `relevant_grade` counted not relevant or relevant."""
    title = "Does the border of relevance matter?"
    pairs = _variants(run.frames["correlations"]["editorial_metric"].unique().to_list())
    data = run.frames["correlations"].filter(
        pl.col("editorial_metric").is_in([name for pair in pairs for name in pair]), split=EVERY
    )
    label = run.grade_label(int(run.settings.get("relevant_grade", 3)) - 1)
    heads = tuple(word for _ in pairs for word in (f"{label} not relevant", f"{label} relevant"))
    words = f"Table 3. AP and RR with “{label}” counted not relevant or relevant"
    spanners = tuple((pair[0], 2 * at, 2) for at, pair in enumerate(pairs))
    own = Table(
        "table3_good",
        words + run.at(*run.own),
        "Click metric",
        heads,
        _good_rows(run, run.own, pairs),
        spanners,
        data=data,
    )
    rest = Table("table3_samples", words, "Click metric", heads, _good_rows(run, run.rest, pairs), spanners)
    return Section(
        "good",
        title,
        (_good_reading(run, pairs, label),),
        tables=(own,),
        folded=others(rest),
        fold_words="Other samples",
    )


def _good_rows(run: Run, samples: Sequence[SampleKey], pairs: Sequence[tuple[str, str]]) -> tuple[Row, ...]:
    names = [name for pair in pairs for name in pair]
    return tuple(
        Row(run.group(sample), click, tuple(found.get((click, name), _absent()) for name in names))
        for sample in samples
        if names and (found := by_pair(run.correlations(sample)))
        for click in _present(run.clicks, found, 0)
    )


def _variants(editorial: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Pairs of a binary metric and its variant with a lower border, as present."""
    found = [(match[1], name) for name in sorted(editorial) if (match := _VARIANT.match(name))]
    return tuple((base, variant) for base, variant in found if base in editorial)


def _good_reading(run: Run, pairs: Sequence[tuple[str, str]], label: str) -> str:
    if not pairs:
        return (
            "There is nothing to show: the run has no variant of AP or RR with a lower border of relevance."
        )
    found = {} if run.headline is None else by_pair(run.correlations(run.headline))
    changes = []
    for base, variant in pairs:
        before, after = (found.get((HEADLINE_CLICK, name), _absent()).value for name in (base, variant))
        if before is not None and after is not None:
            changes.append(f"{base} from {number(before)} to {number(after)}")
    if not changes or run.headline is None:
        return f"There is nothing to compare: AP and RR have no correlation with {HEADLINE_CLICK}."
    return (
        f"Counting “{label}” as relevant takes the correlation with {HEADLINE_CLICK} at {run.headline.label} "
        f"{listed(f'of {change}' for change in changes)}."
    )


def yardsticks_section(run: Run, found: Mapping[SampleKey, SampleBaselines]) -> Section:
    """Order-blind baselines beside the best metric, and SS when clicks ignore the grades."""
    blind = tuple(Row("", sample.label, _blind_cells(run, sample, one)) for sample, one in found.items())
    random = tuple(row for sample, one in found.items() for row in _random_rows(run, sample, one))
    tables = (
        Table(
            "baselines",
            f"Correlation of {HEADLINE_CLICK} with two plain baselines",
            "Sample",
            (*BASELINES, "best metric", "which"),
            blind,
            data=_blind_data(found),
        ),
        Table(
            "ss_random",
            "Correlation of SS: as observed, and with clicks dealt at random",
            "SS",
            run.editorial,
            random,
            data=_random_data(found),
        ),
    )
    return Section("yardsticks", "What would show up anyway", _yardsticks_reading(run, found), tables=tables)


def _blind_cells(run: Run, sample: SampleKey, one: SampleBaselines) -> tuple[Cell, ...]:
    overall = {
        pair[1]: value
        for pair, value in by_pair(run.correlations(sample)).items()
        if pair[0] == HEADLINE_CLICK
    }
    known = {name: value for name, value in overall.items() if value.value is not None}
    best = max(sorted(known), key=lambda name: known[name].value or 0.0, default=None)
    top: tuple[Cell, ...] = (_absent(), None) if best is None else (known[best], best)
    return (*(one.order_blind[name] for name in BASELINES), *top)


def _random_rows(run: Run, sample: SampleKey, one: SampleBaselines) -> tuple[Row, ...]:
    observed = by_pair(run.correlations(sample))
    return (
        Row(sample.label, "observed", tuple(observed.get(("SS", name), _absent()) for name in run.editorial)),
        Row(
            sample.label,
            "clicks at random",
            tuple(one.random_ss.get(name, _absent()) for name in run.editorial),
        ),
    )


def _yardsticks_reading(run: Run, found: Mapping[SampleKey, SampleBaselines]) -> tuple[str, ...]:
    if run.headline is None or run.headline not in found:
        return ("There is nothing to compare with: no configuration was kept.",)
    one = found[run.headline]
    blind = [f"{name} {number(value.value)}" for name, value in one.order_blind.items()]
    best, which = _blind_cells(run, run.headline, one)[2:]
    ahead = (
        f", the best metric ({which}) {number(best.value)}" if which and isinstance(best, Estimate) else ""
    )
    top = best.value if isinstance(best, Estimate) else None
    beaten = [name for name, value in one.order_blind.items() if (value.value or -1.0) >= (top or 1.0)]
    verdict = (
        f"No metric is above the {listed(beaten)}."
        if beaten
        else "Only what a metric has above these two is due to how it weighs the positions."
    )
    return (
        f"Correlation with {HEADLINE_CLICK} at {run.headline.label}: {', '.join(blind)}{ahead}. {verdict}",
        "SS asks whether a clicked result has a good grade, so it goes with editorial metrics by itself: the "
        "second row of each sample shows how much, when its click patterns meet its "
        "configurations at random.",
    )


def _blind_data(found: Mapping[SampleKey, SampleBaselines]) -> pl.DataFrame:
    rows = [
        (*_key(sample), HEADLINE_CLICK, name, value.value, value.reason)
        for sample, one in found.items()
        for name, value in one.order_blind.items()
    ]
    return _frame(rows, "baseline")


def _random_data(found: Mapping[SampleKey, SampleBaselines]) -> pl.DataFrame:
    rows = [
        (*_key(sample), "SS", name, value.value, value.reason)
        for sample, one in found.items()
        for name, value in one.random_ss.items()
    ]
    return _frame(rows, "editorial_metric")


def _key(sample: SampleKey) -> tuple[str, int, str]:
    return sample.market, sample.depth, sample.judge


def _frame(rows: Sequence[tuple[object, ...]], other: str) -> pl.DataFrame:
    types = {
        "market": pl.String,
        "depth": pl.Int32,
        "judge": pl.String,
        "click_metric": pl.String,
        other: pl.String,
        "correlation": pl.Float64,
        "reason": pl.String,
    }
    return pl.DataFrame(rows, schema=types, orient="row")
