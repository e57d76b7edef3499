"""Measures of runs against judgments, as trec_eval and ir_measures have them: names, values, comparisons."""
