"""Active evaluation under a labelling budget (Sawade et al. 2012): what to label, and what it says.

- ``inputs``, ``pool``: what a plan is made from; ``ordered_logit``: chances of grades from scores.
- ``moments``, ``joint_moments``: performance before a label is known.
- ``sampling``, ``draws``: how often to draw each query; the draws.
- ``plan``, ``plan_folder``: plans, and their folder; ``next_sheet``: what a run proposes.
- ``estimate``, ``answer``: what labels say.
"""
