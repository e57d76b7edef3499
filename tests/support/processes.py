"""Commands in processes of their own."""

import subprocess


def ran(*command, code=0, **more):
    """Run a command; hold that it ends with this code; return it with what it printed, as text."""
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False, **more)
    assert done.returncode == code, done.stderr
    return done
