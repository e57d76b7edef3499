"""One metric under the conventions of many tools, asked of a finished run (``on_run``) or of ``one_list``.

``metrics.conventions`` declares the conventions; ``correlation.conventions`` compares them, in each run too.
"""
