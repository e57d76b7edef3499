"""Write the example tables of docs/reference/audit.md, as the code makes them of two lists: `make pages`."""

import re
from pathlib import Path

from clickassay.metrics.tool_formulas import AuditScale
from clickassay.studies.audit.one_list import audit_list, one_list

PAGE = Path(__file__).parents[1] / "reference" / "audit.md"
SCALE = AuditScale(depth=5, max_grade=4, relevant_grade=3, persistence=0.8)
EXAMPLES = {
    "unjudged": one_list((3, None, 4, 0, 1), (4, 3, 2, 2, 1, 0), SCALE.max_grade),
    "judged": one_list((3, 2, 4, 0, 1), (), SCALE.max_grade),
}
"""The lists of the page: one with a result without a grade, one whose results are all that is judged."""


def table(name: str) -> str:
    """Return the Markdown table of one list."""
    rows = audit_list(EXAMPLES[name], SCALE).iter_rows(named=True)
    head = ("metric", "convention", "value", "choice", "reported by")
    cells = [
        (row["quantity"], f"`{row['convention']}`", f"{row['value']:.4f}", row["choice"], row["tools"])
        for row in rows
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in (head, ["---"] * len(head), *cells))


def with_tables(page: str) -> str:
    """Return the page with its tables as they are today."""
    for name in EXAMPLES:
        found = rf"(<!-- {name} -->\n).*?(<!-- end -->)"
        page = re.sub(
            found, lambda match, name=name: f"{match[1]}{table(name)}\n{match[2]}", page, flags=re.DOTALL
        )
    return page


if __name__ == "__main__":
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
