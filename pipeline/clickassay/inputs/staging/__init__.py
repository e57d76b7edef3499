"""Inputs that lie elsewhere or in another shape, made ordinary files in the scratch folder of the job.

- ``sources``: which way an input comes in.
- ``sql``, ``objects``, ``lakes``: SQL, object stores, tables of Delta Lake and Iceberg.
- ``frames``: tables in memory.
- ``made``: what was made, and of what.
- ``impressions``, ``lists``: one row for each result shown, to searches and clicks.
"""
