"""Many worlds at once: independent worlds of one scene, one thread each, with their values as stacked arrays."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Iterator, NoReturn, Sequence

import numpy as np

from abd._core import (
    ArgumentError,
    Error,
    StateError,
    doubles,
    dtype_of,
    failure,
    ffi,
    lib,
    records,
    text,
    uints,
    whole,
)
from abd.history import Snapshot
from abd.joint import Joint
from abd.scene import Scene
from abd.world import World


class BatchError(Error):
    """Some worlds of a batch failed. ``errors`` has the exception of each, by the number of the world.

    The other worlds did what was asked.
    """

    def __init__(self, sentence: str, status: str = "argument", errors: dict[int, Exception] | None = None) -> None:
        super().__init__(sentence, status)
        self.errors = errors or {}


class Batch:
    """``count`` independent worlds that step at the same time, one thread each, over all processors.

        batch = abd.Batch("arm.xml", 64)
        start = batch.snapshots()
        batch.set_targets(targets, joints)        # (64, drives)
        batch.step(10)
        batch.poses                               # (64, bodies, 3, 4), updated by every step
        batch.restore(start, worlds=[3, 17])      # these two begin again

    ``scene`` is the path of a scene, robot or mesh, a Scene, or a World, of which each world is then a copy.
    ``threads``: 0 = all processors. Each world has the bits that it would have alone. ``batch[k]`` is the World number
    k, counted from 0. Stacked arrays need the same bodies and joints in all worlds.
    """

    def __init__(self, scene: str | os.PathLike[str] | Scene | World, count: int, *, threads: int = 0) -> None:
        count = whole(count, "count", 1)
        if not isinstance(scene, (Scene, World)):
            scene = Scene.load(scene)
        self.worlds: list[World] = _make(scene, count, whole(threads, "threads") or len(os.sched_getaffinity(0)))
        self._c = ffi.new("Batch *")
        self._keep = ffi.new("Glue *[]", [world._glue for world in self.worlds]), ffi.new("AbdStatus[]", count)
        self._c.world, self._c.status = self._keep
        self._c.count, self._c.threads = int(count), int(threads)
        first = self.worlds[0]
        self._bodies, self._joints = first.body_ids, first.joint_ids
        self._share_poses()

    def _share_poses(self) -> None:
        """One array for the poses of all worlds; C writes it after steps and restores."""
        buffer = np.empty((len(self.worlds), len(self._bodies), 4, 3))
        self._buffer = ffi.from_buffer("double[]", buffer)
        self._c.pose, self._c.pose_count = self._buffer, len(self._bodies)
        self._c.soft = any(body.is_soft for body in self.worlds[0].bodies)
        lib.batch_poses(self._c)
        buffer.flags.writeable = False
        self._poses = buffer.transpose(0, 1, 3, 2)

    def __len__(self) -> int:
        return len(self.worlds)

    def __getitem__(self, number: int) -> World:
        return self.worlds[number]

    def __iter__(self) -> Iterator[World]:
        return iter(self.worlds)

    def __repr__(self) -> str:
        return f"<abd.Batch of {len(self)}: {self.worlds[0]!r}>"

    # ---- Calls on all worlds ----

    def _call(self, function: Any, *arguments: Any) -> None:
        """A function of batch.h. Other threads must not use the worlds meanwhile."""
        for world in self.worlds:
            world._open()
        for world in self.worlds:
            world._busy = True
        try:
            failed = function(self._c, *arguments)
        finally:
            for world in self.worlds:
                world._busy = False
        if failed:
            self._raise()

    def _raise(self) -> NoReturn:
        errors: dict[int, Exception] = {}
        for k, status in enumerate(self._c.status[0 : len(self)]):
            if status != lib.ABD_OK:
                errors[k] = failure(status, text(self.worlds[k]._glue.error.text))
        self._fail(errors)

    def _fail(self, errors: dict[int, Exception]) -> NoReturn:
        first, why = next(iter(errors.items()))
        status = getattr(why, "status", "memory")
        raise BatchError(f"{len(errors)} of {len(self)} worlds failed; world {first}: {why}", status, errors) from why

    def start(self) -> None:
        """Checks that nothing crosses and prepares the worlds; the first step does it too."""
        self._call(lib.batch_start)

    def step(self, count: int = 1) -> np.ndarray:
        """Takes ``count`` steps in every world and returns the reports of the last ones, one record of each world.

        Fields are those of AbdStepReport, and ``steps`` and ``not_converged``: of the call. If worlds fail, BatchError
        names them after the others are done. Ctrl-C stops all worlds after the step they are in.
        """
        self._call(lib.batch_step, whole(count, "count"))
        return self.reports

    @property
    def reports(self) -> np.ndarray:
        """Of the last step of each world."""
        result = np.zeros(len(self), _REPORT)
        report, pointer = records("AbdStepReport", len(self))
        done, bad = np.zeros(len(self), np.int64), np.zeros(len(self), np.int64)
        lib.batch_reports(self._c, pointer, ffi.from_buffer("int64_t[]", done), ffi.from_buffer("int64_t[]", bad))
        for name in _NAMES:
            result[name] = report[name]
        result["steps"], result["not_converged"] = done, bad
        return result

    # ---- Control ----

    def set_targets(self, targets: Any, joints: Sequence[Joint | str | int] | None = None) -> None:
        """New targets of the drives of all joints, or of some (names, ids or Joints): (worlds, joints). Gains stay."""
        ids = self._joints if joints is None else np.array([self._joint_id(joint) for joint in joints], np.uint32)
        array = np.ascontiguousarray(targets, dtype=np.float64)
        if array.shape != (len(self), len(ids)):
            raise ArgumentError(f"targets: expected an array of shape {(len(self), len(ids))}, got {array.shape}")
        self._call(lib.batch_set_targets, uints(ids), len(ids), doubles(array), joints is not None)

    def _joint_id(self, joint: Joint | str | int) -> int:
        if isinstance(joint, str):
            return self.worlds[0].joint(joint).id
        return joint.id if isinstance(joint, Joint) else int(joint)

    def snapshots(self) -> list[Snapshot]:
        """The states of all worlds."""
        return [world.snapshot() for world in self.worlds]

    def restore(self, snapshots: bytes | Sequence[bytes], worlds: Any = None) -> None:
        """Goes back to snapshots in all worlds, or in those of ``worlds``: numbers, or a mask.

        ``snapshots`` is one for all of them, or a list: one for each world of the batch, or of ``worlds``.
        """
        chosen = self._chosen(worlds)
        if len(np.unique(chosen)) != len(chosen):
            raise ArgumentError(f"worlds: expected each number once, got {chosen.tolist()}")
        if isinstance(snapshots, bytes):
            given: list[bytes] = [snapshots] * len(chosen)
        elif len(snapshots) == len(self):
            given = [snapshots[k] for k in chosen]
        elif len(snapshots) == len(chosen):
            given = list(snapshots)
        else:
            raise ArgumentError(f"snapshots: expected {len(self)} or {len(chosen)} of them, got {len(snapshots)}")
        if not len(chosen):
            return
        index = ffi.new("int[]", chosen.tolist())
        data = [ffi.from_buffer(item) for item in given]
        sizes = ffi.new("size_t[]", [len(item) for item in given])
        recorded = next((k for k in chosen.tolist() if self.worlds[k]._recorder), None)
        if recorded is not None:
            raise StateError(f"world {recorded} is recorded: end that before a restore", "state")
        try:
            self._call(lib.batch_restore, index, len(data), ffi.new("void *[]", data), sizes)
        except BatchError as caught:
            self._restore_slowly(dict(zip(chosen.tolist(), given)), caught)

    def _restore_slowly(self, given: dict[int, bytes], caught: BatchError) -> None:
        """World.restore knows the bodies and joints of its snapshots also if they are gone."""
        errors: dict[int, Exception] = {}
        for k in caught.errors:
            try:
                self.worlds[k].restore(given[k])
            except Error as why:
                errors[k] = why
        lib.batch_poses(self._c)
        if errors:
            self._fail(errors)

    def _chosen(self, worlds: Any) -> np.ndarray:
        every = np.arange(len(self))
        if worlds is None:
            return every
        array = np.asarray(worlds)
        try:
            return every[array if array.size else array.astype(int)].ravel()
        except IndexError:
            last = len(self) - 1
            raise ArgumentError(f"worlds: expected numbers from 0 to {last} or a mask, got {worlds!r}") from None

    # ---- State as arrays ----

    def _same(self) -> None:
        counts = {world.body_count for world in self.worlds}
        if len(counts) > 1:
            raise StateError(f"the worlds of the batch have different bodies: {min(counts)} to {max(counts)}", "state")
        self._bodies = self.worlds[0].body_ids

    @property
    def poses(self) -> np.ndarray:
        """(worlds, bodies, 3, 4): [p | A] of every body, as World.poses. Steps of the batch update the same array."""
        if self._poses.shape[1] != self.worlds[0].body_count:
            self._same()
            self._share_poses()
        return self._poses

    @property
    def velocities(self) -> np.ndarray:
        """(worlds, bodies, 6): velocity of the centre of mass and angular velocity."""
        self._same()
        array = np.empty((len(self), len(self._bodies), 6))
        lib.batch_velocities(self._c, len(self._bodies), doubles(array))
        return array

    @property
    def readings(self) -> np.ndarray:
        """(worlds, joints): records as World.readings: position, rate, effort, force, torque, ..."""
        self._joints = self.worlds[0].joint_ids
        if any(world.joint_count != len(self._joints) for world in self.worlds):
            raise StateError("the worlds of the batch have different joints", "state")
        array, pointer = records("AbdJointReading", len(self) * len(self._joints))
        self._call(lib.batch_readings, len(self._joints), pointer)
        return array.reshape(len(self), -1)

    @property
    def contact_loads(self) -> np.ndarray:
        """(worlds, bodies): what contacts did to each body in the last step, as World.contact_loads."""
        self._same()
        array, pointer = records("AbdContactLoad", len(self) * len(self._bodies))
        self._call(lib.batch_loads, len(self._bodies), pointer)
        return array.reshape(len(self), -1)

    @property
    def times(self) -> np.ndarray:
        """(worlds,) [s]"""
        return np.array([world.time for world in self.worlds])


def _make(scene: Scene | World, count: int, workers: int) -> list[World]:
    if isinstance(scene, World):
        return [scene.copy() for _ in range(count)]
    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(lambda _: scene.build(threads=1), range(count)))


_NAMES = dtype_of("AbdStepReport").names or ()
_REPORT = np.dtype(
    [(name, dtype_of("AbdStepReport")[name]) for name in _NAMES] + [("steps", "i8"), ("not_converged", "i8")]
)
