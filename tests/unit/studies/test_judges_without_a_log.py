"""Judges compared without a log: against scikit-learn, krippendorff, truescore, and what is printed."""

import re
from itertools import combinations

import krippendorff
import numpy as np
import polars as pl
import pytest
import truescore
from sklearn.metrics import cohen_kappa_score, confusion_matrix

import clickassay as ca
from clickassay.core.errors import InputError, NothingInCommonError, SettingsError
from clickassay.correlation.agreement import MEASURES
from clickassay.studies.judges.compare import compare_judges
from clickassay.studies.judges.verdict import answer, other_scales

NAMES = ("ann", "bob", "model")


def world(seed, queries=40, *, holes=0.3):
    """Rows of three judges who err by a grade now and then, with holes."""
    rng = np.random.default_rng(seed)
    rows = []
    for query in range(queries):
        ease = rng.integers(0, 3)
        for url in range(rng.integers(2, 9)):
            true = int(np.clip(rng.integers(0, 4) + ease - 1, 0, 4))
            for name, error in zip(NAMES, (0.1, 0.2, 0.4), strict=True):
                if rng.random() > holes:
                    grade = int(
                        np.clip(true + rng.choice([-1, 0, 1], p=[error / 2, 1 - error, error / 2]), 0, 4)
                    )
                    rows.append((name, f"q{query:02d}", f"d{url}", grade))
    return pl.DataFrame(rows, schema=["judge", "query", "url", "grade"], orient="row")


def both(rows, a, b):
    one, two = (rows.filter(judge=name) for name in (a, b))
    return one.join(two, on=["query", "url"], suffix="_b")


def value(found, a, b, measure):
    return found.agreement.filter(judge_a=a, judge_b=b, measure=measure).row(0, named=True)


@pytest.mark.parametrize("seed", range(4))
def test_kappas_and_shares_are_those_of_scikit_learn(seed):
    rows = world(seed)
    found = compare_judges(NAMES, rows)
    for a, b in combinations(NAMES, 2):
        pair = both(rows, a, b)
        one, two = pair["grade"].to_numpy(), pair["grade_b"].to_numpy()
        for measure, weights in (
            ("kappa", None),
            ("kappa_linear", "linear"),
            ("kappa_quadratic", "quadratic"),
        ):
            plain = cohen_kappa_score(one, two, weights=weights, labels=range(5))
            assert value(found, a, b, measure)["value"] == pytest.approx(plain)
        assert value(found, a, b, "equal")["value"] == pytest.approx((one == two).mean())
        assert value(found, a, b, "mean_difference")["value"] == pytest.approx((two - one).mean())
        counted = np.zeros((5, 5), int)
        for row in found.confusion.filter(judge_a=a, judge_b=b).iter_rows(named=True):
            counted[row["grade_a"], row["grade_b"]] = row["rows"]
        assert (counted == confusion_matrix(one, two, labels=range(5))).all()
        assert value(found, a, b, "equal")["n_results"] == len(one)
        assert value(found, a, b, "equal")["n_queries"] == pair["query"].n_unique()


@pytest.mark.parametrize("holes", [0.0, 0.3])
@pytest.mark.parametrize("seed", range(3))
def test_alphas_are_those_of_krippendorff(seed, holes):
    rows = world(seed, holes=holes)
    found = compare_judges(NAMES, rows)
    wide = rows.pivot("judge", index=["query", "url"], values="grade").select(NAMES).cast(pl.Float64)
    chosen = {("all", "all"): NAMES} | {pair: pair for pair in combinations(NAMES, 2)}
    for (a, b), names in chosen.items():
        grades = wide.select(names).to_numpy().T
        for level in ("nominal", "ordinal", "interval"):
            alpha = krippendorff.alpha(
                reliability_data=grades, level_of_measurement=level, value_domain=range(5)
            )
            row = value(found, a, b, f"alpha_{level}")
            judged = ((~np.isnan(grades)).sum(axis=0) > 1).sum()
            assert (row["value"], row["n_results"]) == (pytest.approx(alpha), judged)


@pytest.mark.parametrize("seed", range(4))
def test_kappa_and_ac1_are_those_of_truescore(seed):
    rows = world(seed, holes=0.0).with_columns(grade=(pl.col("grade") >= 2).cast(pl.Int64))
    one, two = both(rows, "ann", "bob").select("grade", "grade_b").to_numpy().T
    found = compare_judges(("ann", "bob"), rows.filter(pl.col("judge") != "model"), max_grade=1)
    assert value(found, "ann", "bob", "kappa")["value"] == pytest.approx(truescore.cohen_kappa(one, two))
    assert value(found, "ann", "bob", "ac1")["value"] == pytest.approx(truescore.gwet_ac1(one, two))


def test_judges_who_agree_in_everything_have_one_and_of_one_grade_no_kappa():
    rows = world(7).filter(judge="ann")
    same = pl.concat([rows, rows.with_columns(judge=pl.lit("bob"))])
    found = compare_judges(("ann", "bob"), same).agreement
    assert set(found.filter(pl.col("measure") != "mean_difference")["value"].round(12)) == {1.0}
    flat = same.with_columns(grade=pl.lit(2, pl.Int64))
    of_one = compare_judges(("ann", "bob"), flat).agreement
    assert of_one.filter(measure="kappa")["value"].to_list() == [None]
    assert of_one.filter(measure="equal")["value"].to_list() == [1.0]


def test_the_sheet_has_what_is_graded_differently_the_largest_difference_first():
    rows = pl.DataFrame(
        [("a", "q", "x", 0), ("b", "q", "x", 4), ("a", "q", "y", 2), ("b", "q", "y", 2), ("a", "r", "z", 1),
         ("b", "r", "z", 2)],
        schema=["judge", "query", "url", "grade"], orient="row",
    )  # fmt: skip
    sheet = compare_judges(("a", "b"), rows).sheet
    assert sheet.columns == ["query", "url", "grade", "grade of a", "grade of b"]
    assert sheet.rows() == [("q", "x", None, 0, 4), ("r", "z", None, 1, 2)]


def test_judges_without_a_result_in_common_are_refused_with_one_name_of_each():
    rows = pl.DataFrame(
        [("a", "q", "X", 0), ("b", "q", "y", 4)], schema=["judge", "query", "url", "grade"], orient="row"
    )
    with pytest.raises(NothingInCommonError, match=r"judges a and b have no result in common: .*'y'.*'X'"):
        compare_judges(("a", "b"), rows)


def of_grades(a, b):
    rows = [("a", f"q{n}", "x", g) for n, g in enumerate(a)] + [
        ("b", f"q{n}", "x", g) for n, g in enumerate(b)
    ]
    return compare_judges(("a", "b"), pl.DataFrame(rows, ["judge", "query", "url", "grade"], orient="row"))


def test_judges_of_other_scales_are_told_apart_from_strict_ones():
    rng = np.random.default_rng(0)
    two, five = rng.integers(0, 2, 120), rng.integers(0, 5, 120)
    (line,) = other_scales(of_grades(two, five))
    assert line.startswith("Caution: the highest grade of a is 1, that of b 4. If their scales")
    assert list(other_scales(of_grades(five, two)))
    assert not list(other_scales(of_grades(five, five)))
    assert not list(other_scales(of_grades(two[:50], five[:50])))  # too few to say
    rare = np.where(np.arange(120) < 3, 4, two)
    assert not list(other_scales(of_grades(two, rare)))


def test_the_answer_is_yes_only_without_a_caution_and_on_one_scale():
    rng = np.random.default_rng(0)
    five = rng.integers(0, 5, 120)
    near = np.where(np.arange(120) % 9 == 0, 4 - five, five)
    assert answer(of_grades(five, near), 0.4).startswith("Yes: quadratic kappa 0.")
    assert answer(of_grades(five, five), 0.4).startswith("Not yet: quadratic kappa 1.00, no interval: ")
    few = of_grades(five[:45], near[:45])
    assert re.fullmatch(
        r"Not yet: quadratic kappa 0\.\d\d \(95% CI .*\) is unreliable \(fewer than 50 queries\)",
        answer(few, 0.1),
    )
    lower = of_grades(np.minimum(five, 3), five)
    assert answer(lower, 0.4).startswith("Not yet: judges may use different scales (quadratic kappa 0.")
    opposite = answer(of_grades(five, 4 - five))
    assert opposite.startswith("a and b have a quadratic kappa of \N{MINUS SIGN}")


@pytest.fixture
def files(tmp_path):
    """A file of each judge; queries are spelled in capitals by one."""
    rows = world(8, holes=0.0)
    for name in NAMES:
        own = rows.filter(judge=name).drop("judge")
        own = own.with_columns(pl.col("query").str.to_uppercase()) if name == "bob" else own
        own.write_csv(tmp_path / f"{name}.csv")
    rows.write_parquet(tmp_path / "all.parquet")
    return tmp_path


def test_files_are_named_by_themselves_and_queries_meet_in_any_case(files):
    found = ca.judges([files / f"{name}.csv" for name in NAMES])
    assert found.found.judges == NAMES
    assert found == ca.judges([files / "all.parquet"])
    assert set(found.agreement["measure"]) == set(MEASURES)
    named = ca.judges([files / "ann.csv", files / "model.csv"], judge=["people", "gpt"])
    assert named.verdict.startswith("people and gpt have a quadratic kappa of 0.")
    printed = repr(found)
    assert "How often each grade is given" in printed
    assert "all judges" in printed


def test_a_single_judge_and_names_that_do_not_fit_are_refused(files):
    with pytest.raises(InputError, match="one judge; give a file for each judge"):
        ca.judges([files / "ann.csv"])
    with pytest.raises(SettingsError, match="1 name for 2 files; give one for each"):
        ca.judges([files / "ann.csv", files / "bob.csv"], judge=["x"])


def test_the_folder_holds_the_tables_and_a_sheet_that_can_be_read_back(files, tmp_path):
    from clickassay.inputs.importers.judgments import import_judgments

    found = ca.judges([files / "ann.csv", files / "model.csv"])
    out = found.save(tmp_path / "out")
    assert pl.read_parquet(out / "agreement.parquet").equals(found.agreement)
    sheet = pl.read_csv(out / "to_decide.csv")
    assert sheet["grade"].null_count() == sheet.height == found.sheet.height
    sheet.with_columns(grade=pl.lit(3)).write_csv(tmp_path / "decided.csv")
    import_judgments([tmp_path / "decided.csv"], out=tmp_path / "read")
    assert pl.read_parquet(tmp_path / "read" / "judgments.parquet").height == sheet.height


def test_results_meet_in_the_forms_of_a_run_and_the_sheet_has_them_as_they_are_written(tmp_path):
    rows = [("Shoes", "http://Shop.example/a/", 3), ("Shoes", "http://shop.example/b", 1)]
    other = [("shoes ", "HTTP://shop.example/a", 2), ("shoes ", "http://shop.example/c", 0)]
    for name, own in (("ann", rows), ("bob", other)):
        frame = pl.DataFrame(own, ["query", "url", "grade"], orient="row")
        frame.write_csv(tmp_path / f"{name}.csv")
    found = ca.judges([tmp_path / "ann.csv", tmp_path / "bob.csv"])
    assert found.agreement["n_results"][0] == 1
    assert found.sheet.rows() == [("Shoes", "http://Shop.example/a/", None, 3, 2)]
    assert "ann judged 2 results and bob judged 2 results; in common: ann with bob 1." in repr(found)
