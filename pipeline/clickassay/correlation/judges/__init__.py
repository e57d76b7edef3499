"""Several judges of the same results.

- ``agreement``: how far they agree, and the correlations that their grades give.
- ``disagreements``: whose order clicks support, where two of them contradict each other.
"""
