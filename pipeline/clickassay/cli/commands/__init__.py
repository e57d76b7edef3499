"""The commands, each a plain function of its options; `cli.app` registers them.

What a command needs is imported when it runs, so that `--help` is quick.
"""
