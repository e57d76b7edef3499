"""The tables of a labelling plan: columns, types, grain and meaning."""

import polars as pl

from clickassay.contract_columns import DEPTH, JUDGE, MARKET, QUERY
from clickassay.table_form import Column, Table

PLAN_QUERIES = Table(
    "queries",
    "one row per query of the pool",
    (
        QUERY,
        Column("weight", pl.Float64, "p(x): share of the query among all that are asked; they add up to 1"),
        Column("chance", pl.Float64, "q(x): chance to be the next query drawn; they add up to 1"),
        Column("cost", pl.Float64, "what labelling all its documents costs; above 0"),
        Column("documents", pl.Int64, "documents to label, each once"),
        Column(
            "expected", pl.Float64, "performance, or difference of two, that the chances of grades foretell"
        ),
        Column("spread", pl.Float64, "root of the expected squared distance to the mean of the pool"),
    ),
    ("query",),
)

PLAN_DOCUMENTS = Table(
    "documents",
    "one row per query and document that a ranking lists down to the depth",
    (
        QUERY,
        Column("url", pl.String, "normalised URL, or the name of the document"),
        Column("rank_1", pl.Int32, "its rank in the first ranking; null if it is not listed"),
        Column("rank_2", pl.Int32, "its rank in the second ranking; null if not listed, or there is none"),
    ),
    ("query", "url"),
)

PLAN_DRAWS = Table(
    "draws",
    "one row per draw, in the order in which they were made",
    (
        Column("draw", pl.Int64, "number of the draw; 1 = first"),
        QUERY,
        Column("paid", pl.Boolean, "whether it is the first draw of its query: later ones look labels up"),
        Column("ratio", pl.Float64, "weight / chance of the query: what the draw counts for; above 0"),
    ),
    ("draw",),
)

TO_LABEL = Table(
    "to_label",
    "one row per document to label, in the order in which queries were drawn",
    (
        Column("number", pl.Int64, "1 = first"),
        QUERY,
        Column("url", pl.String, "normalised URL, or the name of the document"),
    ),
    ("number",),
)

NEXT_JUDGMENTS = Table(
    "next_judgments",
    "one row per market, depth, judge, aim and rank: a query whose judgments are worth most a label",
    (
        MARKET,
        DEPTH,
        JUDGE,
        Column("aim", pl.String, "coverage: most sessions; interval: narrower intervals of correlations"),
        Column("rank", pl.Int32, "1 = worth most a label; at most 200"),
        QUERY,
        Column("urls", pl.List(pl.String), "results to judge: of its most frequent lists"),
        Column("labels", pl.Int64, "how many these are"),
        Column("sessions", pl.Int64, "sessions that would then be judged in full"),
        Column("labels_so_far", pl.Int64, "labels of this and all lower ranks"),
        Column(
            "coverage", pl.Float64, "n_sessions / all sessions of the market after this and lower ranks; 0..1"
        ),
        Column(
            "width", pl.Float64, "width of intervals after this and lower ranks, relative to now; above 0"
        ),
    ),
    ("market", "depth", "judge", "aim", "rank"),
)
