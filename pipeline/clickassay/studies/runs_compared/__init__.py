"""Two finished runs compared (`clickassay diff`), and rules that a run must keep (`clickassay check`)."""
