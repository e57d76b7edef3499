"""`python -m clickassay` is the command `clickassay`."""

from clickassay.cli.app import main

if __name__ == "__main__":
    main()
