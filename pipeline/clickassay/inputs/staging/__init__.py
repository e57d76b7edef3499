"""Inputs that lie elsewhere or in another shape, made ordinary files in the scratch folder of the job.

- ``sources``: which way an input comes in.
- ``sql``, ``objects``, ``lakes``: SQL, object stores, tables of Delta Lake and Iceberg.
- ``made``: what was made, and of what.
- ``impressions``: one row for each result shown, to searches and clicks.
"""
