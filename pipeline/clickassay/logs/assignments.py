"""Which users took part in which arm of which A/B test, as an engine is told before it reads a log."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date

import polars as pl

from clickassay.core.errors import InputError
from clickassay.core.settings import Settings
from clickassay.core.settings.of_tests import NONE, DeclaredTest, control_of
from clickassay.core.text.words import listed, visible
from clickassay.inputs.tables import WholeInput
from clickassay.inputs.types import UNREADABLE
from clickassay.logs.chunks import DAY_MS
from clickassay.logs.log import LocalHalf
from clickassay.logs.sql.steps import FIRST_MS, NEVER_MS
from clickassay.patterns.digests import id_digests
from clickassay.patterns.funnel import usable_rows, with_counts

MOST_ARMS = 1000
"""Arms of all tests together; more are probably ids in the wrong column."""

_EPOCH = date(1970, 1, 1)
_TEST = ("experiment", "variant")


@dataclass(frozen=True)
class Assignments:
    """Who took part in which arm of which test, from `since_ms` to before `until_ms` (ms since 1970, UTC).

    Where searches say it (`variant`), a session belongs to the arm of its first search. Otherwise it belongs
    to the arm that its user was assigned to at the time of that search. Users of several variants of a test
    are in none of them.
    """

    # user_id, experiment, variant (both categories), since_ms, until_ms: assignments, of one variant of a
    # test for each user, whose times do not overlap; without rows where searches say the arm.
    by_user: pl.DataFrame
    is_by_search: bool
    in_two: pl.DataFrame  # user_id, experiment, variant: of users of several variants, each of them.
    arms: pl.DataFrame  # experiment, variant: all arms, sorted.
    spans: pl.DataFrame  # experiment, since_ms, until_ms: of tests whose ends are declared.
    given: pl.DataFrame  # Of a table, its usable rows, with the columns of `by_user`.
    # Digests of assignments that earlier runs into a store knew.
    known: pl.Series = field(default_factory=lambda: pl.Series("id", [], pl.UInt64))
    # What became of the rows that were read, by step and reason of the funnel.
    counts: Mapping[tuple[str, str], int] = field(default_factory=dict)

    def digests(self) -> pl.Series:
        """Return a digest of each given assignment, by which a store knows it, whenever it ends (id)."""
        begun = pl.concat_str(pl.exclude("until_ms"), separator=" ")
        return pl.Series("id", id_digests(self.given.select(begun).to_series()))

    def with_arms_of(self, carried: pl.DataFrame) -> "Assignments":
        """Return them with the arms that searches carried over from an earlier run name."""
        if not self.is_by_search or "variant" not in carried.columns:
            return self
        more = _usable(carried.lazy().select("user_id", *_TEST)).select(_TEST).collect()
        return replace(self, arms=pl.concat([self.arms, more]).unique().sort(_TEST))


def counted_assignments(funnel: pl.DataFrame, assignments: Assignments | None) -> pl.DataFrame:
    """Add what became of assignments to the funnel of a log."""
    if assignments is None or not assignments.counts:
        return funnel
    return with_counts(funnel, "assignments", assignments.counts)


def check_controls(given: WholeInput | None, searches: object, settings: Settings) -> None:
    """Check, before reading, the controls and declared variants of A/B tests (SettingsError)."""
    rows = given.rows.lazy() if given is not None else getattr(searches, "frame", None)
    if given is None and "variant" not in getattr(searches, "columns", ()):
        return
    if isinstance(rows, pl.LazyFrame):
        arms = rows.select(_TEST).filter(*(pl.col(name) != "" for name in _TEST)).unique()
        every = arms.collect(engine="streaming").cast(pl.String).sort(_TEST)
        _check_number(every)
        by_test = every.partition_by("experiment", as_dict=True)
        for (name,), own in by_test.items():
            told = settings.tests.get(str(name), DeclaredTest())
            control_of(str(name), own["variant"].to_list(), told)


def prepare_assignments(given: WholeInput | None, searches: object, settings: Settings) -> Assignments | None:
    """Return the assignments of a log; None where neither a table nor a column `variant` says any.

    Raises InputError if both say it, the log is not on this machine, or there are too many arms or bad rows.
    """
    if given is not None and not settings.reads_tests:
        raise InputError(f"--test {NONE} ignores A/B tests, and there is a table of assignments; remove one")
    columns: frozenset[str] = getattr(searches, "columns", frozenset())
    if given is None and "variant" not in columns:
        return None
    if given is not None and "variant" in columns:
        raise InputError(
            "searches have a column variant, and there is a table of assignments; remove --assignments, or "
            "read searches without the column by --searches-sql"
        )
    if not isinstance(searches, LocalHalf):
        raise InputError(
            "A/B tests are looked up where the log lies, which only Spark reaches; read it with another "
            "engine, or remove assignments and the column variant"
        )
    found = _by_search(searches, settings) if given is None else _by_table(given, searches, settings)
    _check_number(found.arms)
    return found


def _check_number(arms: pl.DataFrame) -> None:
    if arms.height > MOST_ARMS:
        some = listed(visible(one) for one in arms["variant"][:3])
        raise InputError(
            f"variant: {arms.height:,} arms of tests, such as {some}, but at most {MOST_ARMS:,}; is "
            f"this the right column? --test {NONE} ignores it"
        )


def _usable(rows: pl.LazyFrame) -> pl.LazyFrame:
    return rows.filter(*(pl.col(name) != "" for name in _TEST), pl.col("user_id").is_not_null())


def _by_search(searches: LocalHalf, settings: Settings) -> Assignments:
    own = _usable(searches.frame.select("user_id", *_TEST))
    arm = (pl.col("experiment").hash(1) ^ pl.col("variant").hash(2)).alias("arm")  # numbers are fast
    users = own.select("user_id", arm).unique().collect(engine="streaming")
    several = users.filter(pl.col("user_id").is_duplicated()).select("user_id").unique()
    of_several = own.join(several.lazy(), on="user_id", how="semi").unique().collect(engine="streaming")
    none = of_several.clear().with_columns(since_ms=pl.lit(None, pl.Int64), until_ms=pl.lit(None, pl.Int64))
    return Assignments(
        by_user=none,
        is_by_search=True,
        in_two=_of_several(of_several),
        arms=own.select(_TEST).unique().collect(engine="streaming").sort(_TEST),
        spans=ends_of_tests(settings.tests),
        given=none,
    )


def _of_several(users: pl.DataFrame) -> pl.DataFrame:
    """Return the rows (user_id, experiment, variant) of users of several variants of a test."""
    several = pl.len().over("user_id", "experiment") > 1
    return users.select("user_id", *_TEST).unique().filter(several).sort("user_id", *_TEST)


def ends_of_tests(tests: Mapping[str, DeclaredTest]) -> pl.DataFrame:
    """Return experiment, since_ms and until_ms of tests whose ends are declared."""

    def ms(day: date) -> int:
        return (day - _EPOCH).days * DAY_MS

    first, last = date(1990, 1, 1), date(2200, 1, 1)
    rows = [
        (name, ms(test.start or first), ms(test.until or last) + DAY_MS)
        for name, test in sorted(tests.items())
        if test.start or test.until
    ]
    schema = {"experiment": pl.String, "since_ms": pl.Int64, "until_ms": pl.Int64}
    return pl.DataFrame(rows, schema, orient="row")


def _by_table(given: WholeInput, searches: LocalHalf, settings: Settings) -> Assignments:
    counts: Counter[tuple[str, str]] = Counter({("read", ""): given.rows.height})
    rows = _checked(given.rows, searches, counts, settings)
    users = searches.frame.select("user_id").drop_nulls().unique()
    known = rows.lazy().join(users, on="user_id", how="semi").collect(engine="streaming")
    counts["unmatched", "user without a search"] = rows.height - known.height
    rows = known if known.height == rows.height else rows  # one copy is enough of what is large
    # most users have one row of a test: only the others are looked at, which takes time
    user_and_test = known.select(pl.col("user_id").hash(1) ^ pl.col("experiment").hash(2)).to_series()
    has_again = user_and_test.n_unique() < known.height
    is_again = user_and_test.is_duplicated() if has_again else pl.repeat(False, known.height, eager=True)
    again = known.filter(is_again)
    in_two = _of_several(again)
    one = again.join(in_two, on=["user_id", "experiment"], how="anti")
    counts["left out", "user in several variants"] = again.height - one.height
    counts["kept", ""] = known.height - again.height + one.height
    return Assignments(
        by_user=pl.concat([known.filter(~is_again), _merged(one)]) if has_again else known,
        is_by_search=False,
        in_two=in_two.cast({pl.Categorical: pl.String}),
        arms=rows.select(_TEST).unique().cast(pl.String).sort(_TEST),
        spans=ends_of_tests(settings.tests),
        given=rows,
        counts=+counts,
    )


def _checked(
    rows: pl.DataFrame, searches: LocalHalf, counts: Counter[tuple[str, str]], settings: Settings
) -> pl.DataFrame:
    """Return the usable rows: user_id as the log has it, experiment, variant, since_ms, until_ms."""
    are_numbers = searches.has_numbers("user_id")
    ids = rows["user_id"].cast(pl.Int64, strict=False) if are_numbers else rows["user_id"].cast(pl.String)
    since, until = (rows[name].to_physical().cast(pl.Int64) for name in ("timestamp", "until"))
    named = rows.select(_TEST).with_columns(
        ids, since_ms=since.fill_null(FIRST_MS), until_ms=until.fill_null(NEVER_MS), given=rows["user_id"]
    )
    conditions = {
        "no user_id of the log" if are_numbers else "null user_id": pl.col("user_id").is_not_null(),
        "null variant": (pl.col("variant") != "").fill_null(value=False),
        "null experiment": (pl.col("experiment") != "").fill_null(value=False),
        "a time that cannot be read": ~pl.any_horizontal(pl.col("since_ms", "until_ms") == UNREADABLE),
        "until before timestamp": pl.col("since_ms") < pl.col("until_ms"),
    }

    def described(first: pl.DataFrame) -> str:
        return f"user_id {str(first['given'][0])!r:.60} and variant {first['variant'][0]!r:.60}"

    usable = usable_rows("assignments", named, conditions, counts, settings.max_rejected, described)
    return usable.select("user_id", *_TEST, "since_ms", "until_ms")


def _merged(rows: pl.DataFrame) -> pl.DataFrame:
    """Return assignments whose times do not overlap: of a user, who has one variant of a test."""
    key = ["user_id", "experiment"]
    in_order = rows.sort(*key, "since_ms", "until_ms")
    before = pl.col("until_ms").cum_max().shift(1).over(key)
    begins = (pl.col("since_ms") > before).fill_null(value=True)
    numbered = in_order.with_columns(n=begins.cum_sum())
    merged = numbered.group_by(*key, "variant", "n", maintain_order=True).agg(
        pl.col("since_ms").min(), pl.col("until_ms").max()
    )
    return merged.drop("n")
