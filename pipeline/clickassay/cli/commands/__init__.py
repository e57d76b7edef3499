"""The commands, each a plain function of its options; `cli.app` registers them.

- ``questions``, ``query``: what is asked of a finished run; ``rankings``: what is asked of judgments.
- ``label``: `plan` and `estimate`; ``groups``; ``run`` (and `report`), ``inspect`` (and `explore`),
  ``simulate``, ``clicks``.
- ``imports`` (`import …`), ``patterns`` (and `store …`): logs.

What a command needs is imported when it runs, so that `--help` is quick.
"""
