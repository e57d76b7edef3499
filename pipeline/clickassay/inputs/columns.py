"""The columns of the canonical inputs, declared once: runs read them, importers and the simulator write them.

docs/reference/formats.md describes how importers fill them; the README has them as a table.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from clickassay.core.contracts.columns import EVERY
from clickassay.inputs.types import Kind


@dataclass(frozen=True)
class Wanted:
    """A column that an input may have."""

    name: str
    kind: Kind
    meaning: str = ""
    # optional, absent: Whether it may be missing, and the value it takes then.
    optional: bool = False
    absent: str | int | None = None
    is_ignored: bool = False  # Whether it is absent, though it may be there.


_MARKET = Wanted("market", "text", "country or site that is measured separately", optional=True, absent=EVERY)

SEARCHES = (
    Wanted("search_id", "id", "names the search"),
    Wanted("user_id", "id", "who searched"),
    Wanted("query", "text", "what was asked, as it was typed"),
    Wanted("timestamp", "time", "when the results were shown"),
    Wanted("results", "texts", "URLs or documents shown, best first"),
    _MARKET,
    Wanted("page", "integer", "page of results, from 1", optional=True, absent=1),
    Wanted("variant", "text", "arm of an A/B test that the user was in; null = none", optional=True),
    Wanted("experiment", "text", "name of that test", optional=True, absent="variant"),
    Wanted("teams", "texts", "of an interleaved list, the ranker of each result; null = none", optional=True),
)
CLICKS = (
    Wanted("search_id", "id", "the search that showed what was clicked"),
    Wanted("timestamp", "time", "when it was clicked"),
    Wanted("url", "text", "the result that was clicked", optional=True),
    Wanted("position", "integer", "or its position on the page, from 1", optional=True),
    Wanted("action", "text", "what was done; null = click", optional=True),
    Wanted("dwell_seconds", "seconds", "seconds that the user stayed on the result", optional=True),
)
JUDGMENTS = (
    Wanted("query", "text", "what was asked"),
    Wanted("url", "text", "the result that was judged"),
    Wanted("grade", "any", "0 to the highest grade, or a label of the scale"),
    Wanted("judge", "text", "who judged, where there are several judges", optional=True, absent=EVERY),
    _MARKET,
    Wanted("sessions", "any", "of judgments from clicks: sessions that showed the result", optional=True),
    Wanted("clicks", "any", "and sessions that clicked it", optional=True),
)
QUERIES = (Wanted("query", "text", "what was asked; further columns are attributes of queries"), _MARKET)

SCORES = (
    Wanted("value", "any", "a number: a tool's score of the ranking, or of an answer generated from it"),
    Wanted("name", "text", "name of the score", optional=True, absent="score"),
    Wanted("configuration_id", "text", "the ranking, by its id in the pattern table", optional=True),
    Wanted("search_id", "id", "or a search of the log that showed it", optional=True),
    Wanted("query", "text", "or the query", optional=True),
    Wanted("results", "texts", "and the results shown, best first", optional=True),
    _MARKET,
)
"""Columns of scores that users bring; they are no input of a log."""

OUTCOMES = (
    Wanted("search_id", "id", "the search that led to it"),
    Wanted("value", "any", "a number: revenue, a rating …"),
    Wanted("name", "text", "name of the number", optional=True, absent="outcome"),
    Wanted("outcome_id", "id", "id of the row: rows with equal ids count once", optional=True),
    Wanted("kind", "text", "sum, or rating: a mean over the sessions that rated", optional=True),
)
"""Columns of outcomes of searches."""

ASSIGNMENTS = (
    Wanted("user_id", "id", "the user, as in searches"),
    Wanted("variant", "text", "arm of the A/B test that the user was assigned to"),
    Wanted("experiment", "text", "name of the test", optional=True, absent="variant"),
    Wanted("timestamp", "moment", "since when", optional=True),
    Wanted("until", "moment", "until when, excluded", optional=True),
)
"""Columns of assignments of users to the arms of A/B tests, where searches have no `variant`."""

OF_TESTS = ("experiment", "variant")
"""Columns of searches that say which arm of a test the user was in."""

IGNORED_BY = dict.fromkeys(OF_TESTS, "; --test none ignores it")
"""What to say of columns that need not be read."""

TEAMS = "teams"
"""Column of searches that says which ranker gave each result."""

PAST_TESTS = (
    Wanted("experiment", "id", "names the test"),
    Wanted("difference", "any", "what users did (clicks, purchases), treatment minus control"),
    Wanted("error", "any", "standard error of the difference", optional=True),
    Wanted("ci_low", "any", "or the ends of its confidence interval", optional=True),
    Wanted("ci_high", "any", "the upper end", optional=True),
    Wanted("p_value", "any", "or its p-value", optional=True),
    Wanted("group", "id", "idea that was tested; tests of one idea are one unit", optional=True),
    Wanted("changed", "any", "share of rankings that the test changed, 0 to 1", optional=True),
)
"""Columns of past A/B tests, a row each; further columns of numbers are differences of offline metrics."""

IMPRESSIONS = (
    *(want for want in SEARCHES if want.kind != "texts"),
    Wanted("url", "text", "the result that was shown"),
    Wanted("team", "text", "the ranker that gave it to an interleaved list; null = none", optional=True),
    Wanted("position", "integer", "its position in the ranking, from 1 or from 0"),
    Wanted("clicked", "flag", "whether it was clicked", optional=True),
    Wanted("clicked_at", "time", "when it was clicked", optional=True),
    Wanted("added_to_cart", "flag", "whether it was put into the cart", optional=True),
    Wanted("purchased", "flag", "whether it was bought", optional=True),
)
"""Columns of searches that have one row for each result shown."""

SAYS_CLICKED = frozenset({"clicked", "clicked_at"})
"""Impressions with one of these need no table of clicks."""

ACTIONS_SHOWN = {"added_to_cart": "add_to_cart", "purchased": "purchase"}
"""The action on a result that each of these columns of impressions tells."""

CANONICAL = {"searches": SEARCHES, "clicks": CLICKS, "judgments": JUDGMENTS, "queries": QUERIES}
"""Columns of the canonical tables by the name of the table."""

TABLE_COLUMNS = {
    **CANONICAL, "scores": SCORES, "outcomes": OUTCOMES, "assignments": ASSIGNMENTS, "past_tests": PAST_TESTS,
}  # fmt: skip
"""Columns of every table that an input may be."""

OTHERS_KEPT = frozenset({"queries", "past_tests"})
"""Tables whose further columns mean something."""

CLICKED = frozenset({"url", "position"})
"""A table of clicks has one of these."""

OF_SIGNALS = ("action", "dwell_seconds")
"""Columns of clicks that say more than that a result was clicked."""


def required(columns: Sequence[Wanted]) -> frozenset[str]:
    """Return the names of the columns that a table must have."""
    return frozenset(column.name for column in columns if not column.optional)


def are_impressions(names: Collection[str]) -> bool:
    """Tell whether a table has a row for each result shown, and says which were clicked."""
    return required(IMPRESSIONS) <= set(names) and "results" not in names and bool(SAYS_CLICKED & set(names))


def arrow_schema(columns: Sequence[Wanted], *optional: str, **types: Any) -> Any:  # noqa: ANN401 - pyarrow
    """Return the Arrow schema of required and these `optional` columns; `types` of some are unusual."""
    import pyarrow as pa  # noqa: PLC0415 - names of columns need none of it

    usual: dict[Kind, Any] = {
        "id": pa.int64(), "text": pa.string(), "time": pa.timestamp("ms", tz="UTC"),
        "moment": pa.timestamp("ms", tz="UTC"),
        "texts": pa.list_(pa.string()), "integer": pa.int64(), "flag": pa.bool_(), "seconds": pa.float64(),
        "any": pa.int64(),
    }  # fmt: skip
    names = required(columns) | set(optional)
    return pa.schema({one.name: types.get(one.name, usual[one.kind]) for one in columns if one.name in names})
