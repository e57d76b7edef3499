"""A disk that is soon full."""

import subprocess
from contextlib import contextmanager

import pytest


@contextmanager
def small_disk(folder, size: str):
    """Mount a small file system in memory, where the machine lets us."""
    folder.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)], capture_output=True, check=False
    )
    if made.returncode:
        pytest.skip("this machine lets us mount nothing")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)
