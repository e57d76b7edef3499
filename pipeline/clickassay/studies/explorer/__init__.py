"""`clickassay explore`: a local page for the engineer behind a report."""
