"""The command line: options in, words out. No maths, no SQL."""

import os

# Libraries read these when they are loaded, so they come before everything else of this package. Memory that
# is given back at once took a tenth of a long run; more row groups ahead took room and saved no time. What is
# set stays, but for what a process that has loaded Polars passes on.
_POLARS_OWN = "dirty_decay_ms:500,muzzy_decay_ms:1000"
if os.environ.get("_RJEM_MALLOC_CONF", _POLARS_OWN) == _POLARS_OWN:
    os.environ["_RJEM_MALLOC_CONF"] = "dirty_decay_ms:10000,muzzy_decay_ms:10000,narenas:2"
os.environ.setdefault("POLARS_ROW_GROUP_PREFETCH_SIZE", "1")
os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")  # its threads for matrices rest until there is one
os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "1")  # to look for some reads of every installed package
