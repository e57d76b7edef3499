"""The steps as a script of SQL, for the user's own scheduler.

- ``write``: the script; ``dialects``: how engines spell it; ``templates``: its text.
"""
