"""Click models: what readers examine and what attracts them, fitted on counts of click patterns."""
