"""Whether claims hold, in worlds whose truth is known."""
