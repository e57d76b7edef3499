"""The steps as a text of SQL, for a scheduler of the user's own.

- ``write``: the script; ``dialects``: how engines spell it; ``templates``: its frame.
"""
