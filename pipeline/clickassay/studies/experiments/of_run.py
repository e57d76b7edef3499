"""What a run says of the tests of its log, in sentences; nothing of it changes the decision of a run."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import polars as pl

from clickassay.core.contracts.columns import EVERY
from clickassay.core.contracts.experiments import AB, INTERLEAVED, PREFERENCE
from clickassay.core.contracts.run import TABLES_OF_TESTS
from clickassay.core.errors import SettingsError
from clickassay.core.settings.of_tests import DeclaredTest
from clickassay.core.text.words import (
    MISSING,
    capital,
    did_you_mean,
    listed,
    number,
    percent,
    plural,
    signed,
    visible,
)
from clickassay.findings.decision import USUAL
from clickassay.findings.draw import Findings
from clickassay.findings.run import Run
from clickassay.metrics.clicks import signal_of
from clickassay.patterns.arms import CLICK
from clickassay.report.verdict.sentences import clicks_of, signal_words
from clickassay.studies.experiments.checks import CAUTION, FINDING
from clickassay.studies.experiments.interleaving import preference_of
from clickassay.studies.experiments.log import past_tests
from clickassay.studies.experiments.order import FEWEST_GROUPS, PastTests
from clickassay.studies.experiments.sheet import Sheet
from clickassay.studies.experiments.words import (
    Experiments,
    calls_sentence,
    compared,
    in_order_sentence,
    moved_sentence,
    others_sentence,
)

Row = Mapping[str, Any]
KEY = ["experiment", "variant"]

SAME = 0.05
"""Difference of shares of pairs in order that is too small to matter, unless another is asked for."""

FEW = 5
"""Tests, or names of tests, that are told one by one; of more there are numbers."""

CALLED = {AB: "A/B test", INTERLEAVED: "interleaved test"}
"""What kinds of tests are called."""

SHORT = {
    "agree": "agree",
    "contradict": "contradict",
    "offline_only": "only {metric} changed",
    "online_only": "only {clicks} changed",
    "neither": "no clear change",
    "unequally_judged": "judged unequally",
}
"""What verdicts are called."""

SHORT_OF_DRAFTS = SHORT | {"offline_only": "only {metric} is clear", "online_only": "only users are clear"}
"""The same of interleaved tests."""

SAID = {
    "agree": "{change}, and {metric} says {better} too ({size}); {reason}.",
    "contradict": "{change}, but {metric} says {better} ({size}); {reason}.",
    "offline_only": "{change}, but {metric} says {better} ({size}); {reason}.",
    "online_only": "{change}; {metric} did not clearly change ({size}): {reason}.",
    "neither": "{change}, nor did {metric} ({size}); {reason}.",
    "unequally_judged": "{change}; {metric} is not compared, since {own} of the sessions of {treatment} are "
    "judged and {control} of control's. Judge rankings of {lacks}.",
}
"""What verdicts are in words."""

SAID_OF_DRAFTS = {
    "agree": "{change}, and {metric} favors {favored} too ({size}); {reason}.",
    "contradict": "{change}, but {metric} favors {favored} ({size}); {reason}.",
    "offline_only": "{change}, but {metric} favors {favored} ({size}); {reason}.",
    "online_only": "{change}; {metric} did not clearly favor either ({size}): {reason}.",
    "neither": "{change}, nor did {metric} clearly favor either ({size}); {reason}.",
    "unequally_judged": "{change}; {metric} is not compared, since {own} of the sessions in which "
    "{treatment} has more or higher places are judged, and {control} of the others. Judge results of "
    "{lacks}.",
}
"""The same of interleaved tests."""

DIFFERENCE = ("difference", "ci_low", "ci_high")


def metric_of_tests(run: Run, findings: Findings) -> str:
    """Return the metric that tests are held against: the one in use, else the advised one, else NDCG."""
    asked = (run.current, findings.decision.subject, USUAL)
    known = run.editorial or (USUAL,)
    return run.current or next((one for one in asked if one in known), known[0])


def depth_of_tests(run: Run) -> int:
    """Return the depth of the headline, else the smallest."""
    return min(run.settings.depth) if run.headline is None else run.headline.depth


@dataclass(frozen=True)
class LogTest:
    """A treatment of a test and its control."""

    name: str
    metric: str
    click: str  # What users are measured by; of an interleaved test `preference`, or that of its signal.
    users: Row  # Its row of the click metric that decides.
    offline: Row | None  # Its row of the metric; None where nothing is judged.
    checks: tuple[Row, ...]  # The checks of its data that are not passed, problems first.
    declared: DeclaredTest | None  # None where nothing is declared of it.

    @property
    def is_aa(self) -> bool:
        """Whether its arms were the same on purpose."""
        return self.declared is not None and self.declared.is_aa

    @property
    def verdict(self) -> str | None:
        """The verdict on the metric."""
        return None if self.offline is None else self.offline["verdict"]

    @property
    def short(self) -> str:
        """The verdict in a few words, or why there is none."""
        if self.problems or self.is_aa or self.verdict is None:
            return "problem" if self.problems else "A/A" if self.is_aa else "none"
        short = SHORT_OF_DRAFTS if self.is_interleaved else SHORT
        return short[self.verdict].format(metric=visible(self.metric), clicks=signal_words(self.click))

    @property
    def is_interleaved(self) -> bool:
        """Whether its rankings mix two rankers."""
        return bool(self.users["kind_of_test"] == INTERLEAVED)

    @property
    def problems(self) -> tuple[str, ...]:
        """What to do about its data before anything is concluded."""
        hidden = str(self.users["reason"] or "")
        return tuple(row["remedy"] or hidden for row in self.checks if row["status"] == FINDING)

    @property
    def entry(self) -> dict[str, Any]:
        """The test in ``summary.json``."""
        row, names = self.offline, ("mean_control", "mean", *DIFFERENCE, "p_value")
        told = {f"offline_{name}": None if row is None else row[name] for name in names}
        told |= {"verdict": self.verdict, "reason": (row or self.users)["reason"], "sentence": self.sentence}
        return {**self.users, **told, "metric": self.metric, "click_metric": self.users["metric"]}

    @property
    def sentence(self) -> str:
        """The verdict in words, with sizes; or why there is none."""
        if self.problems:
            return f"No verdict: {self.problems[0]}."
        row = self.users if self.offline is None else self.offline
        if self.users["difference"] is None:
            return f"No numbers: {row['reason'] or 'an arm has no sessions'}."
        if self.is_aa:
            return f"A/A test: {self.change}."
        if self.verdict is None:
            return f"{self.change}; no verdict: {row['reason'] or 'nothing is judged'}."
        control, own = row["judged_share_control"], row["judged_share"]
        said = SAID_OF_DRAFTS if self.is_interleaved else SAID
        return said[self.verdict].format(
            change=self.change, treatment=quoted(row["variant"]), metric=visible(self.metric), size=size(row),
            better="better" if (row["difference"] or 0) > 0 else "worse", reason=row["reason"],
            control=percent(control, 0), own=percent(own, 0),
            lacks=quoted(row["variant" if own < control else "control"]),
            favored=quoted(row["variant" if (row["difference"] or 0) > 0 else "control"]),
        )  # fmt: skip

    @property
    def direction(self) -> int:
        """1 if users clearly did more with the treatment, -1 if less, else 0."""
        low, high = (self.users[name] or 0.0 for name in ("ci_low", "ci_high"))
        return int(low > 0) - int(high < 0)

    @property
    def change(self) -> str:
        """What users did."""
        if self.is_interleaved:
            names = [quoted(self.users[name]) for name in ("variant", "control")]
            more, less = names[::-1] if self.direction < 0 else names
            preferred = "preferred" if self.direction else "did not clearly prefer"
            on = "" if signal_of(self.click) is None else f" on {signal_words(self.click)}"
            return f"Users {preferred} {more} to {less}{on} ({size(self.users)})"
        rose = ("did not clearly change", "rose", "fell")[self.direction]
        clicks = capital(signal_words(self.click))
        return f"{clicks} {rose} with {quoted(self.users['variant'])} ({size(self.users)})"


def relative(row: Row, *names: str) -> tuple[float | None, ...]:
    """Return numbers of a row as shares of control's mean; null where this is not above 0.

    Those of interleaved tests are what they are: a share of sessions, or of the value of mixed rankings.
    """
    base = None if row["kind_of_test"] == INTERLEAVED else row["mean_control"]
    return tuple(None if not base or base < 0 or row[name] is None else row[name] / base for name in names)


def size(row: Row) -> str:
    """Return a difference with its 95% CI: in per cent of control's mean, else as it is."""
    shares = [None if one is None else 100 * one for one in relative(row, *DIFFERENCE)]
    sign, decimals = ("", 3) if shares[0] is None else ("%", 1)
    value, low, high = [row[name] for name in DIFFERENCE] if shares[0] is None else shares
    if value is None:
        return MISSING
    ends = "no interval" if low is None else f"95% CI {number(low, decimals)} to {number(high, decimals)}"
    return f"{signed(value, decimals)}{sign}, {ends}"


def quoted(name: str) -> str:
    """Return a name of the user in quotes."""
    return f"“{visible(name)}”"


@dataclass(frozen=True)
class RunTests:
    """The tests of a run of one kind, by the judge of its headline, and what they say of its metrics."""

    run: Run
    metric: str  # The offline metric that tests are held against.
    kind: str = AB

    @classmethod
    def of(cls, run: Run, findings: Findings) -> "RunTests":
        """Return the A/B tests of a run, or the interleaved ones where there are no others."""
        tests = cls(run, metric_of_tests(run, findings))
        return next(iter(tests.kinds), tests)

    @property
    def kinds(self) -> tuple["RunTests", ...]:
        """The tests of each kind that the run has."""
        every = (replace(self, kind=kind) for kind in CALLED)
        return tuple(one for one in every if not one.rows.is_empty())

    @cached_property
    def rows(self) -> pl.DataFrame:
        """The differences of these tests."""
        return self.run.tables["experiments"].filter(kind_of_test=self.kind)

    @property
    def click(self) -> str:
        """The metric of users in the rows."""
        if self.kind == AB:
            return self.run.click
        name = preference_of(signal_of(self.run.click) or CLICK)
        return name if name in self.rows["metric"] else PREFERENCE

    @property
    def signal(self) -> str:
        """What users are measured by, in words: ``clicks``, or for interleaved tests ``preference``."""
        return signal_words(self.click) if self.kind == AB else PREFERENCE

    @cached_property
    def judge(self) -> str:
        """The judge of the headline if tests have its grades, else the first."""
        judges: list[str] = self.rows["judge"].unique().sort().to_list()
        headline = None if self.run.headline is None else self.run.headline.judge
        return headline if headline is not None and headline in judges else next(iter(judges), EVERY)

    def by_judge(self, judge: str) -> tuple[LogTest, ...]:
        """Return the tests with the grades of a judge."""
        rows = self.rows.filter(judge=judge)
        offline, users = (
            rows.filter(kind=kind, metric=metric)
            for kind, metric in (("editorial", self.metric), ("click", self.click))
        )
        said = offline.rows_by_key(KEY, named=True, include_key=True)
        checks = self.run.tables["experiment_checks"].filter(
            pl.col("status").is_in([FINDING, CAUTION]), kind_of_test=self.kind
        )
        wrong = checks.sort("status", descending=True).rows_by_key(KEY, named=True, include_key=True)
        arms = Counter(users["experiment"])
        words = PREFERENCE if self.click == PREFERENCE else self.run.click
        return tuple(
            LogTest(
                visible(name if arms[name] == 1 else f"{name}: {variant}"), self.metric, words, row,
                next(iter(said.get((name, variant), [])), None), tuple(wrong.get((name, variant), ())),
                self.run.settings.tests.get(name),
            )
            for row in users.to_dicts()
            for name, variant in [(row["experiment"], row["variant"])]
        )  # fmt: skip

    @cached_property
    def tests(self) -> tuple[LogTest, ...]:
        """All tests, with the grades of the judge."""
        return () if self.rows.is_empty() else self.by_judge(self.judge)

    @cached_property
    def past(self) -> PastTests:
        """The tests that metrics are compared on."""
        return past_tests(self.rows, self.judge, self.click)

    @cached_property
    def order(self) -> Experiments | None:
        """What metrics say of tests; None where the metric has no test."""
        return compared(self.sheet(), self.metric, SAME) if self.metric in self.past.metrics else None

    def sheet(self, metrics: Sequence[str] = ()) -> Sheet:
        """Return the tests that count, as past tests.

        metrics: offline metrics; none = all.

        Raises SettingsError if no test counts, or a metric is not there.
        """
        past, name = self.past, self.run.called
        if not past.metrics:
            why = self.tests[0].sentence if self.tests else "its log has no A/B test, or nothing is judged"
            raise SettingsError(f"{name}: no test to compare metrics on; {why.rstrip('.')}")
        for one in metrics:
            if one not in past.metrics:
                raise SettingsError(
                    f"--metric {one}: no such metric in {name}; {did_you_mean(one, past.metrics)}"
                )
        kept = tuple(dict.fromkeys(metrics)) or past.metrics
        values = past.values[:, [past.metrics.index(one) for one in kept]]
        return Sheet(replace(past, metrics=kept, values=values), "", (), (), self.click)

    def only(self, name: str) -> "RunTests":
        """Return one test, with all its variants.

        Raises SettingsError if it is not there.
        """
        known = self.run.tables["experiments"]["experiment"].unique().sort()
        if name not in known:
            raise SettingsError(f"{self.run.called}: no test {name!r}; {did_you_mean(name, known)}")
        own = {form.name: self.run.tables[form.name].filter(experiment=name) for form in TABLES_OF_TESTS}
        tests = replace(self, run=replace(self.run, tables={**self.run.tables, **own}))
        return next(iter(tests.kinds))

    @property
    def is_finding(self) -> bool:
        """Whether the data of a declared test have a problem."""
        tests = (one for kind in self.kinds for one in kind.tests)
        return any(one.declared is not None and one.problems for one in tests)

    @property
    def problems(self) -> Iterator[str]:
        """Yield the tests whose data have a problem, and what to do."""
        for one in self.tests:
            if one.problems:
                yield f"{capital(CALLED[self.kind])} “{one.name}”: {one.problems[0]}."

    @property
    def lines(self) -> tuple[str, ...]:
        """Return at most two lines of the first screen."""
        if not self.tests:
            return ()
        order, wrong = self.order, [one.name for one in self.tests if one.problems]
        excluded = f"No verdict, since data checks found a problem: {named(wrong)}." if wrong else ""
        if order is not None and order.row["groups"] >= FEWEST_GROUPS:
            moved = (moved_sentence(order), calls_sentence(order))
            pairs = (in_order_sentence(order), others_sentence(order), excluded)
            return tuple(filter(None, (" ".join(filter(None, texts)) for texts in (moved, pairs))))
        if len(self.tests) == 1:
            (only,) = self.tests
            return (f"1 {CALLED[self.kind]} (“{only.name}”): {only.sentence}",)
        return tuple(filter(None, (f"{plural(len(self.tests), CALLED[self.kind])}, {self.counts}", excluded)))

    @property
    def counts(self) -> str:
        """How many tests have which verdict, with their names."""
        parts = [
            f"{own[0].short} in {len(own)} ({named([one.name for one in own])})"
            for kind in SHORT
            if (own := [one for one in self.tests if one.verdict == kind])
        ]
        said = f"{visible(self.metric)} against {self.signal}: {'; '.join(parts)}."
        return said if parts else "none has a verdict."

    @property
    def calibration(self) -> str:
        """What A/A tests show; empty without one."""
        known = [one for one in self.tests if one.is_aa and one.users["p_value"] is not None]
        if not known:
            return ""
        odd = [one.name for one in known if one.users["p_value"] < 0.05]
        text = f"Calibration: {len(odd)} of {plural(len(known), 'A/A test')} with a significant difference"
        if not odd:
            return f"{text}, as it should be."
        return f"{text} ({named(odd)}). 1 in 20 is due to chance; if more are, check how users are assigned."

    @property
    def judges(self) -> Iterator[str]:
        """Yield where the grades of another judge favour an arm, or change a verdict."""
        if not self.tests:
            return
        metric = visible(self.metric)
        own = {tuple(one.users[name] for name in KEY): one for one in self.tests}
        rows = self.run.tables["experiment_judges"].filter(
            pl.lit(value=self.kind == AB), editorial_metric=self.metric
        )
        for row in rows.filter((pl.col("favours_low") > 0) | (pl.col("favours_high") < 0)).to_dicts():
            name, variant = quoted(own[row["experiment"], row["variant"]].name), quoted(row["variant"])
            more, less = ("b", "a") if row["favours"] > 0 else ("a", "b")
            most, least = row[f"difference_{more}"], row[f"difference_{less}"]
            times = f", {most / least:.1f} times as much" if least > 0 else ""
            yield (
                f"{name}: judge {visible(row[f'judge_{more}'])} favours {variant} more than "
                f"judge {visible(row[f'judge_{less}'])}. On rankings that both judged, {metric} changed by "
                f"{signed(most)} and {signed(least)}{times}."
            )
        for judge in self.rows["judge"].unique().sort():
            others = [
                f"{quoted(one.name)} {one.short}"
                for one in (self.by_judge(judge) if judge != self.judge else ())
                if one.verdict not in (None, own[one.users["experiment"], one.users["variant"]].verdict)
            ]
            if others:
                yield f"With the grades of {visible(judge)}, verdicts differ: {listed(others[:FEW])}."

    @property
    def same_pairs(self) -> Iterator[str]:
        """Yield what A/B tests of the same two rankers (and group: names may be roles) say of users."""
        for one in self.tests if self.kind == INTERLEAVED else ():
            for other in replace(self, kind=AB).tests:
                is_same = all(
                    one.users[name] == other.users[name] for name in ("group", "control", "variant")
                )
                if not is_same or any(test.problems or test.is_aa for test in (one, other)):
                    continue
                clear = [test.direction for test in (one, other) if test.direction]
                both = "; only one of them is clear" if clear else "; neither is clear"
                if len(clear) == 2:
                    both = " and agree" if clear[0] == clear[1] else " and contradict each other"
                yield (
                    f"{quoted(one.name)} and the A/B test {quoted(other.name)} compared the same rankers"
                    f"{both}. In the A/B test: {other.change}."
                )

    @property
    def held_against(self) -> str:
        """Say what tests are held against."""
        why = "your metric" if self.metric == self.run.current else "name yours by --current"
        judge = "" if self.judge == EVERY else f", judge {visible(self.judge)}"
        if self.kind == INTERLEAVED:
            return (
                "Users: sessions that clicked more results of one ranker than of the other, as a share of "
                f"those with a click on either. Offline: the parts of {visible(self.metric)} ({why}) that "
                f"the rankers have in the top {depth_of_tests(self.run)} results{judge}. Their difference "
                "has the sign of that of the rankers, not its size."
            )
        return (
            f"Users: {clicks_of(self.run.click)} of all sessions. Offline: {visible(self.metric)} ({why}) "
            f"of the top {depth_of_tests(self.run)} results{judge}, on queries that both arms have."
        )


def named(names: list[str]) -> str:
    """Return names of tests; of many the first, and how many others."""
    names, more = list(map(quoted, names)), len(names) - FEW
    return listed(names) if more <= 1 else listed([*names[:FEW], f"{more} more"])
