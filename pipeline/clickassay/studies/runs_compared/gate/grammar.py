"""Rules as text: ``correlation(ERR, MeanRR) >= 0.3``, ``health == "ok"``, ``not worse than reports/last``.

    quantity comparison number [for place]
    health == "ok"                                 also !=, and "caution" or "finding"
    decision != "switch"                           also ==, and any other kind of decision
    verdict(TEST) != "contradict" [for judge NAME]   also ==, and any other verdict on a test of the log
    not worse than PATH [by number] [at alpha] [in names] [for place]

A place is ``depth 5``, ``market north``, ``judge "Ann B."``, or several of them with commas between.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from clickassay.core.contracts.experiments import VERDICTS
from clickassay.core.errors import SettingsError
from clickassay.core.files.documents import DocumentError, read_toml
from clickassay.core.records import SampleChoice
from clickassay.core.text.words import did_you_mean, listed
from clickassay.correlation.uncertainty.intervals import ALPHA
from clickassay.findings.decision import Kind
from clickassay.health.checks import OK, Severity
from clickassay.studies.runs_compared.gate.quantities import QUANTITIES

HEALTH, DECISION, OF_TEST = "health", "decision", "verdict"
STATUSES = (OK, str(Severity.CAUTION), str(Severity.FINDING))
"""What the health of a run can be, best first."""
STATES = {HEALTH: STATUSES, DECISION: get_args(Kind), OF_TEST: VERDICTS}
"""What of a run, or of a test of its log, is compared with a word, and the words."""

COMPARISONS = (">=", ">", "<=", "<")
EXAMPLES = 'coverage >= 0.8, correlation(ERR, MeanRR) >= 0.3, health == "ok", not worse than reports/last'

_RULE = re.compile(
    r"(?P<quantity>[A-Za-z_]+)\s*(?:\((?P<names>.*)\))?\s*(?P<comparison>[<>=!]++)\s*(?P<limit>\S.*)",
    re.DOTALL,
)
_NOT_WORSE = re.compile(
    r'not worse than\s+(?P<run>"[^"]+"|[^\s"]+)(?:\s+by\s+(?P<margin>\S+))?'
    r"(?:\s+at\s+(?P<alpha>\S+))?(?:\s+in\s+(?P<names>\S.*))?"
)
_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?")
_FOR = re.compile(r'"[^"]*"|(?<=\s)for(?=\s)')
_PLACE = re.compile(r'\s*(?P<name>[a-z]+)\s+(?P<value>"[^"]*"|[^\s",]+)\s*(?:,|$)')
_BETWEEN_NAMES = re.compile(r",(?![^(]*\))")


@dataclass(frozen=True)
class Limit:
    """A rule about a number of the run."""

    text: str  # The rule as it was written.
    # quantity, names: The limited quantity: its name in `QUANTITIES`, and its metrics, as written.
    quantity: str
    names: tuple[str, ...]
    # comparison, limit: One of `COMPARISONS`, and the number on its right.
    comparison: str
    limit: float
    place: SampleChoice  # The sample that it is about; open parts are as in the headline.


@dataclass(frozen=True)
class RunState:
    """A rule about the worst check of the log, the decision, or the verdict of a test.

    `status` is one of `STATES`.
    """

    text: str
    subject: str
    is_equal: bool
    status: str
    test: str = ""  # Of a verdict: the name of the test, as written.
    judge: str | None = None  # Of a verdict: whose grades; None = those of the headline.


@dataclass(frozen=True)
class NotWorse:
    """A rule that nothing fell significantly since another run."""

    text: str  # The rule as it was written.
    run: Path  # The folder of the other run.
    names: tuple[str, ...]  # Metrics and click metrics that are compared, as written; none = all.
    place: SampleChoice  # As in `Limit`.
    margin: float = 0.0  # A fall that nobody would act on.
    alpha: float = ALPHA  # The chance of calling any change beyond noise where there is none.


Rule = Limit | RunState | NotWorse


def parse_rules(texts: Sequence[str]) -> tuple[Rule, ...]:
    """Read rules, each once; SettingsError if one is none, with what was found and expected."""
    return tuple(parse_rule(text) for text in dict.fromkeys(texts))


def parse_rule(text: str) -> Rule:
    """Read one rule; raises as `parse_rules`."""
    spelled = " ".join(text.split())
    body, place = _place(spelled)
    if body.startswith("not worse"):
        return _not_worse(spelled, body, place)
    match = _RULE.fullmatch(body)
    if match is None:
        raise _malformed(spelled, f"expected a rule such as {EXAMPLES}")
    name, comparison = match["quantity"], match["comparison"]
    if name in STATES:
        words, test = [f'"{one}"' for one in STATES[name]], (match["names"] or "").strip()
        is_of_test = name == OF_TEST
        form = f"{name}(TEST)" if is_of_test else name
        if bool(test) != is_of_test or comparison not in {"==", "!="} or match["limit"] not in words:
            raise _malformed(spelled, f"expected {form} == or != {listed(words, 'or')}")
        judge = place.judge if is_of_test else None
        if place != SampleChoice(judge=judge):
            whole = "only a judge can follow `for`" if is_of_test else "remove what follows `for`"
            raise _malformed(spelled, f"{form} applies to the whole run; {whole}")
        return RunState(spelled, name, comparison == "==", match["limit"].strip('"'), test, judge)
    quantity = QUANTITIES.get(name)
    if quantity is None:
        raise _malformed(spelled, f"unknown quantity {name}; {did_you_mean(name, [*QUANTITIES, *STATES])}")
    names = _names(match["names"] or "")
    if len(names) != len(quantity.arguments):
        raise _malformed(spelled, f"expected {quantity.form}")
    if comparison not in COMPARISONS:
        raise _malformed(spelled, f"found {comparison}; compare a number with {listed(COMPARISONS, 'or')}")
    limit = _number(spelled, match["limit"])
    if not quantity.low <= limit <= quantity.high:
        span = f"{quantity.low:g} to {quantity.high:g}" if math.isfinite(quantity.high) else "0 or more"
        raise _malformed(spelled, f"{quantity.form} is {span}, and {limit:g} can never be reached")
    return Limit(spelled, name, names, comparison, limit, place)


def _malformed(text: str, what: str) -> SettingsError:
    return SettingsError(f"rule {text!r}: {what}")


def _number(text: str, spelled: str) -> float:
    if _NUMBER.fullmatch(spelled) is None or not math.isfinite(float(spelled)):
        raise _malformed(text, f"found {spelled!r} where a number was expected, e.g. 0.3 or 10000")
    return float(spelled)


def _not_worse(text: str, body: str, place: SampleChoice) -> NotWorse:
    match = _NOT_WORSE.fullmatch(body)
    if match is None:
        raise _malformed(
            text,
            "expected not worse than PATH, in quotes where it has blanks, and perhaps `by` with a number, "
            "`at` with an alpha and `in` with names, e.g. not worse than reports/last by 0.03 at 0.01 in ERR",
        )
    names = () if match["names"] is None else _names(match["names"])
    if not all(names):
        raise _malformed(text, "expected names with commas between them after `in`, e.g. in ERR, MeanRR")
    margin = 0.0 if match["margin"] is None else _number(text, match["margin"])
    if margin < 0:
        raise _malformed(text, f"a margin is 0 or more, and {margin:g} is not")
    alpha = ALPHA if match["alpha"] is None else _number(text, match["alpha"])
    if not 0 < alpha < 0.5:
        raise _malformed(text, f"alpha is above 0 and below 0.5, and {alpha:g} is not")
    return NotWorse(text, Path(match["run"].strip('"')), names, place, margin, alpha)


def _names(text: str) -> tuple[str, ...]:
    """Return names with commas between them; ``RBP(p=0.6,max_rel=4)`` is one name."""
    return tuple(name.strip() for name in _BETWEEN_NAMES.split(text)) if text.strip() else ()


def _place(text: str) -> tuple[str, SampleChoice]:
    found = next((match for match in _FOR.finditer(text) if match[0] == "for"), None)
    if found is None:
        return text, SampleChoice()
    body, rest = text[: found.start()].strip(), text[found.end() :]
    given: dict[str, str] = {}
    at = 0
    while at < len(rest):
        part = _PLACE.match(rest, at)
        if part is None or part["name"] in given or part["name"] not in {"depth", "market", "judge"}:
            raise _malformed(text, _EXPECTED_PLACE)
        given[part["name"]], at = part["value"].strip('"'), part.end()
    if not given or rest.rstrip().endswith(",") or not all(given.values()):
        raise _malformed(text, _EXPECTED_PLACE)
    depth = given.get("depth")
    if depth is not None and not (depth.isdecimal() and depth.isascii()):
        raise _malformed(text, f"found depth {depth}; expected a whole number, e.g. for depth 5")
    at_depth = None if depth is None else int(depth)
    return body, SampleChoice(given.get("market"), at_depth, given.get("judge"))


_EXPECTED_PLACE = (
    "expected depth, market or judge after `for`, each once and with its value, names with blanks in quotes, "
    'e.g. for market "new york", depth 5'
)


EXAMPLE = 'rules = ["coverage >= 0.8", "correlation(ERR, MeanRR) >= 0.3"]'


def read_rules_file(file: Path) -> tuple[str, ...]:
    """Return rules of a TOML file with a list ``rules``; SettingsError if it is not like `EXAMPLE`."""
    try:
        document = read_toml(file)
    except OSError as error:
        raise SettingsError(f"rules file {file}: {error.strerror or error}") from error
    except DocumentError as error:
        raise SettingsError(f"rules file {file}: {error}; expected {EXAMPLE}") from error
    unknown = sorted(set(document) - {"rules"})
    if unknown:
        raise SettingsError(f"rules file {file}: unknown key {unknown[0]}; expected only {EXAMPLE}")
    rules = document.get("rules")
    if not isinstance(rules, list) or not all(isinstance(rule, str) for rule in rules):
        raise SettingsError(f"rules file {file}: expected a list of texts, {EXAMPLE}")
    if not rules:
        raise SettingsError(f"rules file {file} has no rules, so every run would pass; expected {EXAMPLE}")
    return tuple(rules)
