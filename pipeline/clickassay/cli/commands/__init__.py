"""The commands, each a plain function of its options; `cli.app` registers them.

- ``studies``, ``runs``: what is asked of judgments or of a log, and what is asked of a finished run.
- ``run`` (and `report`), ``inspect`` (and `explore`), ``simulate``, ``clicks``.
- ``imports`` (`import …`), ``patterns`` (and `store …`): logs.

What a command needs is imported when it runs, so that `--help` is quick.
"""
