"""Measures of ranked lists against judgments, as trec_eval and ir_measures have them."""
