"""Files that are read whole: ``documents`` of TOML and JSON; ``sql``: where ``sql/`` lies."""
