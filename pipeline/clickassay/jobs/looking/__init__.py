"""Looks at a log before it is read as a whole: what is in it, how long a run of it takes."""
