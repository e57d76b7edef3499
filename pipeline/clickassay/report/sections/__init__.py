"""The sections of a report: each module turns the run into `Section` records."""
