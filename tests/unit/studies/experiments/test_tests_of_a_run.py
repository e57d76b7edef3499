"""Each sentence on the tests of a run, where it is true and where it would be false; 1, 3 and 30 tests."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

from clickassay.core.contracts.run import TABLES_OF_TESTS
from clickassay.core.records import SampleKey
from clickassay.core.settings import load_settings
from clickassay.core.text.privacy import QueryLabels
from clickassay.core.text.words import MINUS
from clickassay.studies.experiments import shown
from clickassay.studies.experiments.of_run import RunTests, metric_of_tests, size

UP, DOWN, NONE = (0.02, 0.01, 0.03), (-0.02, -0.03, -0.01), (0.001, -0.02, 0.022)
UNKNOWN = (None, None, None)


def planted(name, verdict=None, users=UP, offline=UP, **more):
    """Return the rows of one test: of users and of NDCG, and whatever else it is."""
    base = {
        "experiment": name, "variant": "new", "kind_of_test": "ab", "control": "old", "group": name,
        "depth": 5, "judge": "human",
        "users_control": 900, "users": 880, "sessions_control": 2000, "sessions": 1900, "counts": True,
        "judged_share_control": 0.8, "judged_share": 0.6, "changed": 0.5, "mean_control": 0.4,
        "reason": "why",
    } | more  # fmt: skip
    ends = ("difference", "ci_low", "ci_high")
    p = {"p_value": 0.5 if users[1] is None or users[1] <= 0 <= users[2] else 0.001, "moved": True}
    clicks = {"kind": "click", "metric": "MeanRR", "error": 0.005} | dict(zip(ends, users, strict=True)) | p
    said = {"kind": "editorial", "metric": "NDCG", "verdict": verdict} | dict(zip(ends, offline, strict=True))
    return [base | clicks, base | said]


def check(name, status, remedy, check="sample_ratio", variant="new"):
    return {"experiment": name, "variant": variant, "kind_of_test": "ab", "check": check, "value": 0.1,
            "limit": 0.2, "status": status, "remedy": remedy}  # fmt: skip


def favours(name, a, b, low, high):
    return {"experiment": name, "variant": "new", "depth": 5, "judge_a": "human", "judge_b": "model",
            "editorial_metric": "NDCG", "difference_a": a, "difference_b": b, "favours": b - a,
            "favours_low": low, "favours_high": high, "p_value": 0.01}  # fmt: skip


@dataclass(frozen=True)
class StandIn:
    """What is asked of a run."""

    tables: Mapping[str, pl.DataFrame]
    settings: object
    current: str | None
    click: str = "MeanRR"
    called: str = "the run"
    headline: object = SampleKey("all", 5, "human")
    editorial: tuple[str, ...] = ("NDCG", "ERR")
    labels: QueryLabels = field(default_factory=lambda: QueryLabels(None, 1))


def made(*tests, checks=(), judges=(), preferences=(), current="NDCG", **settings):
    """Return the tests of a run that has these rows."""
    rows = ([row for one in tests for row in one], checks, judges, (), preferences)
    frames = {
        form.name: form.canonical(
            pl.DataFrame(list(own), {one.name: one.dtype for one in form.columns}, orient="row")
        )
        for form, own in zip(TABLES_OF_TESTS, rows, strict=True)
    }
    run = StandIn(frames, load_settings(**settings), current)
    return RunTests(run, "NDCG")


VERDICTS = [
    ("agree", UP, UP, "Clicks rose with “new” (+5.0%, 95% CI 2.5 to 7.5), and NDCG says better too (+5.0%"),
    ("agree", DOWN, DOWN, "Clicks fell with “new” (-5.0%, 95% CI -7.5 to -2.5), and NDCG says worse too"),
    ("contradict", UP, DOWN, "Clicks rose with “new” (+5.0%, 95% CI 2.5 to 7.5), but NDCG says worse"),
    ("offline_only", NONE, UP, "Clicks did not clearly change with “new” (+0.2%, 95% CI -5.0 to 5.5), but "
     "NDCG says better"),
    ("online_only", DOWN, NONE, "Clicks fell with “new” (-5.0%, 95% CI -7.5 to -2.5); NDCG did not clearly "
     "change (+0.2%"),
    ("neither", NONE, NONE, "Clicks did not clearly change with “new” (+0.2%, 95% CI -5.0 to 5.5), nor did "
     "NDCG"),
    ("unequally_judged", UP, UNKNOWN, "NDCG is not compared, since 60% of the sessions of “new” are judged "
     "and 80% of control's. Judge rankings of “new”."),
    (None, UP, UP, "Clicks rose with “new” (+5.0%, 95% CI 2.5 to 7.5); no verdict: why."),
]  # fmt: skip


@pytest.mark.parametrize(("verdict", "users", "offline", "words"), VERDICTS)
def test_each_verdict_is_said_where_it_is_true_and_no_other(verdict, users, offline, words):
    (only,) = made(planted("t", verdict, users, offline)).tests
    assert words in only.sentence.replace(MINUS, "-")
    kinds = {"agree": "too (", "contradict": "but NDCG", "offline_only": "but NDCG", "neither": "nor did",
             "online_only": "; NDCG did not", "unequally_judged": "not compared",
             None: "no verdict"}  # fmt: skip
    said = {kind for kind in kinds.values() if kind in only.sentence}
    assert said == {kinds[verdict]}, only.sentence


def test_the_arm_that_lacks_judgments_is_the_one_to_judge():
    rows = planted("t", "unequally_judged", UP, UNKNOWN, judged_share_control=0.5, judged_share=0.9)
    assert made(rows).tests[0].sentence.endswith("Judge rankings of “old”.")


def test_sizes_are_shares_of_control_or_as_they_are():
    row = {"difference": 0.01, "ci_low": -0.02, "ci_high": 0.04, "kind_of_test": "ab"}
    assert size(row | {"mean_control": 0.5}) == f"+2.0%, 95% CI {MINUS}4.0 to 8.0"
    for mean in (0.0, -1.0, None):
        assert size(row | {"mean_control": mean}) == f"+0.010, 95% CI {MINUS}0.020 to 0.040"
    assert size(row | {"mean_control": 0.5, "ci_low": None, "ci_high": None}) == "+2.0%, no interval"
    assert size(dict.fromkeys((*row, "mean_control"))) == "–"  # noqa: RUF001 - a dash


def test_a_failed_check_comes_first_and_takes_the_verdict():
    found = made(
        planted("bad", None, counts=False), planted("good", "agree"),
        checks=[check("bad", "finding", "find the users"), check("good", "caution", "write until", "ends")],
    )  # fmt: skip
    bad, good = found.tests
    assert (bad.short, bad.sentence) == ("problem", "No verdict: find the users.")
    assert (good.short, good.problems) == ("agree", ())
    assert found.lines == (
        "2 A/B tests, NDCG against clicks: agree in 1 (“good”).",
        "No verdict, since data checks found a problem: “bad”.",
    )
    section = shown.tests_section(found)
    assert section.reading[0] == "No verdict on “bad”: find the users."
    assert "Caution: “good”: write until." in section.reading
    assert not any("“bad”: No verdict" in text for text in section.reading)


@pytest.mark.parametrize(("declared", "is_finding"), [(["bad.control=old"], True),
                                                      (["good.control=old"], False),
                                                      ([], False)])  # fmt: skip
def test_only_a_declared_test_with_a_problem_ends_a_job(declared, is_finding):
    checks = [check("bad", "finding", "mend it"), check("good", "caution", "write until")]
    found = made(planted("bad"), planted("good", "agree"), checks=checks, test=declared)
    assert found.is_finding == is_finding
    assert list(found.problems) == ["A/B test “bad”: mend it."]


@pytest.mark.parametrize(("users", "words"), [
    (NONE, "Calibration: 0 of 1 A/A test with a significant difference, as it should be."),
    (UP, "Calibration: 1 of 1 A/A test with a significant difference (“aa”). 1 in 20 is due to chance"),
])  # fmt: skip
def test_an_a_a_test_is_calibration(users, words):
    found = made(planted("aa", None, users, NONE, counts=False), test=["aa.is_aa=true"])
    assert words in found.calibration
    assert found.tests[0].short == "A/A"
    assert found.tests[0].sentence.startswith("A/A test: Clicks")
    assert any(words in text for text in shown.tests_section(found).reading)
    assert made(planted("aa", "neither", users, NONE)).calibration == ""


def test_arms_of_few_users_show_no_number_on_any_face():
    names = ("difference", "ci_low", "ci_high", "mean_control", "users_control", "users", "sessions_control",
             "sessions", "judged_share_control", "judged_share", "changed", "p_value", "moved",
             "error")  # fmt: skip
    hidden = dict.fromkeys(names) | {"reason": "an arm has fewer than 5 users", "counts": False}
    rows = [row | hidden for row in planted("tiny")]
    found = made(rows, checks=[check("tiny", "finding", "") | {"value": None}])
    assert found.lines == ("1 A/B test (“tiny”): No verdict: an arm has fewer than 5 users.",)
    assert made(rows).lines == ("1 A/B test (“tiny”): No numbers: an arm has fewer than 5 users.",)
    section = shown.tests_section(found)
    texts = (
        " ".join((*section.every_reading, *found.lines))
        .replace("fewer than 5 users", "")
        .replace("top 5", "")
    )
    assert not any(letter.isdigit() for letter in texts.replace("1 A/B test", "")), texts
    cells = [cell for row in section.tables[0].rows for cell in row.cells if not isinstance(cell, str)]
    assert all(getattr(cell, "value", cell) is None for cell in cells)


JUDGES = [
    (favours("t", 0.01, 0.04, 0.01, 0.05), "judge model favours “new” more than judge human. On rankings "
     "that both judged, NDCG changed by +0.040 and +0.010, 4.0 times as much."),
    (favours("t", 0.04, 0.01, -0.05, -0.01), "judge human favours “new” more than judge model"),
    (favours("t", -0.01, 0.04, 0.01, 0.09), f"NDCG changed by +0.040 and {MINUS}0.010."),
]  # fmt: skip


@pytest.mark.parametrize(("row", "words"), JUDGES)
def test_a_judge_that_favours_an_arm_is_named(row, words):
    (said,) = made(planted("t", "agree"), judges=[row]).judges
    assert words in said
    assert (
        list(made(planted("t", "agree"), judges=[row | {"favours_low": -1.0, "favours_high": 1.0}]).judges)
        == []
    )


def test_another_judges_verdict_is_told_where_it_differs():
    own, other = planted("t", "agree"), planted("t", "offline_only", judge="model")
    assert list(made(own, other).judges) == [
        "With the grades of model, verdicts differ: “t” only NDCG changed."
    ]
    assert list(made(own, planted("t", "agree", judge="model")).judges) == []


def test_one_test_is_told_in_a_line_three_by_their_verdicts_ten_by_their_order():
    one = made(planted("ranker", "agree"))
    assert one.lines == (f"1 A/B test (“ranker”): {one.tests[0].sentence}",)
    three = made(
        planted("a", "agree"), planted("b", "contradict", UP, DOWN), planted("c", "neither", NONE, NONE)
    )
    assert three.lines == (
        "3 A/B tests, NDCG against clicks: agree in 1 (“a”); contradict in 1 (“b”); no clear change in 1 "
        "(“c”).",
    )
    moved, pairs = many(12).lines
    assert moved.startswith("11 of 12 tests significantly changed what users did")
    assert "Of two tests, NDCG prefers the one that did better in 100% of pairs" in pairs
    same = made(*(planted(f"t{at}", "agree") for at in range(10))).lines
    assert len(same) == 1  # the metric says the same of all: no pair is in order
    assert made(planted("a", None), planted("b", None)).lines == ("2 A/B tests, none has a verdict.",)
    assert made().lines == ()


def many(number):
    """Return tests that all agree, each more than the one before."""
    sizes = np.linspace(-0.05, 0.06, number)
    return made(*(
        planted(f"t{at:02d}", "agree", (size, size - 0.001, size + 0.001), (size, size - 0.001, size + 0.001))
        for at, size in enumerate(sizes)
    ))  # fmt: skip


@pytest.mark.parametrize("number", [1, 3, 30])
def test_any_number_of_tests_is_one_table_and_few_sentences(number):
    found = many(number)
    section = shown.tests_section(found)
    assert len(section.reading) <= 5
    assert [len(table.rows) for table in section.tables] == [number]
    verdicts = [f"“{one.name}”: {one.sentence}" for one in found.tests]
    assert set(verdicts) <= {*(section.reading if number <= 5 else section.folded_reading)}
    assert len(section.figures) == (number > 1)
    assert ("experiment_order" in [table.name for table in section.folded]) == (number >= 10)


def test_two_treatments_are_named_by_their_variants():
    found = made(planted("t", "agree"), planted("t", "neither", NONE, NONE, variant="newer"))
    assert [one.name for one in found.tests] == ["t: new", "t: newer"]
    assert [one.entry["variant"] for one in found.only("t").tests] == ["new", "newer"]


def test_an_entry_has_verdict_sizes_and_words():
    (entry,) = [one.entry for one in made(planted("t", "contradict", UP, DOWN)).tests]
    assert (entry["experiment"], entry["variant"], entry["verdict"]) == ("t", "new", "contradict")
    assert [entry[name] for name in ("difference", "ci_low", "ci_high")] == list(UP)
    assert [entry[f"offline_{name}"] for name in ("difference", "ci_low", "ci_high")] == list(DOWN)
    alone = made(planted("t")[:1]).tests[0].entry
    assert (alone["verdict"], alone["offline_difference"], alone["difference"]) == (None, None, 0.02)


@pytest.mark.parametrize(("current", "advised", "editorial", "metric"), [
    ("ERR", "NDCG", ("NDCG", "ERR"), "ERR"),
    (None, "ERR", ("NDCG", "ERR"), "ERR"),
    (None, "MeanGrade@1", ("NDCG", "ERR"), "NDCG"),
    (None, None, ("own score",), "own score"),
    (None, None, (), "NDCG"),
])  # fmt: skip
def test_tests_are_held_against_the_metric_in_use_else_the_advised_one_else_ndcg(
    current, advised, editorial, metric
):
    run = SimpleNamespace(current=current, editorial=editorial)
    findings = SimpleNamespace(decision=SimpleNamespace(subject=advised))
    assert metric_of_tests(run, findings) == metric


# ---- interleaved tests -------------------------------------------------------------------------


def drafted(name, verdict=None, users=UP, offline=UP, **more):
    """Return the rows of an interleaved test."""
    clicks, said = planted(name, verdict, users, offline, kind_of_test="interleaved", **more)
    return [clicks | {"metric": "preference"}, said]


OF_DRAFTS = [
    ("agree", UP, UP, "Users preferred “new” to “old” (+0.020, 95% CI 0.010 to 0.030), and NDCG favors “new” "
     "too (+0.020, 95% CI 0.010 to 0.030); why."),
    ("agree", DOWN, DOWN, "Users preferred “old” to “new” (-0.020, 95% CI -0.030 to -0.010), and NDCG favors "
     "“old” too"),
    ("contradict", UP, DOWN, "Users preferred “new” to “old” (+0.020, 95% CI 0.010 to 0.030), but NDCG "
     "favors “old”"),
    ("offline_only", NONE, UP, "Users did not clearly prefer “new” to “old” (+0.001, 95% CI -0.020 to "
     "0.022), but NDCG favors “new”"),
    ("neither", (-0.001, -0.02, 0.018), NONE, "Users did not clearly prefer “new” to “old” (-0.001, 95% CI"),
    ("online_only", DOWN, NONE, "; NDCG did not clearly favor either (+0.001, 95% CI -0.020 to 0.022): why."),
    ("neither", NONE, NONE, ", nor did NDCG clearly favor either"),
    ("unequally_judged", UP, UNKNOWN, "NDCG is not compared, since 60% of the sessions in which “new” has "
     "more or higher places are judged, and 80% of the others. Judge results of “new”."),
    (None, UP, UP, "Users preferred “new” to “old” (+0.020, 95% CI 0.010 to 0.030); no verdict: why."),
]  # fmt: skip


@pytest.mark.parametrize(("verdict", "users", "offline", "words"), OF_DRAFTS)
def test_interleaved_tests_are_said_in_their_own_words(verdict, users, offline, words):
    (kind,) = made(drafted("t", verdict, users, offline)).kinds
    (only,) = kind.tests
    assert words in only.sentence.replace(MINUS, "-")
    assert kind.lines[0].startswith("1 interleaved test (“t”): ")


def test_both_kinds_stand_beside_each_other_even_with_one_name():
    preferences = [{"experiment": "t", "variant": "new", "control": "old", "depth": 5, "signal": "click",
                    "split": "length", "class": "2", "sessions": 40, "preferred_control": 10, "preferred": 20,
                    "preference": 0.25, "preference_low": 0.1, "preference_high": 0.4, "p_value": 0.01},
                   {"experiment": "t", "variant": "new", "control": "old", "depth": 5, "signal": "click",
                    "split": "length", "class": "10"}]  # fmt: skip
    checks = [check("t", "finding", "find the users"),
              check("t", "caution", "more places", "places") | {"kind_of_test": "interleaved"}]  # fmt: skip
    tests = made(planted("t", None, counts=False), drafted("t", "agree"), preferences=preferences,
                 checks=checks)  # fmt: skip
    ab, interleaved = tests.kinds
    assert [one.short for one in (*ab.tests, *interleaved.tests)] == ["problem", "agree"]
    assert list(ab.problems) == ["A/B test “t”: find the users."]
    assert not list(interleaved.problems)
    first, second = map(shown.tests_section, (ab, interleaved))
    assert (first.name, second.name) == ("tests", "interleaved")
    assert [len(one.tables[0].heads) for one in (first, second)] == [10, 7]
    assert "Caution: “t”: more places." in second.reading
    assert not any("more places" in text for text in first.reading)
    names = [one.name for one in (*first.every_table, *second.every_table)]
    assert len(set(names)) == len(names)
    classes = second.folded[-1]
    assert [row.cells[0] for row in classes.rows] == ["2", "10"]
    assert classes.data.height == 2
    assert tests.only("t").kinds[1].tests[0].sentence == interleaved.tests[0].sentence


@pytest.mark.parametrize(
    ("users", "mixed", "words"),
    [
        (UP, UP, "compared the same rankers and agree. In the A/B test: Clicks rose with “new”"),
        (DOWN, UP, "compared the same rankers and contradict each other. In the A/B test: Clicks fell"),
        (NONE, UP, "compared the same rankers; only one of them is clear. In the A/B test"),
        (NONE, NONE, "compared the same rankers; neither is clear. In the A/B test: Clicks did"),
    ],
)
def test_an_a_b_test_of_the_same_rankers_is_told_beside_an_interleaved_one(users, mixed, words):
    tests = made(
        planted("split", "agree", users, group="idea"), drafted("mix", "agree", mixed, group="idea"),
        planted("bad", "agree", counts=False, group="idea"), planted("another idea", "agree"),
        planted("other", "agree", control="older", group="idea"),
        checks=[check("bad", "finding", "find the users")],
    )  # fmt: skip
    ab, interleaved = tests.kinds
    (told,) = interleaved.same_pairs
    assert told.startswith("“mix” and the A/B test “split” ")
    assert words in told
    assert told in shown.tests_section(interleaved).reading
    assert not list(ab.same_pairs)


def test_interleaved_tests_alone_are_the_tests_of_a_run_and_of_the_order_of_metrics():
    many = made(*(drafted(f"t{at}", "agree", tuple(x * at for x in UP), tuple(x * at for x in UP))
                  for at in range(1, 13)))  # fmt: skip
    (kind,) = many.kinds
    assert kind.past.names == tuple(sorted(f"t{at}" for at in range(1, 13)))
    assert kind.order.row["in_order"] == 1
    assert kind.sheet().click == "preference"
    assert [one.name for one in shown.tests_section(kind).figures] == ["interleaved_tests"]


def test_a_purchase_metric_holds_interleaved_tests_against_preference_on_purchases():
    clicks, said = drafted("t", "agree")
    bought = clicks | {"metric": "preference(signal='purchase')"}
    run = made([clicks, bought, said]).run
    own = RunTests(replace(run, click="UCTR(signal='purchase')"), "NDCG").kinds[0]
    assert own.click == bought["metric"]
    assert "to “old” on purchases (+" in own.tests[0].sentence
    assert own.tests[0].entry["click_metric"] == bought["metric"]
