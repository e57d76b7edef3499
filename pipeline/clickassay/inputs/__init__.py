"""Files of users as canonical tables (method 2).

- ``paths``, ``files``: what a path is; formats of files.
- ``sources``: the files behind an input, found, opened and identified.
- ``columns``: the columns of canonical tables; ``arrow`` writes them.
- ``tables``, ``types``, ``integers``: canonical tables as lazy frames, typed and checked.
- ``normalise``: normal forms of queries and URLs.
- ``trec``: TREC runs and qrels.
- ``text``: text files of other tools: opened, recognised, their columns and grades named.
- ``importers``: foreign logs and judgments into canonical files.
- ``simulate``: logs of planted users, with the truth.
"""
