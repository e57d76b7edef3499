"""The report of a run: from the tables of a run folder to a page for a decision meeting."""

from clickassay.report.render import write_report

__all__ = ["write_report"]
