"""Active evaluation under a labelling budget (Sawade et al. 2012): what to label, and what it tells."""
