"""What every floor imports; no engine, no maths of its own.

- ``settings``, ``errors``, ``progress``: options, errors and progress reports of all stages.
- ``contracts``: the form of every table; ``records``: what several floors share.
- ``output``, ``tables``: folders that appear whole; tables on disk, and as CSV and JSON.
- ``text``, ``escape``: numbers and lists as words; escaping of text from outside.
- ``special``: functions of SciPy, without what else its import loads.
- ``privacy``: which queries may be named.
- ``provenance``, ``seeds``: versions; random draws by name.
- ``files``: documents of TOML and JSON; the SQL; errors of the system.
"""
