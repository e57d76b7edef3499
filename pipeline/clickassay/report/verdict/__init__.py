"""What a run shows: claims as data first, sentences second.

- ``ranking``: metrics and baselines by how well they predict clicks, and the tests between them.
- ``claims``: the verdict and the findings as data; ``depends``: on what choices the best metric depends.
- ``decision``: what to do, in a sentence.
- ``sentences``, ``words``: their sentences, and the parts of these that sections share.
- ``influence``: whether a correlation depends on a few queries.
- ``summary``: all of it as the content of ``summary.json``.
"""
