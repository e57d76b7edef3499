"""Write the example table of docs/reference/audit.md, as the code makes it of two lists: `make pages`."""

import re
from pathlib import Path

from clickassay.metrics.conventions import AuditScale
from clickassay.studies.audit import audit_list, one_list

PAGE = Path(__file__).parents[1] / "reference" / "audit.md"
SCALE = AuditScale(depth=5, max_grade=4, relevant_grade=3, persistence=0.8)
EXAMPLES = {
    "unjudged": one_list((3, None, 4, 0, 1), (4, 3, 2, 2, 1, 0), SCALE.max_grade),
    "judged": one_list((3, 2, 4, 0, 1), (), SCALE.max_grade),
}
"""The lists of the page: one with a result without a grade, one whose results are all that is judged."""


def table() -> str:
    """Return the Markdown table of the lists, a column of values for each."""
    lists = [audit_list(one, SCALE) for one in EXAMPLES.values()]
    values = zip(*(one["value"] for one in lists), strict=True)
    head = ("convention", *EXAMPLES, "choice", "reported by")
    cells = [
        (f"`{row['convention']}`", *(f"{value:.4f}" for value in found), row["choice"], row["tools"])
        for row, found in zip(lists[0].iter_rows(named=True), values, strict=True)
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in (head, ["---"] * len(head), *cells))


def with_table(page: str) -> str:
    """Return the page with its table as it is today."""
    return re.sub(
        r"(<!-- lists -->\n).*?(<!-- end -->)", lambda at: f"{at[1]}{table()}\n{at[2]}", page, flags=re.DOTALL
    )


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
