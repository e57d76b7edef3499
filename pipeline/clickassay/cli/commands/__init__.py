"""The commands, each a plain function of its options; `cli.app` registers them.

- A run: ``run`` (`run`, `report`), ``simulate``.
- Asked of a run: ``query``, ``diff``, ``check``, ``audit``, ``learn``, ``clicks``, ``power``.
- Judgments: ``evaluate``, ``label`` (`plan`, `estimate`).
- Logs: ``inspect`` (and `explore` of a run), ``imports`` (`import …`), ``patterns`` (and `store …`, `sql`).

What a command needs is imported when it runs, so that `--help` is quick.
"""
