"""Standard errors, noise, power and many tests at once."""
