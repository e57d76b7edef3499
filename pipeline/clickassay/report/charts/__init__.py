"""Pictures of a report.

- ``marks``: charts in the grammar of Vega-Lite; ``lines``: curves; ``discounts``: Figure 1.
- ``vega``: drawn while the report is written.
"""
