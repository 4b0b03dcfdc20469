"""Batches: the bits of single worlds, stacked arrays, drives, resets, errors of single worlds, time."""

import os
import signal
import threading
import time

import numpy as np
import pytest

import abd

SCENE = {
    "version": 1, "dt": 0.005, "contact": {"friction": 0.4},
    "bodies": [
        {"name": "ground", "shape": "ground"},
        {"name": "ball", "shape": "sphere", "radius": 0.05, "subdivisions": 1, "position": [0.3, 0, 0.051]},
        {"name": "bar", "shape": "box", "size": [0.4, 0.04, 0.04], "position": [0, 0, 0.05]},
    ],
    "joints": [{"name": "axle", "type": "hinge", "bodies": ["bar"], "point": [0, 0, 0.05], "axis": [0, 0, 1]}],
    "drives": [{"joint": "axle", "type": "position", "value": 0, "stiffness": 5, "damping": 0.5, "max": 2}],
}  # fmt: skip


@pytest.fixture
def scene() -> abd.Scene:
    return abd.Scene.parse(SCENE)


def test_same_bits_as_single_worlds(scene):
    targets = np.linspace(-1.5, 1.5, 5)[:, None]
    batch = abd.Batch(scene, 5, threads=3)
    batch.set_targets(targets, ["axle"])
    reports = batch.step(60)
    assert (reports["steps"] == 60).all() and (reports["not_converged"] == 0).all() and (reports["step"] == 60).all()
    for k in range(5):
        world = scene.build(threads=1)
        world.set_targets(targets[k], [world.joint("axle")])
        world.step(60)
        assert world.hash == batch[k].hash
        assert np.array_equal(world.poses, batch.poses[k])
        assert np.array_equal(world.velocities, batch.velocities[k])
        assert world.readings["position"].tolist() == batch.readings["position"][k].tolist()
        assert np.array_equal(world.contact_loads["normal"], batch.contact_loads["normal"][k])
    assert batch.poses.shape == (5, 3, 3, 4) and len({world.hash for world in batch}) > 1


def test_poses_are_one_array_that_steps_update(scene):
    batch = abd.Batch(scene, 2)
    poses = batch.poses
    before = poses.copy()
    batch.set_targets([[1], [0]], ["axle"])
    batch.step(5)
    assert batch.poses is poses and not np.array_equal(poses[0], before[0])
    with pytest.raises(ValueError):
        poses[0] = 0


def test_reset_of_single_worlds(scene):
    batch = abd.Batch(scene, 4)
    start = batch.snapshots()
    batch.step(10)
    later = [world.hash for world in batch]
    batch.restore(start, worlds=[1, 3])
    assert batch.times.tolist() == pytest.approx([0.05, 0, 0.05, 0])
    batch.restore(start[0], worlds=np.array([True, False, False, False]))
    batch.step(10)
    assert [batch[k].hash for k in (0, 1, 3)] == later[:1] * 3
    assert np.array_equal(batch.poses[1], batch[1].poses)
    batch.restore(start)
    assert (batch.times == 0).all()
    batch.restore(start, worlds=[])


def test_reset_to_bodies_that_are_gone(scene):
    batch = abd.Batch(scene, 3)
    start = batch.snapshots()
    batch.step(2)
    batch[1].remove(batch[1].body("ball"))
    with pytest.raises(abd.StateError, match="different bodies: 2 to 3"):
        batch.velocities
    batch.step()
    assert np.isnan(batch.poses[1]).all() and not np.isnan(batch.poses[0]).any()
    batch.restore(start)
    assert [world.body_count for world in batch] == [3, 3, 3]
    batch.step(3)
    assert len({world.hash for world in batch}) == 1 and np.array_equal(batch.poses[0], batch.poses[1])


def test_copies_of_a_world(scene):
    world = scene.build(threads=1)
    world.step(7)
    batch = abd.Batch(world, 2)
    world.step(3)
    batch.step(3)
    assert [copy.hash for copy in batch] == [world.hash] * 2


def test_errors_name_the_world(scene):
    batch = abd.Batch(scene, 3)
    batch.start()
    with pytest.raises(abd.BatchError, match="1 of 3 worlds failed; world 2: ") as caught:
        batch.restore([batch[0].snapshot(), b"no snapshot"], worlds=[0, 2])
    assert list(caught.value.errors) == [2] and isinstance(caught.value.errors[2], abd.StateError)
    batch[1].interrupt()
    with pytest.raises(abd.BatchError, match="world 1: .*interrupted") as caught:
        batch.step()
    assert batch.times.tolist() == [0.005, 0, 0.005]
    with pytest.raises(abd.ArgumentError, match=r"expected an array of shape \(3, 1\), got \(2, 1\)"):
        batch.set_targets(np.zeros((2, 1)), ["axle"])
    with pytest.raises(abd.Error, match="nan"):
        batch.set_targets(np.full((3, 1), np.nan), ["axle"])
    with pytest.raises(abd.ArgumentError, match="expected each number once"):
        batch.restore(batch[0].snapshot(), worlds=[1, 1])
    with pytest.raises(abd.ArgumentError, match="numbers from 0 to 2 or a mask"):
        batch.restore(batch[0].snapshot(), worlds=[3])
    with pytest.raises(abd.ArgumentError, match="count: expected an integer >= 1, got 0"):
        abd.Batch(scene, 0)
    batch[0].close()
    with pytest.raises(abd.StateError, match="closed"):
        batch.step()


def test_ctrl_c_stops_all_worlds(scene):
    batch = abd.Batch(scene, 6, threads=2)
    batch.start()
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        batch.step(10**9)
    timer.join()
    counts = [world.step_count for world in batch]
    assert max(counts) > 0
    batch.step(2)  # they go on
    assert [world.step_count for world in batch] == [count + 2 for count in counts]


def thread_times() -> dict[str, float]:
    """[s] processor time of each thread."""
    folder = "/proc/self/task"
    if not os.path.exists(f"{folder}/{os.getpid()}/schedstat"):
        pytest.skip("the system does not count the processor time of threads")
    return {name: 1e-9 * int(open(f"{folder}/{name}/schedstat").read().split()[0]) for name in os.listdir(folder)}


def used(before: dict[str, float]) -> float:
    """[s] that the busiest thread has used since then: the wall clock of a machine that does nothing else."""
    return max(seconds - before.get(name, 0) for name, seconds in thread_times().items())


@pytest.mark.long
def test_time_of_64_worlds(scene):
    cores = len(os.sched_getaffinity(0))
    batch = abd.Batch(scene, 64)
    batch.step(5)
    start, best = batch.snapshots(), 0.0
    for _ in range(3):
        batch.restore(start)
        before, began = thread_times(), time.perf_counter()
        for world in batch:
            world.step(100)
        alone, alone_wall, hashes = used(before), time.perf_counter() - began, [world.hash for world in batch]
        batch.restore(start)
        before, began = thread_times(), time.perf_counter()
        batch.step(100)
        together, wall = used(before), time.perf_counter() - began
        best = max(best, alone / together)
        print(f"{cores} cores: {alone / together:.2f} times faster; wall clock {alone_wall / wall:.2f}")
        assert hashes == [world.hash for world in batch]
    assert best > 0.9 * cores
