"""Files of users as canonical tables (method 2).

- ``paths``, ``files``: what a path is; formats of files.
- ``sources``: the files behind an input, found, opened and identified.
- ``types``: the columns of canonical tables and their types; ``tables``: as lazy frames, checked.
- ``normalise``: normal forms of queries and URLs.
- ``text``: text files of other tools: opened, recognised, their columns and grades named; TREC.
- ``importers``: foreign logs and judgments into canonical files.
- ``simulate``: logs of planted users, with the truth.
"""
