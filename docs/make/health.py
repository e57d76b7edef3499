"""Write the table of docs/reference/health.md: the checks and their thresholds: `make pages`."""

import re
from pathlib import Path

from clickassay.health.checks import CHECKS, Check

PAGE = Path(__file__).parents[1] / "reference" / "health.md"


def table() -> str:
    """Return the Markdown table of the checks."""
    head = ("check", "its number", "caution", "finding or stop")
    lines = [head, ["---"] * len(head), *(_cells(check) for check in CHECKS)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cells(check: Check) -> tuple[str, ...]:
    limit = f"{check.side} {check.threshold:g}"
    if check.severity == "caution":
        return f"`{check.name}`", check.meaning, limit, ""
    before = "" if check.caution is None else f"{check.side} {check.caution:g}"
    return f"`{check.name}`", check.meaning, before, f"{limit}: {check.severity}"


def with_table(page: str) -> str:
    """Return the page with its table as it is today."""
    return re.sub(
        r"(<!-- checks -->\n).*?(<!-- end -->)", lambda at: f"{at[1]}{table()}\n{at[2]}", page, flags=re.S
    )


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
