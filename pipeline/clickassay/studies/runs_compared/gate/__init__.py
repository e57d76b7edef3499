"""Rules that a run must keep (`clickassay check`)."""
