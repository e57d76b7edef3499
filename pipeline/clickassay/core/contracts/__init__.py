"""The tables: columns, types, grain and meaning."""
