"""Foreign logs and judgments into canonical files: a module or a folder for each format.

docs/reference/formats.md describes each.

- ``base``: what every importer shares; ``session_xml``: XML of search sessions, which two of them read.
- Logs: ``yandex``, ``pyclick``, ``yahoo_l18``, ``tiangong_st``, ``trec_session``, ``baidu_ultr``, ``ubi``.
- Judgments: ``judgments`` (Quepid, Search Relevance Workbench, qrels, tables), ``letor``.
"""
