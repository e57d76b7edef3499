"""Pictures of a report.

- ``overview``: the picture of the first screen.
- ``marks``: heat map, bars, intervals, histogram; ``lines``: curves; ``discounts``: Figure 1.
- ``vega``: drawing with Vega-Lite while the report is written; ``artist``: the process that draws;
  ``draw``: what it does.
- ``changes``: two runs side by side.
"""
