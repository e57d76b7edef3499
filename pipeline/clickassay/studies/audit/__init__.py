"""One metric under the conventions of many tools: the value that each tool reports for the same lists.

- ``conventions``: the declared conventions; ``tool_formulas``: formulas that the metric catalogue lacks.
- ``compare``, ``tables``: their means and correlations on judged configurations.
- ``in_run``: the table `conventions` of a run; ``on_run``: a finished run audited; ``one_list``: one list.
"""
