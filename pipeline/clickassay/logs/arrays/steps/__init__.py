"""The steps from rows to counts: a module does what the folder of its name in ``sql/steps`` does in SQL."""
