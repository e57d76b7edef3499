"""The cascade effect: results with fewer clicks below a better one (Chapelle et al. 2009, Figure 2)."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from clickassay.core.records import SampleKey
from clickassay.core.text.words import count, number, percent, plural, visible
from clickassay.findings.run import Run
from clickassay.report.charts.marks import click_rates
from clickassay.report.model import Figure, Section, shown_samples
from clickassay.report.tables import ReportTable, Row, Share

MAX_FOUND = 20
"""Largest number of queries that a run keeps for each sample."""

EXAMPLES = 3
"""Largest number of examples that are drawn."""

HEADS = (
    *("Grade", "Position", "Better result above", "Its grade", "Sessions", "CTR"), "Average of the position",
)  # fmt: skip
NONE = (
    "No example of the cascade effect: clicks on all results together are not significantly fewer below a "
    "better one, or no single result is shown often enough both with and without one (20 sessions each)."
)
POINT = (
    "A click model that knows only the position cannot explain this cascade effect, and neither can a "
    "metric that discounts by position alone. A model in which a satisfied user stops looking can; ERR is "
    "based on one. That there is such an effect is tested over all queries together. The "
    "ratio of an example takes sessions as independent and lists as alike in how much they are clicked."
)
LEGEND = (
    ("bar-on", "no better result above"),
    ("bar-warm", "a better result above"),
    ("tick", "average of the position"),
)

Example = Mapping[str, Any]


def cascade_effects_section(run: Run) -> Section:
    """Show the clearest examples of the cascade effect whose query may be named."""
    name, title, data = (
        "cascade_effects",
        "Cascade effect: clicks below a better result",
        run.frames["cascade_effects"],
    )

    def nameable(own: pl.DataFrame) -> list[dict[str, Any]]:
        return run.labels.label(own).filter(~pl.col("hidden")).to_dicts()

    there = (one for one in shown_samples(run) if nameable(one.rows(data)))
    sample = next(there, run.headline)  # the first shown sample with an example that may be named
    own = data.head(0) if sample is None else sample.rows(data)
    named, where = nameable(own), "" if sample is None else f", {sample.label}"
    table = ReportTable(
        "figure2_cascade_effects",
        f"Figure 2 in numbers: the same result without and with a better one above it{where}", "Result",
        HEADS, tuple(row for example in named for row in _rows(run, example)), group_head="Query",
        data=run.labels.relabel(data, "url", "better_url", "configuration_alone", "configuration_below"),
    )  # fmt: skip
    if sample is None or not named:
        why = NONE if data.is_empty() else _not_shown(run, data if own.is_empty() else own)
        return Section(name, title, (why,), tables=(table,))
    return Section(
        name, title, (_reading(run, named[0]), POINT, _number_of_examples(run, sample, own, named)),
        tuple(_figure(place, example) for place, example in enumerate(named[:EXAMPLES])),
        legend=LEGEND, folded=(table,),
    )  # fmt: skip


def _not_shown(run: Run, effects: pl.DataFrame) -> str:
    """Return why no example can be shown although there are some."""
    rare = int(run.labels.label(effects)["hidden"].sum())
    examples = plural(rare, "example of a rare query", "examples of rare queries")
    texts = [f"{examples} cannot be shown. {run.labels.rule}"] if rare else []
    if effects.height > rare:
        more = plural(effects.height - rare, "example lies", "examples lie")
        texts.append(f"{more} in samples that are not on this page; the CSV file has them.")
    return " ".join(texts)


def _number_of_examples(run: Run, sample: SampleKey, own: pl.DataFrame, named: Sequence[Example]) -> str:
    found = f"At {sample.label}, {plural(own.height, 'query has', 'queries have')} such a result"
    if own.height == MAX_FOUND:
        found = f"These are from the {MAX_FOUND} queries with the clearest effect at {sample.label}"
    rare = own.height - len(named)
    text = f"{found}, {count(rare)} of them too rare to be named" if rare else found
    text += f"; the first {EXAMPLES} are drawn" if len(named) > EXAMPLES else ""
    return f"{text}. {run.labels.rule}"


def _reading(run: Run, row: Example) -> str:
    return (
        f"For the query {visible(row['query'])}, {visible(row['url'])} ({run.grade_label(row['grade'])}) is "
        f"clicked in {percent(row['ctr_alone'])} of the sessions at position {row['position_alone']}, with "
        f"nothing better above it, and in {percent(row['ctr_below'])} at position {row['position_below']}, "
        f"below {visible(row['better_url'])} ({run.grade_label(row['better_grade'])}). "
        f"The averages of the positions are {percent(row['average_ctr_alone'])} and "
        f"{percent(row['average_ctr_below'])}: relative to these, "
        f"its clicks fall to at most 1/{number(row['min_excess_ctr_ratio'], 1)}."
    )


def _rows(run: Run, row: Example) -> Iterator[Row]:
    better = (visible(row["better_url"]), run.grade_label(row["better_grade"]))
    for side, above in (("alone", ("none", "")), ("below", better)):
        place = (run.grade_label(row["grade"]), row[f"position_{side}"], *above, row[f"sessions_{side}"])
        rates = (Share(row[f"ctr_{side}"]), Share(row[f"average_ctr_{side}"]))
        yield Row(visible(row["query"]), visible(row["url"]), (*place, *rates))


def _figure(place: int, row: Example) -> Figure:
    places = {
        "alone": f"at position {row['position_alone']}, nothing better above",
        "below": f"at position {row['position_below']}, {visible(row['better_url'])} above",
    }
    values = [
        {
            "label": label, "share": row[f"ctr_{side}"], "average": row[f"average_ctr_{side}"],
            "alone": side == "alone", "result": visible(row["url"]), "rate": percent(row[f"ctr_{side}"]),
            "usual": percent(row[f"average_ctr_{side}"]), "sessions": count(row[f"sessions_{side}"]),
        }
        for side, label in places.items()
    ]  # fmt: skip
    titles = {
        "result": "Result", "label": "Shown", "rate": "CTR", "usual": "Average of the position",
        "sessions": "Sessions",
    }  # fmt: skip
    rates = ", ".join(f"{value['rate']} {value['label']} (average {value['usual']})" for value in values)
    alt = f"Click-through rate of {visible(row['url'])}: {rates}."
    title = f"{visible(row['query'])}: {visible(row['url'])}"
    drawing = click_rates(values, titles)
    return Figure(f"cascade_effects-{place}", title, alt, drawing, "figure2_cascade_effects")
