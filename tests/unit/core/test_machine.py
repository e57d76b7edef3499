import errno
from pathlib import Path

import pytest

from clickassay.core.errors import MachineError
from clickassay.core.files.machine import refuse_machine_fault

PLACE = Path("store/000001/batch.json")


@pytest.mark.parametrize("number", [errno.EACCES, errno.EIO, errno.EMFILE, errno.ENOMEM, errno.ESTALE])
@pytest.mark.parametrize("told_by_polars", [False, True])
def test_the_system_is_named_and_nothing_is_called_broken(number, told_by_polars):
    error = OSError(f"reading failed (os error {number}): x") if told_by_polars else OSError(number, "x")
    with pytest.raises(MachineError, match=r"^cannot read store/000001/batch\.json: [^;]+; [^;]+$") as raised:
        refuse_machine_fault(PLACE, error)
    assert "broken" not in str(raised.value)


def test_a_cause_of_the_system_is_found():
    error = ValueError("a table could not be read")
    error.__cause__ = OSError(errno.EMFILE, "x")
    with pytest.raises(
        MachineError, match=r"Too many open files; raise the limit of open files \(`ulimit -n`\)"
    ):
        refuse_machine_fault(PLACE, error)


@pytest.mark.parametrize("error", [FileNotFoundError(errno.ENOENT, "x"), ValueError("no JSON")])
def test_a_fault_of_the_file_is_none_of_the_system(error):
    refuse_machine_fault(PLACE, error)
