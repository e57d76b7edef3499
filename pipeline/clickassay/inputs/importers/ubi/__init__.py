"""OpenSearch User Behavior Insights into canonical tables.

- ``importer``: queries and events, staged; ``documents``: an export, document by document.
- ``searches``: searches and clicks, joined from both by query_id.
"""
