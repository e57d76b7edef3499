"""What a run found, as frozen records; `report` and `studies` turn them into words and pictures.

- ``run``: one record of a run, from its tables or from its folder; ``samples``: the rule of its headline.
- ``arrays``: the judged configurations of a sample as arrays.
- ``estimates``: a number with its interval; ``ranking``: who is above whom, the tests between
  them, and which question decides.
- ``claims``: the verdict and the findings; ``depends``: on what choices the best metric depends.
- ``influence``: whether a correlation depends on a few queries; ``signals``: what else users do.
- ``decision``: what to do; ``draw``: all of it, drawn from the tables of a run.
"""
