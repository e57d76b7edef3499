"""Active evaluation under a labelling budget (Sawade et al. 2012): queries to label, estimates from labels.

- ``inputs``, ``pool``: the inputs of a plan; ``ordered_logit``: probabilities of grades from scores.
- ``moments``, ``joint_moments``: moments of performance before a label is known.
- ``sampling``: the sampling distribution of queries.
- ``plan``, ``plan_folder``: plans, and their folder; ``next_sheet``: what a run proposes to judge.
- ``estimate``, ``answer``: estimates from labels.
"""
