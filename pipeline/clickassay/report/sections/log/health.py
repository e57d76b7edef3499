"""The health of the log: what its checks found, and all of them with their numbers.

Examples are left out: a page that is passed on shows no search ids, nor URLs of rare queries.
"""

from clickassay.core.text.words import capital
from clickassay.findings.run import Run
from clickassay.health.checks import BY_NAME, OK, HealthCheck, fired, well_text
from clickassay.report.cells import Cell, Row, Spelled
from clickassay.report.model import ReportTable, Section

_HEADS = ("Status", "Number", "Fires from")


def health_line(run: Run) -> str:
    """Return the state of the log in a few words."""
    frame = run.frames["health"]
    wrong = fired(frame)
    if frame.is_empty():
        return "Not checked"
    if not wrong:
        return f"\u2713 {capital(well_text(frame))}"
    more = f", and {len(wrong) - 1} more" if len(wrong) > 1 else ""
    return f"\u2717 {capital(wrong[0].status)}: {wrong[0].fault}{more} (see below)"


def health_section(run: Run) -> Section:
    """Return the section on the health of the log: its faults, and all checks folded."""
    wrong = fired(run.frames["health"])
    said = tuple(f"{capital(one.status)}. {one.sentence} {one.remedy}" for one in wrong)
    well = f"{capital(well_text(run.frames['health']))}."
    return Section(
        "health", "Health of the log", said or (well,), folded=(_table(run),), fold_words="All checks"
    )


def _table(run: Run) -> ReportTable:
    checks = {row["check"]: HealthCheck(**row) for row in run.frames["health"].iter_rows(named=True)}
    rows = tuple(
        Row("", capital(BY_NAME[name].meaning), _cells(checks[name])) for name in BY_NAME if name in checks
    )
    return ReportTable("health", "Checks of the log and its judgments", "Check", _HEADS, rows)


def _cells(one: HealthCheck) -> tuple[Cell, ...]:
    return (
        Spelled(one.status, 0.0 if one.status == OK else 1.0),
        one.sentence if one.value is None else Spelled(f"{one.value:.4g}", one.value),
        Spelled(f"{BY_NAME[one.check].side} {one.threshold:g}", one.threshold),
    )
