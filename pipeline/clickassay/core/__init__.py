"""What every floor stands on; no engine, no maths.

- ``settings``, ``errors``, ``progress``: what everything is told, raises, reports.
- ``contracts``: the form of every table; ``records``: what several floors share.
- ``output``, ``tables``: folders that appear whole; tables on disk.
- ``text``, ``escape``, ``frames``: words; foreign text made safe; frames as CSV and JSON.
- ``privacy``: who may be named.
- ``provenance``, ``seeds``, ``sqlfiles``: versions; random draws by name; where ``sql/`` lies.
"""
