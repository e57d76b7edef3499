"""The explorer says what the checks of its run found, as the report does: without examples of rows."""

from types import SimpleNamespace

import pytest

from clickassay.health.checks import HealthCheck, health_table
from clickassay.studies.explorer.panels import health_html

WRONG = HealthCheck(
    "late_clicks", "finding", 0.5, 0.25, "50 % are <late>.", "Give UTC.", "For example, “s1”."
)
WELL = HealthCheck("no_clicks", "ok", 9.0, 1.0)


@pytest.mark.parametrize("checks", [[WELL], [WELL, WRONG]])
def test_findings_are_lines_and_well_checks_are_none(checks):
    run = SimpleNamespace(finished=SimpleNamespace(tables={"health": health_table(checks)}))
    said = health_html(run)
    assert said.count("<p") == len(checks) - 1
    assert ("Finding: 50 % are &lt;late&gt;. Give UTC." in said) == (WRONG in checks)
    assert "s1" not in said
