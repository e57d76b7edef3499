"""The pattern table (method 4) and the funnel: all that later stages know of a log."""

import polars as pl

from clickassay.core.contracts.columns import JUDGE, MARKET, QUERY
from clickassay.core.contracts.form import Column, Table

FUNNEL = Table(
    "funnel",
    "one row per source, market, depth, judge, step and reason",
    ("source", "market", "depth", "judge", "step", "reason"),
    Column(
        "source",
        pl.String,
        "impressions, searches, lists, teams, clicks, positions, actions, dwell times, sessions, "
        "interleaved, judgments, scores, outcomes, assignments, ratings",
    ),
    MARKET,
    Column("depth", pl.Int32, "k, or 0 where the step does not depend on it"),
    JUDGE,
    Column("step", pl.String, "step of the funnel"),
    Column("reason", pl.String, "why rows leave at this step; '' for rows that go on"),
    Column("rows", pl.Int64, "number of rows"),
)

PATTERN_CONFIGURATIONS = Table(
    "configurations",
    "one row per configuration: of the log, judged or not",
    ("configuration_id",),
    Column("configuration_id", pl.String, "md5 (32 hex digits) of market, query and ordered results"),
    MARKET,
    QUERY,
    Column("results", pl.List(pl.String), "normalised URLs, best first, at most the stored depth"),
)

PATTERNS = Table(
    "patterns",
    "one row per configuration, fold and click pattern",
    ("configuration_id", "fold", "click_mask"),
    Column("configuration_id", pl.String, "id of the configuration"),
    Column("fold", pl.Int32, "digest(user) mod F, the setting folds"),
    Column("click_mask", pl.Int64, "bit (p-1) set = position p clicked"),
    Column("sessions", pl.Int64, "sessions with this pattern"),
)

SHOWN = Table(
    "shown",
    "one row per configuration and day",
    ("configuration_id", "day"),
    Column("configuration_id", pl.String, "id of the configuration"),
    Column("day", pl.Date, "UTC day of a session's first search, or its Monday; null if unknown"),
    Column("sessions", pl.Int64, "sessions that began then"),
)

SIGNALS = Table(
    "signals",
    "one row per configuration, fold, signal and pattern of the results that have it",
    ("configuration_id", "fold", "signal", "click_mask"),
    Column("configuration_id", pl.String, "id of the configuration"),
    Column("fold", pl.Int32, "digest(user) mod F, the setting folds"),
    Column("signal", pl.String, "an action of the log, or satisfied: clicks with a long dwell time"),
    Column("click_mask", pl.Int64, "bit (p-1) set = the result at position p has the signal; above 0"),
    Column("sessions", pl.Int64, "sessions with this pattern; others of `patterns` have none"),
)

OUTCOMES = Table(
    "outcomes",
    "one row per configuration, fold and outcome",
    ("configuration_id", "fold", "outcome"),
    Column("configuration_id", pl.String, "id of the configuration"),
    Column("fold", pl.Int32, "digest(user) mod F, the setting folds"),
    Column("outcome", pl.String, "name of a number of a session, given or derived"),
    Column(
        "sessions", pl.Int64, "sessions that have it; in others of `patterns` a sum is 0, a rating missing"
    ),
    Column("total", pl.Decimal(38, 0), "sum of its values, in thousandths"),
    Column("total_of_squares", pl.Decimal(38, 0), "sum of their squares, in millionths"),
)


_ARM = (
    Column("experiment", pl.String, "name of the A/B test"),
    Column("variant", pl.String, "arm that the user was assigned to"),
)
_FOLD = Column("fold", pl.Int32, "digest(user) mod F, the setting folds")
_SIGNAL = Column("signal", pl.String, "click, or a signal of `signals`, which has masks above 0 alone")
_MASK = Column("click_mask", pl.Int64, "bit (p-1) set = the result at position p has the signal")

ARMS = Table(
    "arms",
    "one row per arm of a test, day, fold, signal and pattern, over all rankings",
    ("experiment", "variant", "day", "fold", "signal", "click_mask"),
    *_ARM,
    Column("day", pl.Date, "UTC day of a session's first search; null if unknown"),
    _FOLD,
    _SIGNAL,
    _MASK,
    Column("sessions", pl.Int64, "sessions with this pattern, those without a result too"),
)

ARM_OUTCOMES = Table(
    "arm_outcomes",
    "one row per arm of a test, day, fold and outcome",
    ("experiment", "variant", "day", "fold", "outcome"),
    *ARMS.columns[:4],
    *OUTCOMES.columns[2:],
)

ARM_PATTERNS = Table(
    "arm_patterns",
    "one row per arm of a test, configuration, fold, signal and pattern",
    ("experiment", "variant", "configuration_id", "fold", "signal", "click_mask"),
    *_ARM,
    PATTERNS.columns[0],
    _FOLD,
    _SIGNAL,
    _MASK,
    PATTERNS.columns[3],
)

ARM_USERS = Table(
    "arm_users",
    "one row per arm of a test and user, of the users with the smallest digests",
    ("experiment", "variant", "digest"),
    *_ARM,
    Column("digest", pl.UInt64, "salted digest of the user; in each arm that the user is in"),
)


INTERLEAVED = Table(
    "interleaved",
    "one row per interleaving test, two of its rankers, configuration, fold, places, signal and pattern",
    (
        *("experiment", "ranker_a", "ranker_b", "configuration_id", "fold", "team_a", "team_b"),
        *("signal", "click_mask"),
    ),
    Column("experiment", pl.String, "name of the test"),
    Column("ranker_a", pl.String, "ranker whose name is first in order"),
    Column("ranker_b", pl.String, "the other; '' where a ranking names one alone; of several, each two"),
    PATTERNS.columns[0],
    _FOLD,
    Column("team_a", pl.Int64, "bit (p-1) set = ranker_a gave the result at position p"),
    Column("team_b", pl.Int64, "the same of ranker_b; 0 where there is none"),
    _SIGNAL,
    _MASK,
    Column("sessions", pl.Int64, "sessions with this pattern, each in one test"),
)


def names_known(column: pl.Series) -> tuple[str, ...]:
    """Return all names of a column whose type has them (`pl.Enum`): a part without rows has the same."""
    assert isinstance(column.dtype, pl.Enum)  # noqa: S101 - who makes such a column says so
    return tuple(column.dtype.categories)


PATTERN_QUERIES = Table(
    "queries",
    "one row per market and query of the log",
    ("market", "query"),
    MARKET,
    QUERY,
    Column("user_buckets", pl.UInt64, "bit-or over sessions of 1 << (digest(user) mod 64)"),
)

HEALTH = Table(
    "health",
    "one row per name and key",
    ("name", "key"),
    Column("name", pl.String, "one of `clickassay.patterns.health`"),
    Column("key", pl.Int64, "day since 1970-01-01, minute of the day (UTC), or bucket of users' digests"),
    Column("value", pl.Int64, "number of searches or clicks; of lowest_bits_by_users, a power of two"),
)
