"""The command line: options in, words out. No maths, no SQL.

- ``app``: the application, and which function each command is.
- ``commands``: one module per command.
- ``options``: the options that commands share.
- ``console``, ``tables``, ``progress``: how commands speak.
- ``exit``: how they end.
"""
