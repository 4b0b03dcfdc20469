"""Worlds: bodies, joints, steps, contacts, questions, snapshots."""

from __future__ import annotations

import os
import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Iterator, Sequence

import numpy as np

from abd._core import (
    NAMES,
    OK,
    ArgumentError,
    Fields,
    StateError,
    as_dict,
    doubles,
    enum_value,
    fail,
    failure,
    ffi,
    fixed_bits,
    lib,
    new_error,
    number,
    records,
    steps_of,
    text,
    uints,
    vector,
    whole,
)
from abd.body import Body, SoftBody
from abd.history import Snapshot, log_of, rebuild, snapshot_of
from abd.joint import Joint
from abd.mesh import Mesh, MeshLike
from abd.options import BodyOptions, ContactOptions, JointOptions, SoftOptions, SolverOptions
from abd.report import Report

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from abd.run import Page, Recorder, Viewer
    from abd.scene import Scene

_glue_step = lib.glue_step
# AbdStepReport, then the number of steps of the call and of those that did not converge.
_report_bytes = ffi.sizeof("AbdStepReport") + 16


class World:
    """Bodies, joints and their state; ``step`` moves them on.

    ``dt`` [s], ``gravity`` [m/s^2], ``integrator``, ``contact`` and ``solver`` are the settings of scene files; what is
    left out has its default. ``threads``: 0 = all processors; results do not depend on it. ``abd.load`` makes a World
    of a file.
    """

    def __init__(
        self,
        *,
        dt: float | None = None,
        gravity: Any = None,
        integrator: str | None = None,
        contact: ContactOptions | None = None,
        solver: SolverOptions | None = None,
        threads: int = 0,
    ) -> None:
        settings = dict(dt=dt, gravity=gravity, integrator=integrator, contact=contact, solver=solver)
        self._init(None, {key: value for key, value in settings.items() if value is not None}, threads)

    @classmethod
    def _of(cls, scene: Scene, threads: int, c: Any = None) -> World:
        """The world of a scene; or a C world, taken over, that was built of it."""
        world = cls.__new__(cls)
        world._init(scene, {}, threads, c=c)
        return world

    def _init(self, scene: Scene | None, settings: dict[str, Any], threads: int, step: int = 0, c: Any = None) -> None:
        error, threads = new_error(), whole(threads, "threads")
        self._glue: Any = None
        self._owned: Any = None
        self._busy = False
        if c is not None:
            world = c
        elif scene:
            world = lib.abd_scene_build_at(scene._c, threads, step, error)
        else:
            definition = ffi.new("AbdWorldDef *", lib.abd_default_world_def())
            fields = Fields(definition, "world")
            fields.set(**settings)
            definition.solver.threads = threads
            world = lib.abd_world_create(definition, error)
        if world == ffi.NULL:
            fail(error)
        self._owned = ffi.gc(world, lib.abd_world_destroy)
        self._glue = ffi.gc(ffi.new("Glue *"), lib.glue_release)
        self._glue.world = world
        self._report = ffi.buffer(self._glue, _report_bytes)
        self._scene = scene
        self._settings = settings
        self._threads = threads
        self._log: list[tuple] = []
        self._meshes: dict[int, tuple[Mesh, int]] = {}
        self._in_change = False
        self._poses: np.ndarray | None = None
        self._key: tuple[int, int] = (-1, -1)
        self._frames: tuple | None = None
        self._recorder: Recorder | None = None
        if scene:
            self._glue.scene = scene._c

    # ---- Life ----

    def close(self) -> None:
        """Frees the world's memory as soon as no array refers to it. Everything else then raises StateError."""
        if self._busy:
            self._open()
        if self._recorder:
            self._recorder.close()
        self._report = self._glue = self._owned = self._poses = self._frames = None

    def __enter__(self) -> World:
        return self

    def __exit__(self, *exception: Any) -> None:
        self.close()

    def _open(self) -> Any:
        """The C world; raises if it is closed or another thread steps it."""
        if self._owned is None:
            raise StateError("the world is closed", "state")
        if self._busy:
            raise StateError("the world is in use by another thread", "state")
        return self._owned

    def _check(self, status: int, sentence: Any) -> None:
        """For functions that leave no sentence in the world."""
        if status != OK:
            raise failure(status, sentence())

    def _do(self, function: Any, *arguments: Any) -> None:
        """A function of the world that leaves a sentence when it fails."""
        world = self._open()
        status = function(world, *arguments)
        if status != OK:
            raise failure(status, text(lib.abd_world_error(world)))

    def _edit(self, function: Any, *arguments: Any, plain: bool = False) -> None:
        """A change of the model. After steps were taken, the log needs the state at which it was made.

        ``plain``: the change does not depend on the state, if it is not refused.
        """
        world = self._open()
        before = None
        if lib.abd_world_step_count(world) and not self._in_change:
            before = self._state_entry(plain)
        self._do(function, *arguments)
        if before:
            self._log.append(before)
        self._frames = None

    def _state_entry(self, plain: bool) -> tuple | None:
        """The state for the log, if its last one is another. Plain changes before all others need none; then the log
        has the step alone. Ids of a scene's later bodies depend on when others came."""
        last = next((entry for entry in reversed(self._log) if entry[0] == "at"), None)
        if plain and not self._scene and (not last or not last[1]):
            return None if last else ("at", None, self.step_count)
        snapshot = bytes(self.snapshot())
        return None if last and last[1] == snapshot else ("at", snapshot, self.step_count)

    def __repr__(self) -> str:
        if self._owned is None:
            return "<abd.World, closed>"
        name = f" {self._scene.name!r}" if self._scene else ""
        return f"<abd.World{name}: {self.body_count} bodies, {self.joint_count} joints, t = {self.time:.6g} s>"

    # ---- Meshes and bodies ----

    def add_mesh(self, mesh: MeshLike) -> int:
        """Gives the world a mesh; returns its id. ``add_body`` does it by itself, once for each Mesh object."""
        mesh = Mesh.of(mesh)
        known = self._meshes.get(id(mesh))
        if known:
            return known[1]
        definition = ffi.new("AbdMeshDef *", lib.abd_default_mesh_def())
        fields = Fields(definition, f"mesh {mesh.name!r}", hidden=("vertex", "triangle", "edge"))
        fields.set(name=mesh.name or None, thickness=mesh.thickness, half_space=mesh.half_space)
        arrays = [doubles(mesh.vertices), uints(mesh.triangles), uints(mesh.edges)]
        definition.vertex, definition.triangle, definition.edge = arrays
        definition.vertex_count, definition.triangle_count = len(mesh.vertices), len(mesh.triangles)
        definition.edge_count = len(mesh.edges)
        out = ffi.new("AbdMeshId *")
        self._edit(lib.abd_world_add_mesh, definition, out, plain=True)
        self._meshes[id(mesh)] = mesh, out.id
        self._log.append(("mesh", mesh))
        return out.id

    def add_body(self, mesh: MeshLike, /, **options: Unpack[BodyOptions]) -> Body:
        """Adds a stiff body. ``mesh``: a Mesh, the name of a file, (vertices, triangles), or a trimesh or meshio mesh.

        ``options`` are the fields of AbdBodyDef: name, position, rotation (quaternion w, x, y, z), motion, density,
        velocity, friction, ... Bodies that are given the same Mesh object share it. After the first step the body is
        refused with CrossingError if it would touch another.
        """
        definition = ffi.new("AbdBodyDef *", lib.abd_default_body_def())
        fields = Fields(definition, f"body {options.get('name', '')!r}", hidden=("mesh", "has_center_of_mass"))
        given: dict[str, Any] = dict(options)
        color = _color(given.pop("color", None))
        if given.get("fixed") is not None:
            given["fixed"] = fixed_bits(given["fixed"])
        fields.set(**given)
        definition.has_center_of_mass = given.get("center_of_mass") is not None
        mesh = Mesh.of(mesh)
        if len(mesh.tets) and not len(mesh.triangles):
            raise ArgumentError(f"{mesh!r} has no triangles: add_soft takes tets, a stiff body is its surface")
        definition.mesh.id = self.add_mesh(mesh)
        out = ffi.new("AbdBodyId *")
        self._edit(lib.abd_world_add_body, definition, out, plain=True)
        self._log.append(("body", mesh, {**given, "color": color} if color else given))
        return Body(self, out.id)

    def add_soft(self, mesh: MeshLike, /, **options: Unpack[SoftOptions]) -> SoftBody:
        """Adds a soft body: the tets of the mesh, else its triangles as a shell, else its edges as rods.

        ``options`` are the fields of AbdSoftDef: name, young, poisson, density, thickness, position, ...
        """
        mesh = Mesh.of(mesh)
        if mesh.half_space:
            raise ArgumentError(f"{mesh!r} is a half-space, which cannot be soft")
        definition = ffi.new("AbdSoftDef *", lib.abd_default_soft_def())
        hidden = [f"{part}{end}" for part in ("vertex", "tet", "triangle", "edge") for end in ("", "_count")]
        fields = Fields(definition, f"soft body {options.get('name', '')!r}", hidden)
        given: dict[str, Any] = dict(options)
        color = _color(given.pop("color", None))
        fields.set(**given)
        keep = [doubles(mesh.vertices)]
        definition.vertex, definition.vertex_count = keep[0], len(mesh.vertices)
        for part, array in (("tet", mesh.tets), ("triangle", mesh.triangles), ("edge", mesh.edges)):
            if len(array):
                keep.append(uints(array))
                setattr(definition, part, keep[-1])
                setattr(definition, f"{part}_count", len(array))
                break
        out = ffi.new("AbdBodyId *")
        self._edit(lib.abd_world_add_soft, definition, out)
        self._log.append(("soft", mesh, {**given, "color": color} if color else given))
        return SoftBody(self, out.id)

    def add_joint(
        self, kind: str, body_a: Body | None = None, body_b: Body | None = None, **options: Unpack[JointOptions]
    ) -> Joint:
        """Adds a joint between two bodies, or a body and the world (``body_b`` None).

        ``kind``: "hinge", "slider", "ball", "weld", ... (docs/joints.md). ``options`` are the fields of AbdJointDef:
        point and axis in the world as it is now, limit, drive=dict(kind="position", target=1, stiffness=50), ...
        All kinds need ``point`` but "weld", "orientation", "angle" and those of two joints.
        """
        given: dict[str, Any] = dict(options)
        takes = lib.abd_joint_kind_view(enum_value("AbdJointKind", kind, "joint")).takes
        for key, bit in (("point", lib.ABD_JOINT_NEEDS_POINT), ("point_b", lib.ABD_JOINT_NEEDS_POINT_B)):
            if takes & bit and given.get(key) is None:
                raise ArgumentError(f"joint {given.get('name', '')!r}: a {kind} needs {key!r}, a place in the world")
        for key, bit in (
            ("pitch", lib.ABD_JOINT_TAKES_PITCH),
            ("length", lib.ABD_JOINT_TAKES_LENGTH),
            ("ratio", lib.ABD_JOINT_TAKES_RATIO),
            ("joint_a", lib.ABD_JOINT_TAKES_JOINTS),
            ("joint_b", lib.ABD_JOINT_TAKES_JOINTS),
            ("angle_limit", lib.ABD_JOINT_TAKES_ANGLE_LIMIT),
            ("free", lib.ABD_JOINT_TAKES_FREE),
        ):
            if given.get(key) is not None and not takes & bit:
                raise ArgumentError(f"joint {given.get('name', '')!r}: a {kind} takes no {key!r}")
        for key, body in (("body_a", body_a), ("body_b", body_b)):
            if body is not None:
                given[key] = self._own(body, Body)
        for key in ("joint_a", "joint_b"):
            if isinstance(given.get(key), Joint):
                given[key] = self._own(given[key], Joint)
        return self._add_joint(kind, given)

    def _add_joint(self, kind: str, given: dict[str, Any]) -> Joint:
        definition = ffi.new("AbdJointDef *", lib.abd_default_joint_def())
        fields = Fields(definition, f"joint {given.get('name', '')!r}", hidden=("kind",))
        definition.kind = enum_value("AbdJointKind", kind, "joint")
        fields.set(**given)
        out = ffi.new("AbdJointId *")
        self._edit(lib.abd_world_add_joint, definition, out)
        self._log.append(("joint", kind, given))
        return Joint(self, out.id)

    def _own(self, item: Any, kind: type) -> int:
        """The id of a Body or Joint of this world. Ids of other worlds are those of other bodies."""
        if not isinstance(item, kind):
            raise ArgumentError(f"expected an abd.{kind.__name__} of this world, got {item!r}")
        if item.world is not self:
            raise ArgumentError(f"{item!r} belongs to another world: {item.world!r}")
        return item.id

    def remove(self, item: Body | Joint) -> None:
        """Removes a body with its joints, or a joint."""
        if isinstance(item, Joint):
            self._edit(lib.abd_world_remove_joint, [self._own(item, Joint)], plain=True)
        else:
            self._edit(lib.abd_world_remove_body, [self._own(item, Body)], plain=True)
        self._log.append(("remove_joint" if isinstance(item, Joint) else "remove_body", item.id))

    def exclude(self, a: Body, b: Body) -> None:
        """The two bodies do not collide with each other."""
        self._pair(lib.abd_world_exclude_pair, "exclude", a, b)

    def include(self, a: Body, b: Body) -> None:
        """An excluded pair collides again."""
        self._pair(lib.abd_world_include_pair, "include", a, b)

    def set_pair_friction(self, a: Body, b: Body, friction: float) -> None:
        """The friction coefficient of two bodies; without it a pair has sqrt(mu_a mu_b)."""
        self._pair(lib.abd_world_set_pair_friction, "friction", a, b, number(friction, "friction"))

    def set_pair_restitution(self, a: Body, b: Body, restitution: float) -> None:
        """The restitution of two bodies, 0 to 1; without it a pair has sqrt(e_a e_b)."""
        self._pair(lib.abd_world_set_pair_restitution, "restitution", a, b, number(restitution, "restitution"))

    def _pair(self, function: Any, what: str, a: Body, b: Body, *value: float) -> None:
        pair = self._own(a, Body), self._own(b, Body)
        self._do(function, [pair[0]], [pair[1]], *value)
        if self._in_change or not self.step_count:  # later snapshots have it
            self._log.append((what, *pair, *value))

    def collides(self, a: Body, b: Body) -> bool:
        """Whether two bodies may collide."""
        return bool(lib.abd_world_pair_collides(self._open(), [self._own(a, Body)], [self._own(b, Body)]))

    @property
    def excluded_pairs(self) -> np.ndarray:
        """(n, 2) ids of pairs that an exclusion or a joint keeps from colliding."""
        world = self._open()
        pairs = np.zeros((lib.abd_world_excluded_pairs(world, ffi.NULL, 0), 2), np.uint32)
        lib.abd_world_excluded_pairs(world, ffi.cast("AbdBodyId(*)[2]", pairs.ctypes.data), len(pairs))
        return pairs

    @contextmanager
    def change(self) -> Iterator[World]:
        """Several changes as one, checked at its end: ``with world.change(): ...``.

        If it fails, nothing of it remains.
        """
        self._edit(lib.abd_world_begin_change)
        log, meshes = len(self._log), dict(self._meshes)
        self._log.append(("begin",))
        self._in_change = True
        try:
            yield self
            self._do(lib.abd_world_end_change)
        except BaseException:
            lib.abd_world_cancel_change(self._owned)
            del self._log[log:]
            self._meshes = meshes
            raise
        finally:
            self._in_change = False
            self._frames = None
        self._log.append(("end",))

    # ---- What there is ----

    @property
    def body_count(self) -> int:
        """Number of bodies."""
        return lib.abd_world_body_count(self._open())

    @property
    def joint_count(self) -> int:
        """Number of joints."""
        return lib.abd_world_joint_count(self._open())

    @property
    def body_ids(self) -> np.ndarray:
        """Ids of the bodies, ascending: rows of ``poses``. Contacts and events name bodies by id."""
        ids = np.empty(self.body_count, np.uint32)
        lib.glue_body_ids(self._open(), uints(ids))
        return ids

    @property
    def joint_ids(self) -> np.ndarray:
        """Ids of the joints, ascending: rows of ``readings``."""
        ids = np.empty(self.joint_count, np.uint32)
        lib.glue_joint_ids(self._open(), uints(ids))
        return ids

    def _body(self, id: int) -> Body | None:
        if not id:
            return None
        return (SoftBody if lib.abd_body_is_soft(self._open(), [id]) else Body)(self, id)

    @property
    def bodies(self) -> list[Body]:
        """All bodies in the order of their ids."""
        return [self._body(id) for id in self.body_ids.tolist()]  # type: ignore[misc]

    @property
    def joints(self) -> list[Joint]:
        """All joints in the order of their ids."""
        return [Joint(self, id) for id in self.joint_ids.tolist()]

    def body(self, name: str | int) -> Body:
        """The body of a name, or of an id."""
        return _find(self.bodies, name, "body")

    def joint(self, name: str | int) -> Joint:
        """The joint of a name, or of an id."""
        return _find(self.joints, name, "joint")

    @property
    def scene(self) -> Scene | None:
        """The scene that the world was built of."""
        return self._scene

    @property
    def settings(self) -> dict[str, Any]:
        """dt, gravity, contact, ...; automatic values are filled in after the start."""
        return as_dict(lib.abd_world_settings(self._open()))

    @property
    def dt(self) -> float:
        """[s]"""
        return lib.abd_world_settings(self._open()).dt

    @property
    def time(self) -> float:
        """[s]"""
        return lib.abd_world_time(self._open())

    @property
    def step_count(self) -> int:
        """Number of steps since the start."""
        return lib.abd_world_step_count(self._open())

    @property
    def device(self) -> str:
        """What steps the world: "cpu", or "cuda: " and the GPU's name; "" before the start."""
        return text(lib.abd_world_device(self._open()))

    def set_device(self, device: str) -> None:
        """ "auto", "cpu" or "cuda": what takes the next steps."""
        self._do(lib.abd_world_set_device, enum_value("AbdDevice", device, "device"))

    # ---- Steps ----

    def start(self) -> None:
        """Checks that nothing crosses and prepares the world; the first step does it too."""
        self._open()
        self._run(lib.glue_start)
        self._refresh()

    def step(self, count: int = 1) -> Report:
        """Takes ``count`` steps and returns the report of the last one; ``report.not_converged`` counts over all.

        Other Python threads run meanwhile. Ctrl-C stops within a step: the world is as before that step. The scripts of
        the scene (paths, forces, drives) are applied before each step.
        """
        if self._owned is None or self._busy:
            self._open()
        if type(count) is not int or count < 0:
            count = whole(count, "count")
        glue = self._glue
        self._busy = True
        try:
            status = _glue_step(glue, count)
        finally:
            self._busy = False
        if status != OK:
            fail(glue.error)
        return Report(self._report[:])

    def _run(self, function: Any, *arguments: Any) -> None:
        """A function of Glue that other threads must not disturb."""
        self._busy = True
        try:
            status = function(self._glue, *arguments)
        finally:
            self._busy = False
        if status != OK:
            fail(self._glue.error)

    def step_for(self, seconds: float) -> Report:
        """As many steps as cover this time."""
        return self.step(steps_of(seconds, self.dt, "seconds"))

    @property
    def report(self) -> Report | None:
        """The report of the last step; None before the first."""
        self._open()
        if not self._glue.report.step:
            return None
        return Report(self._report[:])

    def interrupt(self) -> None:
        """Stops the step in progress in another thread: it raises Interrupted, and the world is as before the step."""
        if self._owned is not None:
            lib.abd_world_interrupt(self._owned)

    @property
    def scripted(self) -> bool:
        """Whether the scene's scripts (paths, forces, drives) are applied before each step."""
        self._open()
        return self._glue.scene != ffi.NULL

    @scripted.setter
    def scripted(self, value: bool) -> None:
        self._open()
        self._glue.scene = self._scene._c if value and self._scene else ffi.NULL

    # ---- State as arrays ----

    def _refresh(self) -> None:
        if self._poses is not None:
            self._allocate_poses(keep=True)

    def _body_key(self) -> tuple[int, int]:
        world = self._open()
        count = lib.abd_world_body_count(world)
        return count, lib.abd_world_body_at(world, count - 1).id if count else 0

    def _allocate_poses(self, keep: bool = False) -> np.ndarray:
        key = self._body_key()
        glue = self._glue
        if not (keep and self._poses is not None and self._key == key):
            buffer = np.empty((key[0], 4, 3))
            self._buffer = ffi.from_buffer("double[]", buffer)
            glue.pose, glue.pose_count, glue.pose_last = self._buffer, *key
            glue.pose_soft = any(body.is_soft for body in self.bodies)
            buffer.flags.writeable = False
            self._poses, self._key = buffer.transpose(0, 2, 1), key
        lib.glue_poses(self._open(), glue.pose_soft, glue.pose)
        return self._poses  # type: ignore[return-value]

    @property
    def poses(self) -> np.ndarray:
        """(n, 3, 4): [p | A] of every body, in the order of ``body_ids``; NaN for soft ones.

        A rest position X of a body's mesh is at p + A X; p is the centre of mass. Reading costs nothing: it is always
        the same array, which each step updates. Copy it to keep it. When bodies come or go, it is another array.
        """
        if self._poses is None or self._key != self._body_key():
            return self._allocate_poses()
        return self._poses

    @property
    def velocities(self) -> np.ndarray:
        """(n, 6): velocity of the centre of mass and angular velocity of every body."""
        array = np.empty((self.body_count, 6))
        lib.glue_velocities(self._open(), doubles(array))
        return array

    @property
    def transforms(self) -> np.ndarray:
        """(n, 4, 4): takes coordinates of each body's mesh file to the world; NaN for soft bodies."""
        poses = self.poses
        if self._frames is None or self._frames[0] != self._key:
            views = [body.mesh for body in self.bodies]
            axes = np.array([v.axes for v in views]).reshape(-1, 3, 3)
            self._frames = self._key, axes, np.array([v.origin for v in views]).reshape(-1, 3)
        _, axes, origin = self._frames
        result = np.zeros((len(poses), 4, 4))
        result[:, :3, :3] = poses[:, :, 1:] @ axes.transpose(0, 2, 1)
        result[:, :3, 3] = poses[:, :, 0] - np.einsum("nij,nj->ni", result[:, :3, :3], origin)
        result[:, 3, 3] = 1
        return result

    @property
    def readings(self) -> np.ndarray:
        """All joints at the end of the last step, one record each, in the order of ``joint_ids``.

        Fields: position, rate, angle, travel, force, torque, effort, passive, residual, point, axis.
        """
        array, pointer = records("AbdJointReading", self.joint_count)
        self._check(lib.glue_readings(self._open(), pointer), self._started)
        return array

    def _joint_id(self, joint: Joint | str | int) -> int:
        if isinstance(joint, str):
            return self.joint(joint).id
        return self._own(joint, Joint) if isinstance(joint, Joint) else int(joint)

    def set_targets(self, targets: Any, joints: Sequence[Joint | str | int] | np.ndarray | None = None) -> None:
        """New targets of the drives of all joints, or of some (names, ids or Joints), from an array. Their gains stay.

        Each of the joints named needs a drive (``Joint.set_drive``); without names at least one of the world does, and
        the targets of joints without a drive have no effect.
        """
        array = np.ascontiguousarray(targets, dtype=np.float64)
        ids = self.joint_ids if joints is None else np.array([self._joint_id(joint) for joint in joints], np.uint32)
        if array.shape != ids.shape:
            raise ArgumentError(f"targets: expected an array of shape {ids.shape}, got {array.shape}")
        self._open()
        named = joints is not None
        if lib.glue_set_targets(self._glue, uints(ids), len(ids), doubles(array), named) != OK:
            fail(self._glue.error)

    @property
    def contact_loads(self) -> np.ndarray:
        """What contacts did to each body in the last step: records of contacts, normal, friction [N], torque [N m]."""
        array, pointer = records("AbdContactLoad", self.body_count)
        self._check(lib.glue_loads(self._open(), pointer), self._started)
        return array

    def _all(self, function: Any, name: str) -> np.ndarray:
        world = self._open()
        array, pointer = records(name, function(world, ffi.NULL, 0))
        function(world, pointer, len(array))
        return array

    @property
    def contacts(self) -> np.ndarray:
        """The contacts at the end of the last step as records: body_a, body_b, point, normal, distance, normal_force,
        friction_force, torque, kind, primitive_a, primitive_b."""
        return self._all(lib.abd_world_contacts, "AbdContact")

    @property
    def events(self) -> list[dict[str, Any]]:
        """Events of the last step: {"step", "kind": "touch began", "body_a", "body_b", "joint"}; ids, 0 = none."""
        array = self._all(lib.abd_world_events, "AbdEvent")
        names = NAMES["AbdEventKind"]
        return [
            {name: names[value] if name == "kind" else value for name, value in zip(array.dtype.names or (), row)}
            for row in array.tolist()
        ]

    @property
    def broken_joints(self) -> np.ndarray:
        """Joints that broke in the last step, with the force and torque that they carried."""
        return self._all(lib.abd_world_broken_joints, "AbdBrokenJoint")

    @property
    def joint_summary(self) -> dict[str, int]:
        """Equations of linear joints, redundant ones, unknowns that are left. After the start."""
        return as_dict(lib.abd_world_joint_summary(self._open()))

    # ---- Questions ----

    def _filter(self, ignore: Body | None, sensors: bool) -> Any:
        ignored = self._own(ignore, Body) if ignore else 0
        return ffi.new("AbdQueryFilter *", {"ignore": {"id": ignored}, "sensors": sensors})

    def _started(self) -> str:
        return "the world has not started"

    def nearest(
        self, point: Any, max_distance: float = np.inf, *, ignore: Body | None = None, sensors: bool = False
    ) -> dict[str, Any]:
        """The nearest point of any surface: distance (infinity if nothing was found), body_a, point_a, triangle_a."""
        found, most = ffi.new("AbdNearest *"), number(max_distance, "max_distance")
        self._do(lib.abd_world_nearest, vector(point, 3, "point"), most, self._filter(ignore, sensors), found)
        return as_dict(found[0])

    def cast(
        self,
        origin: Any,
        direction: Any,
        *,
        radius: float = 0.0,
        max_distance: float = np.inf,
        ignore: Body | None = None,
        sensors: bool = False,
    ) -> dict[str, Any] | None:
        """The first body that a ray, or a ball of a radius, hits: body, distance, point, normal, triangle; or None."""
        cast = ffi.new("AbdCast *")
        Fields(cast, "cast").set(origin=origin, direction=direction, radius=radius, max_distance=max_distance)
        hit = ffi.new("AbdHit *")
        self._do(lib.abd_world_cast, cast, self._filter(ignore, sensors), hit)
        return as_dict(hit[0]) if hit.body.id else None

    def _bodies_of(self, function: Any, subject: Any, filter: Any) -> list[Body]:
        count = ffi.new("size_t *")
        self._do(function, subject, filter, ffi.NULL, 0, count)
        ids = ffi.new("AbdBodyId[]", count[0])
        self._do(function, subject, filter, ids, count[0], count)
        return [self._body(item.id) for item in ids]  # type: ignore[misc]

    def overlap_box(
        self,
        center: Any,
        half: Any,
        rotation: Any = (1, 0, 0, 0),
        *,
        ignore: Body | None = None,
        sensors: bool = False,
    ) -> list[Body]:
        """The bodies that a box meets or is inside of."""
        box = ffi.new("AbdBoxQuery *")
        Fields(box, "box").set(center=center, half=half, rotation=rotation)
        return self._bodies_of(lib.abd_world_overlap_box, box, self._filter(ignore, sensors))

    def crossings(self, poses: Any = None) -> np.ndarray:
        """Pairs of bodies whose surfaces share a point, tested exactly: now, or at given poses (n, 3, 4).

        Records of body_a, body_b, triangle_a, triangle_b, point; of a world, always none after a step.
        """
        world = self._open()
        if poses is None:
            size = sum(3 * len(b.vertices) if b.is_soft else 12 for b in self.bodies)
            nodes = np.empty(size)
            lib.abd_world_poses(world, doubles(nodes), ffi.NULL)
        else:
            nodes = np.asarray(poses, dtype=np.float64)
            if nodes.shape != (self.body_count, 3, 4):
                raise ArgumentError(f"poses: expected an array of shape {(self.body_count, 3, 4)}, got {nodes.shape}")
            if any(body.is_soft for body in self.bodies):
                raise ArgumentError("poses: the world has soft bodies, which have no pose")
            nodes = np.ascontiguousarray(nodes.transpose(0, 2, 1)).ravel()
        count = lib.abd_world_find_crossings(world, doubles(nodes), ffi.NULL, 0)
        if count == 2 ** (8 * ffi.sizeof("size_t")) - 1:
            raise MemoryError("out of memory while testing for crossings")
        array, pointer = records("AbdCrossing", count)
        lib.abd_world_find_crossings(world, doubles(nodes), pointer, count)
        return array

    # ---- Records and pictures ----

    def record(
        self,
        path: str | os.PathLike[str],
        *,
        every: int = 1,
        contacts: bool = False,
        steps: int | None = None,
        replace: bool = False,
    ) -> Recorder:
        """Writes every step from now on into a run file: ``with world.record("x.abd") as recorder: world.step(100)``.

        A frame is written every so many steps, with ``contacts`` every contact of it. ``steps`` is how many are planned
        in all, for information. ``replace`` an existing file; without it that is an error.
        """
        from abd.run import Recorder

        return Recorder(self, path, every=every, contacts=contacts, steps=steps, replace=replace)

    def view(self, **options: Any) -> Page | Viewer | None:
        """Shows the world as it is now: inside the notebook, or in the browser until Ctrl-C. See ``Run.view``."""
        from abd.run import view_world

        return view_world(self, **options)

    def to_scene(self) -> Scene:
        """The scene that builds this world: of a file, or of the bodies and joints as they were added before the first
        step, without those that were removed. Drives are those of now before that step, later those given with the
        joints. What else was set (``set_state``, ``set_force``, ...) is not part of it; a run file has it.
        """
        from abd.to_scene import scene_of

        drives: dict[int, dict[str, Any]] = {}
        if not self.step_count:
            glue = self._glue  # it has the drives that were set instead of those of a scene
            changed = {glue.drive[k].joint.id for k in range(glue.drive_count)}
            drives = {joint.id: joint.drive for joint in self.joints if not self._scene or joint.id in changed}
        return scene_of(self._scene, self.settings if not self._scene else {}, self._log, drives)

    # ---- Snapshots ----

    def snapshot(self) -> Snapshot:
        """The state as bytes. A world that restores them continues with the same bits."""
        world = self._open()
        if lib.abd_world_snapshot_size(world) == 0:
            self.start()
        data = bytearray(lib.abd_world_snapshot_size(world))
        self._check(lib.abd_world_save(world, ffi.from_buffer(data), len(data)), lambda: "a snapshot failed")
        return snapshot_of(bytes(data), lib.abd_world_step_count(world), self._log)

    def restore(self, snapshot: bytes) -> None:
        """Goes back to a snapshot of this world, of a copy of it, or of a world that was made in the same way."""
        if self._recorder:
            raise StateError(f"the world is recorded into {self._recorder.path}: end that before a restore", "state")
        try:
            self._do(lib.abd_world_restore, ffi.from_buffer(snapshot), len(snapshot))
        except StateError:
            if self._in_change or not isinstance(snapshot, Snapshot) or not self._made_before(snapshot):
                raise
            self._rebuild(snapshot)  # bodies or joints of the snapshot are gone
        self._refresh()

    def _made_before(self, snapshot: Snapshot) -> bool:
        """Whether the bodies and joints of a snapshot are known: it is one of this world."""
        log = log_of(snapshot, self._log)
        return len(log) <= len(self._log) and all(a is b for a, b in zip(log, self._log))

    def _rebuild(self, snapshot: Snapshot) -> None:
        log = log_of(snapshot, self._log)
        other = rebuild(self._scene, self._settings, self._threads, log, bytes(snapshot), snapshot.step)
        self._owned, self._glue.world = other._owned, other._owned
        self._log, self._meshes, self._frames = other._log, other._meshes, None

    @property
    def hash(self) -> int:
        """Of poses and velocities: equal for equal states; 0 before the start."""
        return lib.abd_world_hash(self._open())

    def copy(self) -> World:
        """Another world in the same state, which continues with the same bits."""
        return rebuild(*self._parts())

    def __copy__(self) -> World:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> World:
        return self.copy()

    def _parts(self) -> tuple:
        world = self._open()
        if self._in_change:
            raise StateError("a change of the world is open: it is copied after its end", "state")
        started = lib.abd_world_snapshot_size(world) > 0
        snapshot = bytes(self.snapshot()) if started else None
        return self._scene, self._settings, self._threads, list(self._log), snapshot, lib.abd_world_step_count(world)

    def __reduce__(self) -> tuple:
        return rebuild, self._parts()


def _color(value: Any) -> str | None:
    if value is None or (isinstance(value, str) and re.fullmatch("#[0-9a-fA-F]{6}", value)):
        return value
    raise ArgumentError(f'color: expected "#rrggbb", got {value!r}')


def _find(items: list, name: str | int, what: str) -> Any:
    if isinstance(name, (int, np.integer)):
        match = [item for item in items if item.id == name]
    else:
        match = [item for item in items if item.name == name]
    if len(match) == 1:
        return match[0]
    if match:
        raise ArgumentError(f"{len(match)} {what} have the name {name!r}: use their ids")
    raise ArgumentError(f"there is no {what} {name!r}; there are: {', '.join(repr(i.name) for i in items[:20])}")
