"""Active evaluation under a labelling budget (Sawade et al. 2012): queries to label, and estimates."""
