"""One metric under the conventions of many tools: what each reports of the same lists.

- ``conventions``: the declared conventions; ``tool_formulas``: values that are no measure of ours.
- ``compare``, ``tables``: compared on judged configurations.
- ``in_run``: the table of a run; ``on_run``: asked of a finished run; ``one_list``: of one list.
"""
