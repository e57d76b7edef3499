"""Findings in words, and as the content of ``summary.json``.

- ``decision``: what to do, in a sentence.
- ``sentences``, ``words``: claims as sentences, and the parts of these that sections share.
- ``summary``: all of it as the content of ``summary.json``.
"""
