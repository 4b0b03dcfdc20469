"""Ctrl-C and threads: a step that takes long is stopped, and other threads run meanwhile."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import abd


@pytest.fixture
def pile() -> abd.World:
    """A step takes some milliseconds."""
    return abd.Scene.gallery("cards", levels=6).build(threads=1)


def kill_after(seconds: float) -> threading.Timer:
    timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    return timer


def test_ctrl_c_raises_keyboard_interrupt(pile):
    pile.start()
    handler = signal.getsignal(signal.SIGINT)
    timer = kill_after(0.2)
    begun = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        pile.step(10**9)
    timer.join()
    assert time.monotonic() - begun < 3
    assert signal.getsignal(signal.SIGINT) is handler
    # The world is as after some whole step, and goes on with the same bits as one that was not interrupted.
    done = pile.step_count
    pile.step(3)
    twin = abd.Scene.gallery("cards", levels=6).build(threads=1)
    twin.step(done + 3)
    assert twin.hash == pile.hash


def test_a_handler_that_does_not_raise_stops_the_step(pile):
    pile.start()
    seen = []
    before = signal.signal(signal.SIGINT, lambda *_: seen.append(1))
    try:
        timer = kill_after(0.1)
        with pytest.raises(abd.Interrupted):
            pile.step(10**9)
        timer.join()
    finally:
        signal.signal(signal.SIGINT, before)
    assert seen == [1]
    pile.step()


def test_another_thread_interrupts_and_python_runs_meanwhile(pile):
    pile.start()
    errors, counted = [], 0

    def work():
        try:
            pile.step(10**9)
        except abd.Interrupted as error:
            errors.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    end = time.monotonic() + 0.2
    while time.monotonic() < end:
        counted += 1
    with pytest.raises(abd.StateError, match="another thread"):
        pile.step()
    with pytest.raises(abd.StateError, match="another thread"):
        pile.poses
    with pytest.raises(abd.StateError, match="another thread"):
        pile.close()
    pile.interrupt()
    thread.join(10)
    assert len(errors) == 1 and errors[0].status == "interrupted" and counted > 1000
    pile.step()


def test_worlds_step_in_threads(stack):
    worlds = [stack.copy() for _ in range(4)]
    threads = [threading.Thread(target=world.step, args=(40,)) for world in worlds]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert len({world.hash for world in worlds}) == 1 and worlds[0].step_count == 40
    assert np.array_equal(worlds[0].poses, worlds[3].poses)


def test_ctrl_c_leaves_a_run_that_resumes(tmp_path):
    path = tmp_path / "cards.abd"
    code = f"""
        import abd
        abd.run(abd.Scene.gallery("cards", levels=6), {str(path)!r}, steps=1000000, progress=False)
    """
    process = subprocess.Popen([sys.executable, "-c", textwrap.dedent(code)], stderr=subprocess.PIPE, text=True)
    while process.poll() is None and (not path.exists() or len(abd.Run(path)) < 5):
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=20)
    assert "KeyboardInterrupt" in errors
    done = abd.Run(path).summary["steps"]
    run = abd.run(abd.Scene.gallery("cards", levels=6), path, steps=done + 2, resume=True, progress=False)
    assert run[-1].step == done + 2
