"""The command `clickassay`, also as `python -m clickassay`: where the process begins, and the last net.

Python ends with 1 where an import fails, and 1 means a finding here. So nothing is imported outside of it.
"""


def start() -> None:
    """Run the command line; SystemExit 3 for what goes wrong before commands can speak."""
    try:
        from clickassay.cli.app import start as run  # noqa: PLC0415 - see above

        run()
    except SystemExit:
        raise
    except BaseException as error:
        import sys  # noqa: PLC0415 - as above
        import traceback  # noqa: PLC0415 - as above

        traceback.print_exc()
        if isinstance(error, KeyboardInterrupt):
            sys.exit(2)
        advice = "install it anew if a module is missing, or else report it with the lines above"
        sys.stderr.write(f"clickassay: cannot be started: {advice}\n")
        sys.exit(3)


if __name__ == "__main__":
    start()
