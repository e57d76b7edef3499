"""Settings that all tests share."""

from hypothesis import settings

# a busy machine is no failure; the same cases on each run, so that a commit is green or is not
settings.register_profile("repeatable", deadline=None, derandomize=True)
# new cases on each run: pytest --hypothesis-profile=search
settings.register_profile("search", deadline=None, print_blob=True)
settings.load_profile("repeatable")
