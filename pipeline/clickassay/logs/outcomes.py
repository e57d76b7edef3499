"""Outcomes that are given for searches: read whole, checked, and added up by search."""

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import polars as pl

from clickassay.core.errors import InputError
from clickassay.core.settings import RATING, SIGNAL_NAME, SUM, Settings, kinds_named
from clickassay.core.text.words import visible
from clickassay.inputs.normalise import normalise_query
from clickassay.inputs.tables import WholeInput
from clickassay.logs.log import H, Log
from clickassay.patterns.funnel import MOST_SIGNALS, usable_rows, with_counts

LARGEST = 10
"""So many values tell whether a few decide."""

MOST = 1e9
"""Values are rejected if they are further from 0."""


@dataclass(frozen=True)
class Outcomes:
    """Outcomes by search."""

    # search_id (as the log has it), outcome, is_rating, value (in thousandths, the total of the rows behind
    # it), given_rows; each search and outcome once.
    rows: pl.DataFrame
    # What became of the rows that were read, by step and reason of the funnel.
    counts: Mapping[tuple[str, str], int] = field(default_factory=dict)

    def spreads(self) -> dict[str, dict[str, float]]:
        """Return by outcome how its values are spread over the searches that it is given for.

        `searches`; the `mean`; the part of all that the `LARGEST` values furthest from 0 make up, `largest`
        (0..1); the 99.9% `quantile`; and the mean of values cut at it, `mean_cut`.
        """
        rated = pl.when("is_rating").then(pl.col("value") / pl.col("given_rows")).otherwise("value")
        by_name = self.rows.with_columns(value=rated).partition_by("outcome", as_dict=True)
        found: dict[str, dict[str, float]] = {}
        for (name,), rows in sorted(by_name.items()):
            values = rows["value"] / 1000
            number, sizes = len(values), values.abs()
            cut = float(values.sort()[math.ceil(0.999 * number) - 1])
            whole = math.fsum(sizes)
            found[str(name)] = {
                "searches": number,
                "mean": math.fsum(values) / number,
                "largest": math.fsum(sizes.top_k(LARGEST)) / whole if whole else 0.0,
                "quantile": cut,
                "mean_cut": math.fsum(values.clip(upper_bound=cut)) / number,
            }
        return found

    @property
    def kinds(self) -> dict[str, str]:
        """The kind of each outcome, by name."""
        named = self.rows.select("outcome", "is_rating").unique().sort("outcome")
        return {name: RATING if is_rating else SUM for name, is_rating in named.iter_rows()}

    @property
    def usable(self) -> int:
        """Rows that can be used."""
        return int(self.rows["given_rows"].sum())

    def with_earlier(self, rows: pl.DataFrame) -> "Outcomes":
        """Return them with rows that an earlier run left, whose sessions are still open."""
        if "is_rating" not in rows.columns:  # of a store that was made before there were ratings
            rows = rows.with_columns(is_rating=pl.lit(value=False))
        earlier = rows.select(pl.col(name).cast(self.rows.schema[name]) for name in self.rows.columns)
        key = ("search_id", "outcome", "is_rating")
        every = pl.concat([self.rows, earlier]).group_by(key).agg(pl.all().sum()).select(self.rows.columns)
        return replace(self, rows=every.sort("search_id", "outcome"))


OutcomesOf = Callable[[Log[H]], Outcomes | None]
"""Prepares the outcomes of a job once its log is open."""


def prepare_outcomes(
    given: WholeInput | None, log: Log[H], settings: Settings, taken: Collection[str]
) -> Outcomes | None:
    """Check the outcomes of a job and add them up by search; None where none are counted.

    Values become whole thousandths: floor(1000 v + 0.5). `taken` are names that mean something else. Raises
    InputError for a bad name, too many, one with two kinds, or too many unusable rows.
    """
    if given is None and not settings.outcome:
        return None
    are_numbers = log.searches.has_numbers("search_id")
    ids = pl.Int64() if are_numbers else pl.String()
    schema = {
        "search_id": ids, "outcome": pl.String(), "is_rating": pl.Boolean(),
        "value": pl.Int64(), "given_rows": pl.Int64(),
    }  # fmt: skip
    if given is None:
        return Outcomes(pl.DataFrame(schema=schema))
    counts: Counter[tuple[str, str]] = Counter({("read", ""): given.rows.height})
    rows = _usable(given.rows, log, counts, settings)
    names: dict[str, str] = {}
    for name in rows["name"].unique():
        names[name] = spelled = normalise_query(name)
        if not SIGNAL_NAME.fullmatch(spelled) or spelled in taken:
            raise InputError(
                f"outcomes: {visible(name)!r} is an invalid name: already used by a metric or column, or "
                "contains characters other than letters, digits, single blanks and _ . : / -; rename it"
            )
    if len(names) > MOST_SIGNALS:
        some = ", ".join(visible(name) for name in sorted(names)[:12])
        raise InputError(f"outcomes: {len(names)} names, but at most {MOST_SIGNALS} can be counted: {some}")
    thousandths = (pl.col("value") * 1000 + 0.5).floor().cast(pl.Int64)
    plain = rows.select(
        "search_id", "kind", thousandths, outcome=pl.col("name").replace_strict(names, return_dtype=pl.String)
    )
    ratings = [name for name, kind in _kinds(plain, settings).items() if kind == RATING]
    summed = plain.group_by("search_id", "outcome").agg(pl.col("value").sum(), given_rows=pl.len())
    summed = summed.with_columns(is_rating=pl.col("outcome").is_in(ratings))
    own = summed.select(pl.col(name).cast(dtype) for name, dtype in schema.items())
    return Outcomes(own.sort("search_id", "outcome"), counts)


def _kinds(rows: pl.DataFrame, settings: Settings) -> dict[str, str]:
    asked = kinds_named(settings.outcome_kind)
    found = {name: (kind, "by the setting outcome_kind") for name, kind in asked.items()}
    for name, text in rows.select("outcome", "kind").drop_nulls().unique(maintain_order=True).iter_rows():
        kind = " ".join(text.split()).lower()
        if kind not in (SUM, RATING):
            raise InputError(f"outcomes: {visible(name)} has kind {visible(text)!r}; expected sum or rating")
        other, where = found.setdefault(name, (kind, "in another row"))
        if other != kind:
            raise InputError(
                f"outcomes: {visible(name)} has two kinds: {kind} in a row of column kind, {other} {where}; "
                "use one of them"
            )
    return {name: found.get(name, (SUM, ""))[0] for name in rows["outcome"].unique().sort()}


def about(outcomes: Outcomes | None) -> dict[str, Any]:
    """Return what the record of a pattern table says of outcomes: how values are spread, and kinds."""
    if outcomes is None:
        return {"outcome_values": {}, "outcome_kinds": {}}
    return {"outcome_values": outcomes.spreads(), "outcome_kinds": outcomes.kinds}


def counted_outcomes(funnel: pl.DataFrame, outcomes: Outcomes | None) -> pl.DataFrame:
    """Add what became of outcomes to the funnel of a whole log."""
    if outcomes is None or not outcomes.counts:
        return funnel
    kept = int(funnel.filter(source="outcomes", step="kept")["rows"].sum())
    counts = {**outcomes.counts, ("unmatched", "no usable search"): outcomes.usable - kept}
    return with_counts(funnel, "outcomes", counts)


def _described(row: pl.DataFrame, log: Log[H]) -> str:
    """Say what a row has, and which search of the log its id, written as a float, may mean."""
    search_id, value = row["given_search_id"][0], row["given_value"][0]
    text = f"search_id {search_id!r:.60} and value {value!r:.60}"
    whole = re.fullmatch(r"([+-]?\d{1,15})\.0+", search_id or "")
    frame = getattr(log.searches, "frame", None)
    if whole is None or not isinstance(frame, pl.LazyFrame):
        return text
    known = frame.filter(pl.col("search_id").cast(pl.String) == whole[1]).head(1).collect().height
    return f"{text}; the log has search_id {whole[1]}: write the id like this" if known else text


def _usable(
    rows: pl.DataFrame, log: Log[H], counts: Counter[tuple[str, str]], settings: Settings
) -> pl.DataFrame:
    are_numbers = log.searches.has_numbers("search_id")
    ids = rows["search_id"].cast(pl.Int64, strict=False) if are_numbers else rows["search_id"].cast(pl.String)
    number = rows["value"].cast(pl.Float64, strict=False)
    as_given = {f"given_{name}": rows[name].cast(pl.String) for name in ("search_id", "value")}
    rows = rows.with_columns(ids, number, **as_given)
    conditions = {
        "null search_id" if not are_numbers else "no search_id of the log": pl.col("search_id").is_not_null(),
        "null name": pl.col("name").is_not_null(),
        "no finite number": pl.col("value").is_finite().fill_null(value=False),
        "beyond a thousand million": pl.col("value").abs() <= MOST,
    }
    described = partial(_described, log=log)
    rows = usable_rows("outcomes", rows, conditions, counts, settings.max_rejected, described)
    named = rows.filter(pl.col("outcome_id").is_not_null())
    once = named.unique("outcome_id", keep="first", maintain_order=True)
    counts["repeated", "outcome_id again"] += named.height - once.height
    return pl.concat([once, rows.filter(pl.col("outcome_id").is_null())])
