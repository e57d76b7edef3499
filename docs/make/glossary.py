"""Write docs/reference/glossary.md, the terms of reports, commands and documents: `make pages`."""

from pathlib import Path

from clickassay.metrics.clicks import CLICK_METRICS
from clickassay.metrics.editorial import EDITORIAL_METRICS
from clickassay.report.glossary import terms

PAGE = Path(__file__).parents[1] / "reference" / "glossary.md"
TOP = """<!-- Made by `make pages` from `report/glossary.toml`: do not edit by hand. -->
# Glossary

The words of reports, commands, messages and documents. In a report, follow the link of a word to its meaning.
Rules and formulas: [method](../explanation/method.md), [metrics](metrics.md).

| term | meaning |
|---|---|
"""


def glossary_page() -> str:
    """Return the whole page as Markdown."""
    of_metrics = {*CLICK_METRICS, *EDITORIAL_METRICS}  # docs/reference/metrics.md has these
    rows = (f"| {term.name} | {term.meaning} |\n" for term in terms() if term.name not in of_metrics)
    return TOP + "".join(rows)


if __name__ == "__main__":
    PAGE.write_text(glossary_page(), encoding="utf-8")
