"""How other tools compute the same metrics."""
