"""`python -m clickassay` is the command `clickassay`."""

from clickassay.cli import main

if __name__ == "__main__":
    main()
