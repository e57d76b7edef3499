"""Foreign logs and judgments into canonical files: a module or a folder for each format."""
