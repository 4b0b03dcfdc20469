"""What Python adds to a step, and reading poses. The limits are those of a machine at rest, times a factor for a busy one."""

import os
import time
from pathlib import Path

import pytest

import abd

BUSY = 4


def best(call, count: int) -> float:
    """[us] the shortest mean of several series."""
    series = []
    for _ in range(10):
        begun = time.perf_counter()
        for _ in range(count):
            call()
        series.append((time.perf_counter() - begun) / count)
    return 1e6 * min(series)


@pytest.mark.skipif("LD_PRELOAD" in os.environ, reason="slow under sanitizers")
def test_step_overhead():
    world = abd.World(gravity=(0, 0, 0))
    world.add_body(abd.box(), motion="static")
    world.step()
    one, inside = best(world.step, 1000), best(lambda: world.step(1000), 1) / 1000
    print(f"step: {one:.2f} us, of them {inside:.2f} us in C")
    assert one - inside < 5 * BUSY


@pytest.mark.skipif("LD_PRELOAD" in os.environ, reason="slow under sanitizers")
def test_reading_poses():
    world = abd.World(gravity=(0, 0, 0))
    box = abd.box((0.1, 0.1, 0.1))
    for k in range(10000):
        world.add_body(box, position=(k % 100, k // 100, 0))
    world.step()
    world.poses
    taken = best(lambda: world.poses, 1000)
    print(f"poses of 10,000 bodies: {taken:.2f} us")
    assert taken < 20 * BUSY


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif("LD_PRELOAD" in os.environ, reason="sanitizers keep freed memory")
def test_no_leak():
    """Worlds, copies, snapshots, runs and failures leave no memory behind."""

    def work():
        world = abd.World(threads=1)
        world.add_body(abd.ground(), motion="static")
        world.add_body(abd.sphere(0.5), position=(0, 0, 1))
        world.step(2)
        world.poses, world.contacts, world.transforms
        world.copy().restore(world.snapshot())
        for wrong in (lambda: world.add_body(abd.box(), position=(0, 0, 1)), lambda: abd.load("no.json")):
            try:
                wrong()
            except abd.Error:
                pass

    for _ in range(20):
        work()
    before = resident()
    for _ in range(100):
        work()
    assert resident() - before < 4e6
