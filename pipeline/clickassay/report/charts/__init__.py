"""Pictures of a report, drawn with Vega-Lite while the report is written."""
