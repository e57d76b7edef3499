"""The command line: options in, words out. No maths, no SQL.

- ``app``: the application, and which function each command is.
- ``commands``: one module per command.
- ``options``: the options that commands share.
- ``console``, ``tables``, ``progress``: how commands speak.
- ``exit``: how they end.
"""

import os

# Polars reads these when it is loaded, so they come before everything else of this package. Memory that is
# given back at once took a tenth of a long run; more row groups ahead took memory and saved no time. Values
# that are set already stay.
os.environ.setdefault("_RJEM_MALLOC_CONF", "dirty_decay_ms:10000,muzzy_decay_ms:10000,narenas:2")
os.environ.setdefault("POLARS_ROW_GROUP_PREFETCH_SIZE", "2")
