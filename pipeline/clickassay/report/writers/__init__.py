"""Records of a report as text: a table in each form, pages, files."""
