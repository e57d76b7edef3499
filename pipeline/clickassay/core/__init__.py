"""What every floor imports; no engine, no maths of its own.

- ``settings``, ``errors``, ``progress``: options, errors and progress reports of all stages.
- ``contracts``: the form of every table; ``records``: what several floors share.
- ``text``: numbers and lists as words; text from outside, escaped; which queries may be named.
- ``special``: functions of SciPy, without what else its import loads.
- ``provenance``, ``seeds``: versions; random draws by name.
- ``files``: documents, tables, the SQL; folders that appear whole; errors of the system.
"""
