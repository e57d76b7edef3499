"""A Ctrl-C inside a block that must end waits for its end, and is not lost."""

import os
import signal
import threading

import pytest

from clickassay.core.files.tables import interrupts_later


@pytest.fixture
def heard():
    """Let Ctrl-C be heard, which is ignored where tests run in the background of a script."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("heard")
def test_an_interrupt_comes_after_the_block():
    done = []

    def work():
        with interrupts_later():
            os.kill(os.getpid(), signal.SIGINT)
            done.append(sum(range(1000)))  # Python looks for signals between its steps

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == [499_500]


def test_afterwards_an_interrupt_comes_at_once():
    before = signal.getsignal(signal.SIGINT)
    with interrupts_later():
        assert signal.getsignal(signal.SIGINT) is not before
    assert signal.getsignal(signal.SIGINT) is before


def test_an_error_of_the_block_is_the_error_seen():
    with pytest.raises(ZeroDivisionError), interrupts_later():
        raise ZeroDivisionError


def test_another_thread_is_not_disturbed():
    seen = []

    def work():
        with interrupts_later():
            seen.append(signal.getsignal(signal.SIGINT))

    usual = signal.getsignal(signal.SIGINT)
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [usual]
