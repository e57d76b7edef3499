"""Settings of how a log is read: sessions, signals, batches, times and folds."""

import math
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator, model_validator

from clickassay.core.settings.of_tests import NONE, DeclaredTest, declared_tests
from clickassay.core.settings.texts import RATING, check_columns, check_kinds, check_zone, kinds_named, utc_of

MAX_DEPTH = 62
"""A click mask is a signed 64-bit integer: 62 positions leave head room on every engine."""

OF_DWELL_TIMES = ("satisfied", "satisfied if followed")
"""Signals of dwell times. The second leaves out clicks that nothing follows, if the first counts them."""

SIGNAL_NAME = re.compile(r"(?=.{1,40}$)[\w.:/-]+( [\w.:/-]+)*")
"""What the name of a signal may be: of other actions metrics could not be written down."""

_DAY_MS = 86_400_000

_CHECKS: Mapping[str, Callable[[Any], object]] = {
    "column": check_columns, "outcome_kind": check_kinds, "test": declared_tests, "time_zone": check_zone,
}  # fmt: skip
"""Fields whose value is refused (ValueError) if it has another form."""


def setting(group: str, default: Any, meaning: str, **more: Any) -> Any:  # noqa: ANN401 - as pydantic's Field
    """Declare a setting: where `--help` lists it, its default and what it means.

    `more` may have the limits of pydantic's `Field`, and ``unset`` (what None or an empty tuple amounts to),
    ``metavar`` (what stands for a value in `--help`), ``each`` (range of the items of a list), ``also``
    (a shorter option), ``of_log`` (see `declared.Setting`) and ``details`` (Markdown for the page of settings
    alone).
    """
    told = ("unset", "metavar", "each", "also", "of_log", "details")
    shown = {"group": group, **{name: more.pop(name) for name in told if name in more}}
    return Field(default=default, description=meaning, json_schema_extra=shown, **more)


class SettingsOfLog(BaseModel):
    """The settings for reading a log."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    depth: tuple[int, ...] = setting(
        "Sessions", (5, 10), "Number k of top results to analyse.",
        each=f"1 to {MAX_DEPTH}", metavar="K", of_log="first",
    )  # fmt: skip
    idle_minutes: float = setting(
        "Sessions", 60.0, "Longest gap without activity within a visit.",
        gt=0, le=7 * 24 * 60, metavar="MINUTES", of_log="first",
    )  # fmt: skip
    idle_scope: Literal["user", "query"] = setting(
        "Sessions", "user", "Inactivity is measured per user, or per user and query.", of_log="first"
    )
    normalise_urls: bool = setting(
        "Sessions", True, "Normalise URLs.", of_log="first",
        details="Lower-cases scheme and host; drops the default port, one trailing slash, and a fragment "
        "unless it begins with / or !. Ids that are not URLs stay unchanged.",
    )  # fmt: skip
    signal: tuple[str, ...] = setting(
        "Sessions", ("auto",),
        "Signals to count besides clicks: actions of the log, satisfied, auto (every action) or none.",
        metavar="NAMES", of_log="later",
        details="`satisfied`: clicks with a long dwell time. `auto` ignores impression, view and scroll. "
        "[Signals](../how-to/signals.md).",
    )  # fmt: skip
    satisfied_seconds: float = setting(
        "Sessions", 30.0, "Shortest dwell time of a satisfied click.",
        gt=0, le=24 * 3600, metavar="SECONDS", of_log="later",
    )  # fmt: skip
    last_click: Literal["satisfied", "unsatisfied"] = setting(
        "Sessions", "satisfied",
        "How to count the last click of a visit when its dwell time is unknown.",
        of_log="later",
    )  # fmt: skip
    outcome: tuple[Literal["abandoned", "reformulated"], ...] = setting(
        "Sessions", (), "Session outcomes to derive from the log: abandoned, reformulated.",
        unset="none", metavar="NAMES", of_log="later",
        details="`abandoned`: no click. `reformulated`: soon another query, no click between. Give "
        "numbers of your own with `--outcomes`.",
    )  # fmt: skip
    outcome_kind: tuple[str, ...] = setting(
        "Sessions", (),
        "Kind of one of your outcomes: stars=rating is a mean over the sessions that rated.",
        unset="sum, unless column kind says otherwise", metavar="NAME=KIND",
        details='In TOML also `[outcomes]` with `stars = "rating"`.',
    )  # fmt: skip
    test: tuple[str, ...] = setting(
        "Sessions", (),
        "What the log does not say of an A/B test, such as new_ranker.control=old.",
        unset="control is the variant called control, off or 0", metavar="TEST.KEY=VALUE",
        details="Keys: control, from, until (UTC days, included), shares.VARIANT, group, is_aa. `none`: no "
        'tests. In TOML also `[tests.new_ranker]` with `control = "old"`. '
        "[How](../how-to/tests-in-the-log.md).",
    )  # fmt: skip
    reformulation_minutes: float = setting(
        "Sessions", 5.0, "Longest time until the next query of a reformulated session.",
        gt=0, le=24 * 60, metavar="MINUTES", of_log="later",
    )  # fmt: skip
    max_rejected: float = setting(
        "Sessions", 0.01, "Largest share of unusable rows in an input; the run stops above it.",
        ge=0, le=1, metavar="SHARE",
    )  # fmt: skip
    max_markets: int = setting(
        "Log", 100,
        "Most markets in the log, and most markets or judges in the judgments; the run stops above it.",
        ge=1, metavar="N",
        details="Each is measured separately: session ids named market by mistake would take hours.",
    )  # fmt: skip
    column: tuple[str, ...] = setting(
        "Log", (), "Map one of your columns to ours, such as searches.search_id=request_id.",
        metavar="TABLE.COLUMN=NAME", unset="columns have our names",
        details="For searches, clicks, judgments, queries or scores; a dot selects a field: `item.id`. In "
        'TOML also sections: `[columns.clicks]` with `url = "item.id"`. In the environment: one per line.',
    )  # fmt: skip
    shape: Literal["auto", "lists", "impressions"] = setting(
        "Log", "auto",
        "Rows of searches: one per search with its results, or one per result shown (impressions).",
        details="`auto` decides by the columns: `url` and `position` without `results` mean impressions.",
    )  # fmt: skip
    health_limit: tuple[str, ...] = setting(
        "Log", (),
        "Threshold of a data check, such as unmatched_clicks=0.3 or busy_user=off.",
        metavar="CHECK=NUMBER", unset="the default of each check",
        details="[Checks](health.md) and their thresholds.",
    )  # fmt: skip
    only_judged: bool = setting(
        "Log", False, "Store rankings of judged queries only; sessions of other queries are just counted.",
        of_log="first",
        details="Coverage stays exact.",
    )  # fmt: skip
    batch: str = setting(
        "Log", "auto", "How to split the log by time: auto, day (UTC), file, or a number of searches.",
        metavar="SIZE",
        details="The split changes no number.",
    )  # fmt: skip
    late_minutes: float = setting(
        "Log", 60.0,
        "With a store: how much older than the last search of a run the rows of the next run may be.",
        ge=0, le=7 * 24 * 60, metavar="MINUTES",
    )  # fmt: skip
    allow_gap: bool = setting(
        "Log", False,
        "With a store: accept files whose last search comes more than a day after the one before it.",
        details="Without this option one wrong clock cannot close the store to earlier rows.",
    )  # fmt: skip
    clock: str | None = setting(
        "Log", None,
        "Time of the run, such as 2026-06-30T04:00; rows more than a day later are rejected.",
        unset="now", metavar="TIME", of_log="later",
        details="UTC unless it has a zone. `settings.json` records it, so a run can be repeated later.",
    )  # fmt: skip
    time_zone: str = setting(
        "Log", "UTC", "Time zone of times without one in searches and clicks, such as Europe/Berlin.",
        metavar="ZONE", of_log="later",
        details="Times with a zone keep it; numbers are UTC. A local time that occurs twice (in autumn) "
        "means the earlier one; one that does not exist (in spring) is rejected as null timestamp.",
    )  # fmt: skip
    folds: int = setting(
        "Log", 16, "Number of user groups (folds) in the pattern table; 1 puts all users into one.",
        ge=1, le=1024, metavar="N", of_log="first",
        details="Models are fitted on clicks of even folds and evaluated on odd ones; `diff` needs 8 or "
        "more to estimate what users' habits add. A store keeps its first number.",
    )  # fmt: skip

    periods: Literal["day", "week", "none"] = setting(
        "Log", "day", "Whether the pattern table records the day (UTC) or the week in which rankings "
        "were shown.",
        of_log="later",
    )  # fmt: skip

    @property
    def idle_ms(self) -> int:
        """Idle limit in milliseconds."""
        return round(self.idle_minutes * 60_000)

    @property
    def satisfied_ms(self) -> int:
        """Dwell time from which a click is satisfied, in milliseconds, cut as dwell times of a log are."""
        return math.floor(self.satisfied_seconds * 1000)

    @property
    def reformulation_ms(self) -> int:
        """How soon, in milliseconds, another query must follow a session that is reformulated."""
        return round(self.reformulation_minutes * 60_000)

    @property
    def ratings(self) -> frozenset[str]:
        """Outcomes that are ratings."""
        return frozenset(name for name, kind in kinds_named(self.outcome_kind).items() if kind == RATING)

    @property
    def reads_tests(self) -> bool:
        """Whether A/B tests are looked for."""
        return self.test != (NONE,)

    @property
    def tests(self) -> dict[str, DeclaredTest]:
        """What is declared of A/B tests, by name."""
        return declared_tests(self.test)

    @property
    def latest_ms(self) -> int:
        """Latest time, in milliseconds since 1970 UTC, that a row may have: a day after the clock."""
        return round(datetime.fromisoformat(str(self.clock)).timestamp() * 1000) + _DAY_MS

    @property
    def stored_depth(self) -> int:
        """Depth of the stored pattern table: the deepest that is asked for."""
        return max(self.depth)

    @field_validator("clock")
    @classmethod
    def _clock_is_a_time(cls, clock: str | None) -> str | None:
        if clock is None:
            return None
        try:
            return utc_of(datetime.fromisoformat(clock))
        except (ValueError, OverflowError) as error:
            raise ValueError("must be a time such as 2026-06-30 or 2026-06-30T04:00:00+02:00") from error

    @model_validator(mode="after")
    def _clock_is_now(self) -> Self:
        if self.clock is None:  # not as if it were given: messages repeat what a user gave
            self.__dict__["clock"] = utc_of(datetime.now(UTC))
        return self

    @field_validator(*_CHECKS)
    @classmethod
    def _is_of_its_form(cls, value: Any, info: ValidationInfo) -> Any:  # noqa: ANN401 - of several fields
        _CHECKS[str(info.field_name)](value)
        return value

    @field_validator("depth")
    @classmethod
    def _depths_in_range(cls, depths: tuple[int, ...]) -> tuple[int, ...]:
        if not depths or any(not 1 <= depth <= MAX_DEPTH for depth in depths):
            raise ValueError(f"depths must be between 1 and {MAX_DEPTH}")
        return tuple(sorted(set(depths)))

    @field_validator("signal")
    @classmethod
    def _signals_are_named(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        spelled = tuple(dict.fromkeys(" ".join(name.split()).lower() for name in names)) or ("none",)
        if len(spelled) > 1 and "none" in spelled:
            raise ValueError("give none alone, or name the actions that count")
        _, followed = OF_DWELL_TIMES
        no_names = {
            "click": "clicks always count",
            followed: "ask for satisfied, which adds it where most satisfied clicks rest on --last-click",
        }
        wrong = next((name for name in spelled if name in no_names or not SIGNAL_NAME.fullmatch(name)), None)
        if wrong is not None:
            what = no_names.get(wrong, "letters, digits and _ . : / - are allowed")
            raise ValueError(f"{wrong!r} is not a valid signal: {what}")
        return spelled

    @field_validator("batch")
    @classmethod
    def _batch_is_known(cls, batch: str) -> str:
        if not re.fullmatch(r"auto|day|file|[1-9][0-9]{0,14}", batch):
            raise ValueError("must be auto, day, file or a number of searches")
        return batch

    @model_validator(mode="after")
    def _visits_are_of_users(self) -> Self:
        if "reformulated" in self.outcome and self.idle_scope == "query":
            raise ValueError("outcome reformulated requires visits of users: use idle_scope user")
        return self
