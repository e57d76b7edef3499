"""Pictures of a report.

- ``overview``: the picture of the first screen.
- ``marks``: heat map, bars, intervals, histogram; ``lines``: curves; ``discounts``: Figure 1.
- ``vega``: drawing with Vega-Lite while the report is written.
- ``changes``: two runs side by side.
"""
