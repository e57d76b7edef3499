"""Where judges differ: by the grade, by the place in a judge's file, by a class of queries.

Groups of the first are by the mean of both grades: grouped by the grade of one judge, even two equal judges
who err by chance would differ, the other's grade being nearer to the middle. These groups are not tested
against each other: near the ends of the scale there is less room to differ.
"""

import numpy as np
import polars as pl

from clickassay.core.errors import InputError
from clickassay.core.records import Floats
from clickassay.correlation.agreement import FREE, kappa, tables_by_unit, with_intervals
from clickassay.correlation.uncertainty.intervals import Deviations, cautions, holm, left_out, p_value
from clickassay.studies.judges.forms import BIAS

MEAN_GRADE, QUARTER = "mean_grade", "quarter"
QUARTERS = 4


def bias(names: tuple[str, str], pair: pl.DataFrame, classes: pl.DataFrame | None, size: int) -> pl.DataFrame:
    """Measure the difference of two judges in groups of results, and test each against the others: BIAS.

    pair: columns query, grade_a, grade_b, place (0..1, in the file of the second judge).
    classes: columns query, and a text for each kind; results without a class are left out there.
    Kinds need two groups. Raises InputError if one is called as the groups by grade or by place are.
    """
    quarter = (pl.col("place") * QUARTERS).floor().clip(0, QUARTERS - 1) + 1
    mean = (pl.col("grade_a") + pl.col("grade_b")) // 2
    own = pair.select("query", "grade_a", "grade_b", "place")
    grouped = {  # of the top grade alone both gave it, and nothing differs
        MEAN_GRADE: own.with_columns(part=mean.clip(0, size - 2).cast(pl.String)),
        QUARTER: own.with_columns(part=quarter.cast(pl.Int8).cast(pl.String)),
    }
    kinds = pl.DataFrame({"query": []}, {"query": pl.String}) if classes is None else classes
    for name in kinds.drop("query").columns:
        if name in grouped:
            raise InputError(f"query attributes: column {name} has the name of a group of results; rename it")
        grouped[name] = own.join(kinds.select("query", part=name), on="query", how="left")
    frames = []
    for by, rows in grouped.items():
        known = rows.drop_nulls("part")
        if known["part"].n_unique() > 1:
            frames.append(_grouped(names, known, by, size))
    return BIAS.canonical(pl.concat([BIAS.empty(), *frames]))


def _grouped(names: tuple[str, str], rows: pl.DataFrame, by: str, size: int) -> pl.DataFrame:
    parts = rows["part"].unique().sort().to_list()
    query = rows["query"].rank("dense").to_numpy().astype(np.int64) - 1
    cell = query * len(parts) + np.searchsorted(parts, rows["part"].to_numpy())
    shape = int(query.max()) + 1, len(parts)
    apart = (rows["grade_b"].cast(pl.Int64) - rows["grade_a"].cast(pl.Int64)).to_numpy()
    counted = [np.bincount(cell, of, shape[0] * shape[1]).reshape(shape) for of in (apart, None)]
    sums = np.concatenate(counted, axis=1, dtype=np.float64)  # (Q, 2 K) of differences, and of results
    counts = sums[:, len(parts) :]
    mean, low, high = with_intervals(sums, _means, np.repeat([FREE], len(parts), axis=0).T)
    queries = (counts > 0).sum(axis=0)
    few = [cautions(*row)[0] for row in zip(mean, low, queries.tolist(), strict=True)]
    unlike, left = _apart(sums.sum(axis=0)), Deviations()
    for without in left_out(sums, _apart):  # a query at a time
        left.add(without - unlike)
    columns = {
        "part": parts,
        "mean_difference": mean,
        "ci_low": low,
        "ci_high": high,
        "p_adjusted": None if by == MEAN_GRADE else holm(p_value(unlike, left.spread())),
        "n_results": counts.sum(axis=0).astype(np.int64),
        "n_queries": queries,
        "caution": pl.Series(few, dtype=pl.String),
    }
    kappas = np.full((len(parts), 3), np.nan)  # among equal mean grades it means nothing
    for place, part in enumerate(parts if by != MEAN_GRADE else []):
        own = rows.filter(part=part)
        tables = tables_by_unit(own["query"], own["grade_a"], own["grade_b"], size)
        found = with_intervals(tables, lambda sums: kappa(sums, size)[..., -1:], np.array([[-1.0], [1.0]]))
        kappas[place] = [float(end.item()) for end in found]
    columns |= dict(zip(_KAPPA, kappas.T, strict=True))
    same = {"judge_a": names[0], "judge_b": names[1], "by": by}
    frame = pl.DataFrame(columns).with_columns(pl.col(pl.Float64).fill_nan(None))
    frame = frame.with_columns(**{name: pl.lit(text) for name, text in same.items()})
    return frame.select(pl.col(column.name).cast(column.dtype) for column in BIAS.columns)


_KAPPA = ("kappa_quadratic", "kappa_quadratic_low", "kappa_quadratic_high")


def _means(sums: Floats) -> Floats:
    total, counts = np.split(sums, 2, axis=-1)
    means: Floats = np.divide(total, counts, out=np.full(total.shape, np.nan), where=counts > 0)
    return means


def _apart(sums: Floats) -> Floats:
    total, counts = np.split(sums, 2, axis=-1)
    others = [part.sum(axis=-1, keepdims=True) - part for part in (total, counts)]
    return _means(sums) - _means(np.concatenate(others, axis=-1))
