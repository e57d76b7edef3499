"""Files of users as canonical tables (method 2).

- ``paths``, ``files``: what a path is; the files behind an input.
- ``columns``: the columns of canonical tables; ``arrow`` writes them.
- ``tables``, ``types``: canonical tables as lazy frames, typed and checked.
- ``unread``: values of text files that could not be read.
- ``normalise``: normal forms of queries and URLs.
- ``trec``: TREC runs and qrels.
- ``text``: text files of other tools: opened, recognised, their columns and grades named.
- ``importers``: foreign logs and judgments into canonical files.
- ``simulate``: logs of planted users, with the truth.
"""
