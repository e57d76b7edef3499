"""Rules as text: what they say, and what is refused with the reason."""

from pathlib import Path

import pytest

from clickassay.core.errors import SettingsError
from clickassay.core.records import SampleChoice
from clickassay.studies.runs_compared.gate.grammar import Limit, NotWorse, RunState, parse_rule, parse_rules
from clickassay.studies.runs_compared.gate.quantities import QUANTITIES

ANY = SampleChoice()


LAST, IN_LAST = Path("reports/last"), Path("my reports/in last")


@pytest.mark.parametrize(
    ("text", "kind", "parts"),
    [
        ("coverage >= 0.8", Limit, ("coverage", (), ">=", 0.8, ANY)),
        ("coverage>=.8", Limit, ("coverage", (), ">=", 0.8, ANY)),
        ("  sessions   >  1e4 ", Limit, ("sessions", (), ">", 10_000, ANY)),
        ("queries < 500", Limit, ("queries", (), "<", 500, ANY)),
        ("mean(QCTR) <= 1.", Limit, ("mean", ("QCTR",), "<=", 1, ANY)),
        ("correlation(ERR, MeanRR) >= -0.3", Limit, ("correlation", ("ERR", "MeanRR"), ">=", -0.3, ANY)),
        ("correlation(RBP(p=0.6,max_rel=4)@3,UCTR) >= 0", Limit,
         ("correlation", ("RBP(p=0.6,max_rel=4)@3", "UCTR"), ">=", 0, ANY)),
        ("difference(AP(rel=2), NDCG, MeanRR) >= 0 for depth 10", Limit,
         ("difference", ("AP(rel=2)", "NDCG", "MeanRR"), ">=", 0, SampleChoice(depth=10))),
        ('coverage >= 0.8 for market "for new, york", depth 5, judge Ann', Limit,
         ("coverage", (), ">=", 0.8, SampleChoice("for new, york", 5, "Ann"))),
        ('health == "ok"', RunState, ("health", True, "ok")),
        ('health!="finding"', RunState, ("health", False, "finding")),
        ('decision != "switch"', RunState, ("decision", False, "switch")),
        ("not worse than reports/last", NotWorse, (LAST, (), ANY)),
        ('not worse than "my reports/in last" in ERR, UCTR', NotWorse, (IN_LAST, ("ERR", "UCTR"), ANY)),
        ('not worse than "my reports/in last" by 0.03 in ERR, UCTR', NotWorse,
         (IN_LAST, ("ERR", "UCTR"), ANY, 0.03)),
        ("not worse than reports/last at 0.01 in ERR", NotWorse, (LAST, ("ERR",), ANY, 0.0, 0.01)),
        ("not worse than in in AP(rel=2) for market uk", NotWorse,
         (Path("in"), ("AP(rel=2)",), SampleChoice("uk"))),
        ("not worse than for/last for depth 5", NotWorse, (Path("for/last"), (), SampleChoice(depth=5))),
    ],
)  # fmt: skip
def test_what_a_rule_says(text, kind, parts):
    assert parse_rule(text) == kind(" ".join(text.split()), *parts)


def test_a_rule_that_is_given_twice_is_checked_once():
    assert len(parse_rules(["coverage >= 0.8", "queries >= 5", "coverage >= 0.8"])) == 2


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "expected a rule such as coverage >= 0.8"),
        ("coverage", "expected a rule such as"),
        ("0.8 <= coverage", "expected a rule such as"),
        ("coverage >= ", "expected a rule such as"),
        ("coverag >= 0.8", "unknown quantity coverag; did you mean coverage?"),
        ("Coverage >= 0.8", "unknown quantity Coverage; did you mean coverage?"),
        ("coverage(ERR) >= 0.8", "expected coverage"),
        ("correlation(ERR) >= 0.3", "expected correlation(METRIC, CLICK METRIC)"),
        ("correlation >= 0.3", "expected correlation(METRIC, CLICK METRIC)"),
        ("difference(ERR, NDCG) >= 0", "expected difference(METRIC, METRIC, CLICK METRIC)"),
        ("coverage == 0.8", "found ==; compare a number with >=, >, <= or <"),
        ("coverage => 0.8", "found =>; compare a number with"),
        ("coverage >= 80", "coverage is 0 to 1, and 80 can never be reached"),
        ("queries >= -1", "queries is 0 or more, and -1 can never be reached"),
        ("correlation(ERR, UCTR) >= 1.01", "is -1 to 1, and 1.01 can never be reached"),
        ("coverage >= 80%", "found '80%' where a number was expected"),
        ("queries >= 10,000", "found '10,000' where a number was expected"),
        ("coverage >= nan", "found 'nan' where a number was expected"),
        ("mean(ERR) >= 1e999", "found '1e999' where a number was expected"),
        ("coverage >= 0.8 and queries >= 5", "found '0.8 and queries >= 5' where a number was expected"),
        ("health == ok", 'expected health == or != "ok", "caution" or "finding"'),
        ('health >= "ok"', "expected health == or !="),
        ('health == "fine"', "expected health == or !="),
        ('health(busy_user) == "ok"', "expected health == or !="),
        ('health == "ok" for depth 5', "health applies to the whole run"),
        ('decision == "buy"', 'expected decision == or != "log_at_fault", "cannot_decide"'),
        ('decision == "keep" for depth 5', "decision applies to the whole run"),
        ("not worse than a by much", "found 'much' where a number was expected"),
        ("not worse than a by -0.1", "a margin is 0 or more, and -0.1 is not"),
        ("not worse than a at 0.5", "alpha is above 0 and below 0.5, and 0.5 is not"),
        ("not worse than a at 0 in ERR", "alpha is above 0 and below 0.5, and 0 is not"),
        ("not worse than", "expected not worse than PATH"),
        ("not worse reports/last", "expected not worse than PATH"),
        ("not worse than my reports", "expected not worse than PATH, in quotes where it has blanks"),
        ("not worse than a in ERR,, UCTR", "expected names with commas between them after `in`"),
        ("coverage >= 0.8 for ", "found '0.8 for' where a number was expected"),
        ("coverage >= 0.8 for depth", "expected depth, market or judge after `for`"),
        ("coverage >= 0.8 for depth 5,", "expected depth, market or judge after `for`"),
        ("coverage >= 0.8 for depth 5 market uk", "expected depth, market or judge after `for`"),
        ("coverage >= 0.8 for depth 5, depth 10", "each once"),
        ("coverage >= 0.8 for query maps", "expected depth, market or judge after `for`"),
        ('coverage >= 0.8 for market ""', "expected depth, market or judge after `for`"),
        ("coverage >= 0.8 for depth five", "found depth five; expected a whole number"),
        ("coverage >= 0.8 for depth \u0665", "expected a whole number"),
    ],
)
def test_what_is_no_rule_is_refused_with_what_was_found_and_expected(text, words):
    with pytest.raises(SettingsError) as refused:
        parse_rule(text)
    assert str(refused.value).startswith(f"rule {' '.join(text.split())!r}: ")
    assert words in str(refused.value)


def test_a_limit_on_either_end_of_a_range_is_one():
    for name, quantity in QUANTITIES.items():
        names = f"({', '.join('ERR' for _ in quantity.arguments)})" if quantity.arguments else ""
        for end in {max(quantity.low, -1e9), min(quantity.high, 1e9)}:
            assert parse_rule(f"{name}{names} >= {end:g}").limit == end
