"""Which changes between two runs are findings."""

import polars as pl

from clickassay.studies.runs_compared.numbers import NOTHING_WORSE, Watch, flag_findings


def test_a_finding_is_a_change_above_the_threshold_and_where_asked_not_within_noise():
    statuses = [
        "beyond noise",
        "within noise",
        "not tested",
        "beyond noise",
        "same",
        "only in B",
        "only in A",
    ]
    changes = [-0.2, 0.2, 0.2, 0.1, 0.0, None, None]
    numbers = pl.DataFrame({"change": changes, "status": statuses})
    numbers = numbers.with_columns(table=pl.lit("correlations"))
    assert flag_findings(numbers, Watch(0.1))["finding"].to_list() == [
        True,
        True,
        True,
        False,
        False,
        False,
        True,
    ]
    assert flag_findings(numbers, Watch(0.1, beyond_noise=True))["finding"].to_list() == [
        *(True, False, True, False, False, False, True)
    ]
    assert not flag_findings(numbers, None)["finding"].any()
    assert not flag_findings(numbers.with_columns(table=pl.lit("means")), Watch(0.1))["finding"].any()


def test_nothing_worse_is_about_falls_beyond_noise_of_means_too_and_about_what_is_gone():
    rows = [  # change, status, is it a finding, is it certain
        (-0.001, "beyond noise", True, True),
        (0.2, "beyond noise", False, False),
        (-0.2, "within noise", False, False),
        (-0.2, "not tested", True, False),
        (0.2, "not tested", False, False),
        (0.0, "same", False, False),
        (None, "only in B", False, False),
        (None, "only in A", True, True),
    ]
    for table in ("means", "correlations", "differences"):
        numbers = pl.DataFrame(
            {"change": [row[0] for row in rows], "status": [row[1] for row in rows]}
        ).with_columns(table=pl.lit(table))
        found = numbers.select(a=NOTHING_WORSE.finding, b=NOTHING_WORSE.certain)
        assert found.rows() == [row[2:] for row in rows]
