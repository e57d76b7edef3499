"""OpenSearch User Behavior Insights into canonical tables.

- ``importer``: queries and events, staged; ``documents``: an export, document by document.
- ``searches``: what both say of each query_id, put together.
"""
