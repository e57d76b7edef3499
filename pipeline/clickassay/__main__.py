"""`python -m clickassay` is the command `clickassay`."""

from clickassay.cli.app import start

if __name__ == "__main__":
    start()
