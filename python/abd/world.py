"""Worlds: bodies, joints, steps, contacts, questions, snapshots."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Iterator, Sequence

import numpy as np

from abd._core import (
    OK,
    WORK,
    ArgumentError,
    Error,
    Fields,
    StateError,
    as_dict,
    copy_records,
    doubles,
    dtype_of,
    enum_name,
    enum_value,
    fail,
    failure,
    ffi,
    fixed_bits,
    lib,
    NAMES,
    new_error,
    number,
    points,
    records,
    steps_of,
    text,
    uints,
    vector,
    view,
)
from abd.mesh import Mesh, MeshLike
from abd.options import BodyOptions, ContactOptions, DriveOptions, JointOptions, SoftOptions, SolverOptions

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from abd.run import Recorder, Run

_glue_step = lib.glue_step
# AbdStepReport, then the number of steps of the call and of those that did not converge.
_report_bytes = ffi.sizeof("AbdStepReport") + 16


class Report:
    """What a step did. Every field of AbdStepReport is an attribute; energies, work and times are dictionaries.

    ``not_converged`` counts the steps of the call that did not converge, so that ``step(100)`` hides none of them.
    """

    __slots__ = ("_data",)
    if TYPE_CHECKING:
        step: int
        time: float
        outcome: str
        culprit: tuple[int, int]
        iterations: int
        substeps: int
        given_up: int
        given_up_by: str
        given_up_culprit: tuple[int, int]
        line_search_steps: int
        friction_iterations: int
        residual: float
        step_length: float
        limit: tuple[int, int]
        islands: int
        linear_iterations: int
        factor_memory: float
        factor_flops: float
        body_pairs: int
        box_tests: int
        candidates: int
        distances: int
        contacts: int
        ccd_calls: int
        min_distance: float
        nearest: tuple[int, int]
        max_strain: float
        most_strained: int
        max_soft_strain: float
        most_strained_soft: int
        target_error: float
        joint_residual: float
        worst_joint: int
        energy: dict[str, float]
        work: dict[str, float]
        momentum: tuple[float, float, float]
        angular_momentum: tuple[float, float, float]
        seconds: dict[str, float]
        events: int
        broken_joints: int

    def __init__(self, data: bytes) -> None:
        self._data = data

    @property
    def steps(self) -> int:
        """Number of steps of the call."""
        return int.from_bytes(self._data[-16:-8], sys.byteorder)

    @property
    def not_converged(self) -> int:
        """How many of them did not converge."""
        return int.from_bytes(self._data[-8:], sys.byteorder)

    @property
    def converged(self) -> bool:
        """Whether every step of the call converged."""
        return self.not_converged == 0

    def __getattr__(self, name: str) -> Any:
        try:
            value = np.frombuffer(self._data, dtype_of("AbdStepReport"), 1)[0][name].tolist()
        except ValueError:
            raise AttributeError(f"a report has no {name!r}") from None
        if name in ("outcome", "given_up_by"):
            return enum_name("AbdOutcome", value)
        if name in _REPORT_NAMES:
            return dict(zip(_REPORT_NAMES[name], value))
        return tuple(value) if isinstance(value, list) else value

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *dtype_of("AbdStepReport").names]

    def as_dict(self) -> dict[str, Any]:
        """All fields."""
        return {name: getattr(self, name) for name in dtype_of("AbdStepReport").names}

    def __reduce__(self) -> tuple:
        return Report, (self._data,)

    def __repr__(self) -> str:
        return (
            f"<abd.Report step {self.step}: {self.outcome}, {self.iterations} iterations, {self.contacts} contacts, "
            f"{1e3 * sum(self.seconds.values()):.3g} ms>"
        )


_REPORT_NAMES = {"energy": NAMES["AbdTerm"], "work": WORK, "seconds": NAMES["AbdStage"]}


class Snapshot(bytes):
    """Everything of a world that changes from step to step, as bytes; ``World.restore`` takes it."""

    step: int
    _log: list[tuple] | None = None  # how its bodies and joints came

    def __reduce__(self) -> tuple:
        return _snapshot, (bytes(self), self.step)


def _snapshot(data: bytes, step: int, log: list[tuple] | None = None) -> Snapshot:
    snapshot = Snapshot(data)
    snapshot.step, snapshot._log = step, log
    return snapshot


class Body:
    """A body of a world. Its ``id`` counts from 1 and is never given again."""

    __slots__ = ("world", "id")

    def __init__(self, world: World, id: int) -> None:
        self.world = world
        self.id = id

    def __repr__(self) -> str:
        try:
            return f"<abd.{type(self).__name__} {self.id} {self.name!r}>"
        except Error:
            return f"<abd.{type(self).__name__} {self.id}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Body) and other.id == self.id and other.world is self.world

    def __hash__(self) -> int:
        return hash((id(self.world), self.id))

    def _view(self) -> Any:
        view = ffi.new("AbdBodyView *")
        self.world._check(lib.abd_body_view(self.world._open(), [self.id], view), self._missing)
        return view

    def _missing(self) -> str:
        return f"body {self.id} does not exist: it was removed, or the change that adds it is open"

    def _state(self) -> Any:
        state = ffi.new("AbdBodyState *")
        self.world._check(lib.abd_body_state(self.world._open(), [self.id], state), self._missing)
        return state

    @property
    def name(self) -> str:
        return text(self._view().name)

    @property
    def motion(self) -> str:
        """ "dynamic", "static" or "kinematic"."""
        return enum_name("AbdMotion", self._view().motion)

    @property
    def mass(self) -> float:
        """[kg]"""
        return self._view().mass

    @property
    def info(self) -> dict[str, Any]:
        """The fields of AbdBodyView: density, principal moments of inertia, stiffness, friction, group, ..."""
        return as_dict(self._view()[0])

    @property
    def is_soft(self) -> bool:
        return bool(lib.abd_body_is_soft(self.world._open(), [self.id]))

    # ---- Pose ----

    @property
    def pose(self) -> np.ndarray:
        """(3, 4): [p | A]. A rest position X of the mesh (see ``mesh``) is at p + A X. A copy; World.poses has all."""
        nodes = np.empty(12)
        self.world._check(lib.abd_body_nodes(self.world._open(), [self.id], doubles(nodes)), self._missing)
        return nodes.reshape(4, 3).T

    @property
    def transform(self) -> np.ndarray:
        """(4, 4): takes coordinates of the mesh's file to the world."""
        mesh, pose = self.mesh, self.pose
        linear = pose[:, 1:] @ mesh.axes.T
        result = np.eye(4)
        result[:3, :3] = linear
        result[:3, 3] = pose[:, 0] - linear @ mesh.origin
        return result

    @property
    def position(self) -> np.ndarray:
        """[m] of the mesh's own origin, as in its file."""
        return np.array(list(self._state().position))

    @property
    def rotation(self) -> np.ndarray:
        """Quaternion w, x, y, z about that origin."""
        return np.array(list(self._state().rotation))

    @property
    def center(self) -> np.ndarray:
        """[m] centre of mass."""
        return self.pose[:, 0].copy()

    @property
    def velocity(self) -> np.ndarray:
        """[m/s] of the centre of mass."""
        return np.array(list(self._state().velocity))

    @property
    def angular_velocity(self) -> np.ndarray:
        """[rad/s] along the world's axes."""
        return np.array(list(self._state().angular_velocity))

    def set_state(
        self,
        position: Any = None,
        rotation: Any = None,
        velocity: Any = None,
        angular_velocity: Any = None,
    ) -> None:
        """Moves the body there at once, as if it began there. What is left out stays.

        It fails with CrossingError if the body would cross another, and for bodies that joints or soft bodies hold.
        """
        state = self._state()
        fields = Fields(state, f"state of {self!r}")
        fields.set(position=position, rotation=rotation, velocity=velocity, angular_velocity=angular_velocity)
        self.world._do(lib.abd_body_set_state, [self.id], state)
        self.world._refresh()

    # ---- Control ----

    def set_force(self, force: Any = (0, 0, 0), torque: Any = (0, 0, 0)) -> None:
        """Force [N] and torque [N m] at the centre of mass, world axes, until set again."""
        self.world._do(lib.abd_body_set_force, [self.id], vector(force, 3, "force"), vector(torque, 3, "torque"))

    def set_target(self, position: Any, rotation: Any = (1, 0, 0, 0)) -> None:
        """A kinematic body: its pose after the next step."""
        self.world._do(
            lib.abd_body_set_target, [self.id], vector(position, 3, "position"), vector(rotation, 4, "rotation")
        )

    def set_velocity(self, velocity: Any, angular_velocity: Any = (0, 0, 0)) -> None:
        """A kinematic body: its velocities from now on. A dynamic one: its present velocities."""
        self.world._do(
            lib.abd_body_set_velocity,
            [self.id],
            vector(velocity, 3, "velocity"),
            vector(angular_velocity, 3, "angular_velocity"),
        )

    def remove(self) -> None:
        """Removes the body and its joints from the world."""
        self.world.remove(self)

    # ---- Geometry ----

    @property
    def mesh(self) -> MeshView:
        """The solver's mesh, shared by all bodies that use it."""
        return MeshView(self.world, self._view().mesh.id)

    @property
    def vertices(self) -> np.ndarray:
        """(n, 3) present positions of the mesh's vertices in the world."""
        pose = self.pose
        return self.mesh.vertices @ pose[:, 1:].T + pose[:, 0]

    # ---- Questions ----

    @property
    def contact_load(self) -> dict[str, Any]:
        """What contacts did to the body in the last step: contacts, normal and friction [N], torque [N m]."""
        return self._load(lib.abd_body_contact_load)

    def contact_load_from(self, other: Body) -> dict[str, Any]:
        """The same of the contacts with one other body."""
        return self._load(lib.abd_pair_contact_load, [other.id])

    def _load(self, function: Any, *arguments: Any) -> dict[str, Any]:
        load = ffi.new("AbdContactLoad *")
        self.world._check(function(self.world._open(), [self.id], *arguments, load), self._not_started)
        return {key: np.array(value) if isinstance(value, list) else value for key, value in as_dict(load[0]).items()}

    def _not_started(self) -> str:
        return f"{self.world!r} has not started, or body {self.id} does not exist"

    def distance(self, other: Body) -> dict[str, Any]:
        """Nearest points of two bodies: distance, point_a, point_b, triangle_a, triangle_b."""
        nearest = ffi.new("AbdNearest *")
        status = lib.abd_world_distance(self.world._open(), [self.id], [other.id], nearest)
        self.world._check(status, self._not_started)
        return as_dict(nearest[0])

    def overlaps(self, sensors: bool = False) -> list[Body]:
        """Bodies that cross, touch, enclose this one or are inside it; of a sensor as a rule."""
        return self.world._bodies_of(lib.abd_body_overlaps, [self.id], self.world._filter(None, sensors))


class SoftBody(Body):
    """A soft body: its unknowns are its vertices. It has no pose."""

    __slots__ = ()

    def _soft(self) -> Any:
        soft = ffi.new("AbdSoftView *")
        self.world._check(lib.abd_soft_view(self.world._open(), [self.id], soft), self._missing)
        return soft

    def _numbers(self, function: Any, shape: tuple[int, ...]) -> np.ndarray:
        array = np.empty(shape)
        self.world._check(function(self.world._open(), [self.id], doubles(array)), self._missing)
        return array

    @property
    def info(self) -> dict[str, Any]:
        return {**as_dict(self._view()[0]), **as_dict(self._soft()[0])}

    @property
    def vertices(self) -> np.ndarray:
        """(n, 3) present positions."""
        return self._numbers(lib.abd_soft_vertices, (self._soft().vertex_count, 3))

    @property
    def velocities(self) -> np.ndarray:
        """(n, 3) [m/s] of the vertices."""
        return self._numbers(lib.abd_soft_velocities, (self._soft().vertex_count, 3))

    @property
    def velocity(self) -> np.ndarray:
        """[m/s] mean of the vertices' velocities; the mass of each is not considered."""
        return self.velocities.mean(axis=0)

    @property
    def center(self) -> np.ndarray:
        """[m] mean of the vertices."""
        return self.vertices.mean(axis=0)

    @property
    def rest(self) -> np.ndarray:
        """(n, 3) vertices at rest, as given."""
        soft = self._soft()
        return view(soft.rest, (soft.vertex_count, 3), "f8", None).copy()

    def _elements(self, name: str, width: int) -> np.ndarray:
        soft = self._soft()
        return view(getattr(soft, name), (getattr(soft, f"{name}_count"), width), "u4", None).copy()

    @property
    def tets(self) -> np.ndarray:
        return self._elements("tet", 4)

    @property
    def triangles(self) -> np.ndarray:
        """(m, 3) of the surface or the shell."""
        return self._elements("triangle", 3)

    @property
    def edges(self) -> np.ndarray:
        return self._elements("edge", 2)

    @property
    def stress(self) -> np.ndarray:
        """[Pa] von Mises' stress of each tet, triangle of a shell or edge of a rod."""
        soft = self._soft()
        return self._numbers(lib.abd_soft_stress, (soft.tet_count or soft.triangle_count or soft.edge_count,))

    def attach(self, vertices: Any, body: Body | None = None) -> None:
        """Fixes vertices to a body, or to the world. Before the first step, or in the change that adds the soft body."""
        for vertex in np.atleast_1d(vertices).tolist():
            self.world._edit(lib.abd_soft_attach, [self.id], int(vertex), [body.id if body else 0])
            self.world._log.append(("attach", self.id, int(vertex), body.id if body else 0))

    def script(self, vertices: Any) -> None:
        """Vertices that ``set_target`` and ``set_vertex_velocity`` move. Before the first step."""
        for vertex in np.atleast_1d(vertices).tolist():
            self.world._edit(lib.abd_soft_script, [self.id], int(vertex))
            self.world._log.append(("script", self.id, int(vertex)))

    def set_vertex_force(self, vertex: int, force: Any) -> None:
        """[N] on one vertex until set again."""
        self.world._do(lib.abd_soft_set_force, [self.id], int(vertex), vector(force, 3, "force"))

    def set_vertex_target(self, vertex: int, position: Any) -> None:
        """A scripted vertex: its position after the next step."""
        self.world._do(lib.abd_soft_set_target, [self.id], int(vertex), vector(position, 3, "position"))

    def set_vertex_velocity(self, vertex: int, velocity: Any) -> None:
        """A scripted vertex: its velocity from now on."""
        self.world._do(lib.abd_soft_set_velocity, [self.id], int(vertex), vector(velocity, 3, "velocity"))


class MeshView:
    """A mesh as the solver has it, in rest coordinates: centre of mass at the origin, principal axes along x, y, z.

    ``file coordinates = origin + axes @ rest``. The arrays are views of the world's memory and keep it alive.
    """

    def __init__(self, world: World, id: int) -> None:
        self.id = id
        self._owner = world._owned
        v = self._c = ffi.new("AbdMeshView *")
        world._check(lib.abd_mesh_view(world._open(), [id], v), lambda: f"mesh {id} does not exist")
        self.name = text(v.name)
        self.origin = np.array(list(v.origin))
        self.axes = np.array(list(v.axes)).reshape(3, 3).T
        self.closed, self.half_space = bool(v.closed), bool(v.half_space)
        self.volume, self.plain_volume, self.thickness = v.volume, v.plain_volume, v.thickness
        self._world = world

    @property
    def vertices(self) -> np.ndarray:
        """(n, 3) rest coordinates."""
        return view(self._c.vertex, (self._c.vertex_count, 3), "f8", self._owner)

    @property
    def triangles(self) -> np.ndarray:
        """(m, 3)"""
        return view(self._c.triangle, (self._c.triangle_count, 3), "u4", self._owner)

    @property
    def edges(self) -> np.ndarray:
        """(k, 2) every edge once."""
        return view(self._c.edge, (self._c.edge_count, 2), "u4", self._owner)

    @property
    def file_vertices(self) -> np.ndarray:
        """(n, 3) in the coordinates of the mesh's file."""
        return self.vertices @ self.axes.T + self.origin

    def self_crossings(self) -> np.ndarray:
        """(n, 2) pairs of triangles of this mesh that cross without a common corner."""
        world = self._world._open()
        count = lib.abd_mesh_self_crossings(world, [self.id], ffi.NULL, 0)
        pairs = np.zeros((count, 2), np.uint32)
        lib.abd_mesh_self_crossings(world, [self.id], ffi.cast("uint32_t(*)[2]", pairs.ctypes.data), count)
        return pairs


class Joint:
    """A joint of a world."""

    __slots__ = ("world", "id")

    def __init__(self, world: World, id: int) -> None:
        self.world = world
        self.id = id

    def __repr__(self) -> str:
        try:
            return f"<abd.Joint {self.id} {self.kind} {self.name!r}>"
        except Error:
            return f"<abd.Joint {self.id}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Joint) and other.id == self.id and other.world is self.world

    def __hash__(self) -> int:
        return hash((id(self.world), -self.id))

    def _def(self) -> Any:
        definition = ffi.new("AbdJointDef *")
        self.world._check(lib.abd_joint_def(self.world._open(), [self.id], definition), self._missing)
        return definition

    def _missing(self) -> str:
        return f"joint {self.id} does not exist: it broke or was removed, or the change that adds it is open"

    @property
    def name(self) -> str:
        return text(self._def().name)

    @property
    def kind(self) -> str:
        """ "hinge", "slider", "ball", ..."""
        return enum_name("AbdJointKind", self._def().kind)

    @property
    def bodies(self) -> tuple[Body | None, Body | None]:
        """Body a and body b; None is the world."""
        d = self._def()
        return self.world._body(d.body_a.id), self.world._body(d.body_b.id)

    @property
    def limits(self) -> tuple[float, float]:
        """Of the coordinate."""
        limit = self._def().limit
        return limit[0], limit[1]

    @property
    def info(self) -> dict[str, Any]:
        """The fields of AbdJointDef, as given."""
        return as_dict(self._def()[0])

    def _reading(self) -> Any:
        reading = ffi.new("AbdJointReading *")
        self.world._check(lib.abd_joint_reading(self.world._open(), [self.id], reading), self._missing)
        return reading

    @property
    def reading(self) -> dict[str, Any]:
        """Position, rate, forces, effort, ... at the end of the last step. World.readings has those of all joints."""
        return {k: np.array(v) if isinstance(v, list) else v for k, v in as_dict(self._reading()[0]).items()}

    @property
    def position(self) -> float:
        """[rad or m] of the coordinate, 0 at the start."""
        return self._reading().position

    @property
    def rate(self) -> float:
        """[rad/s or m/s]"""
        return self._reading().rate

    @property
    def effort(self) -> float:
        """[N m or N] of the drive in the last step."""
        return self._reading().effort

    @property
    def drive(self) -> dict[str, Any]:
        """The drive as it is now: kind, target, max_effort, stiffness, damping."""
        drive = ffi.new("AbdDrive *")
        self.world._check(lib.abd_joint_drive(self.world._open(), [self.id], drive), self._missing)
        return as_dict(drive[0])

    def set_drive(self, kind: str | None = None, target: float | None = None, **gains: Unpack[DriveOptions]) -> None:
        """Changes the drive from the next step on; what is left out stays.

        ``kind``: "none", "effort" (target [N m or N]), "speed" (target [rad/s or m/s]) or "position". ``gains``:
        max_effort, and stiffness and damping of "position". It overrides the drive's schedule in the scene.
        """
        drive = ffi.new("AbdDrive *")
        self.world._check(lib.abd_joint_drive(self.world._open(), [self.id], drive), self._missing)
        Fields(drive, f"drive of {self!r}").set(kind=kind, target=target, **gains)
        glue = self.world._glue
        if lib.glue_set_drive(glue, [self.id], drive) != OK:
            fail(glue.error)

    def remove(self) -> None:
        """Removes the joint. A pair of bodies that it excluded from collision stays excluded."""
        self.world.remove(self)


class World:
    """Bodies, joints and their state; ``step`` moves them on.

    ``dt`` [s], ``gravity`` [m/s^2], ``integrator``, ``contact`` and ``solver`` are the settings of scene files; what is
    left out has its default. ``threads``: 0 = all processors; results do not depend on it. ``abd.load`` makes a World of
    a file.
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

    def _init(self, scene: Scene | None, settings: dict[str, Any], threads: int, step: int = 0) -> None:
        error = new_error()
        self._glue: Any = None
        self._owned: Any = None
        self._busy = False
        if scene:
            world = lib.abd_scene_build_at(scene._c, int(threads), step, error)
        else:
            definition = ffi.new("AbdWorldDef *", lib.abd_default_world_def())
            fields = Fields(definition, "world")
            fields.set(**settings)
            definition.solver.threads = int(threads)
            world = lib.abd_world_create(definition, error)
        if world == ffi.NULL:
            fail(error)
        self._owned = ffi.gc(world, lib.abd_world_destroy)
        self._glue = ffi.gc(ffi.new("Glue *"), lib.glue_release)
        self._glue.world = world
        self._report = ffi.buffer(self._glue, _report_bytes)
        self._scene = scene
        self._settings = settings
        self._threads = int(threads)
        self._log: list[tuple] = []
        self._meshes: dict[int, tuple[Mesh, int]] = {}
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

    def _edit(self, function: Any, *arguments: Any) -> None:
        """A change of the model. After steps were taken, the log needs the state at which it was made."""
        world = self._open()
        before = None
        if lib.abd_world_step_count(world) and not self._in_change:
            before = self._snapshot_entry()
        self._do(function, *arguments)
        if before:
            self._log.append(before)
        self._frames = None

    _in_change = False

    def _snapshot_entry(self) -> tuple | None:
        last = next((entry for entry in reversed(self._log) if entry[0] == "at"), None)
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
        self._edit(lib.abd_world_add_mesh, definition, out)
        self._meshes[id(mesh)] = mesh, out.id
        self._log.append(("mesh", mesh))
        return out.id

    def add_body(self, mesh: MeshLike, **options: Unpack[BodyOptions]) -> Body:
        """Adds a stiff body. ``mesh`` is a Mesh, the name of a file, (vertices, triangles), or a trimesh or meshio mesh.

        ``options`` are the fields of AbdBodyDef: name, position, rotation (quaternion w, x, y, z), motion, density,
        velocity, friction, ... Bodies that are given the same Mesh object share it. After the first step the body is
        refused with CrossingError if it would touch another.
        """
        definition = ffi.new("AbdBodyDef *", lib.abd_default_body_def())
        fields = Fields(definition, f"body {options.get('name', '')!r}", hidden=("mesh", "has_center_of_mass"))
        given: dict[str, Any] = dict(options)
        if given.get("fixed") is not None:
            given["fixed"] = fixed_bits(given["fixed"])
        fields.set(**given)
        definition.has_center_of_mass = given.get("center_of_mass") is not None
        mesh = Mesh.of(mesh)
        definition.mesh.id = self.add_mesh(mesh)
        out = ffi.new("AbdBodyId *")
        self._edit(lib.abd_world_add_body, definition, out)
        self._log.append(("body", mesh, given))
        return Body(self, out.id)

    def add_soft(self, mesh: MeshLike, **options: Unpack[SoftOptions]) -> SoftBody:
        """Adds a soft body: the tets of the mesh, else its triangles as a shell, else its edges as rods.

        ``options`` are the fields of AbdSoftDef: name, young, poisson, density, thickness, position, ...
        """
        mesh = Mesh.of(mesh)
        definition = ffi.new("AbdSoftDef *", lib.abd_default_soft_def())
        hidden = [f"{part}{end}" for part in ("vertex", "tet", "triangle", "edge") for end in ("", "_count")]
        fields = Fields(definition, f"soft body {options.get('name', '')!r}", hidden)
        given: dict[str, Any] = dict(options)
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
        self._log.append(("soft", mesh, given))
        return SoftBody(self, out.id)

    def add_joint(
        self, kind: str, body_a: Body | None = None, body_b: Body | None = None, **options: Unpack[JointOptions]
    ) -> Joint:
        """Adds a joint between two bodies, or a body and the world (``body_b`` None).

        ``kind``: "hinge", "slider", "ball", "weld", ... (docs/joints.md). ``options`` are the fields of AbdJointDef:
        point and axis in the world as it is now, limit, drive=dict(kind="position", target=1, stiffness=50), ...
        """
        given: dict[str, Any] = dict(options)
        given.update({key: body.id for key, body in (("body_a", body_a), ("body_b", body_b)) if body is not None})
        given.update({key: getattr(given[key], "id", given[key]) for key in ("joint_a", "joint_b") if key in given})
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

    def remove(self, item: Body | Joint) -> None:
        """Removes a body with its joints, or a joint."""
        if isinstance(item, Joint):
            self._edit(lib.abd_world_remove_joint, [item.id])
        else:
            self._edit(lib.abd_world_remove_body, [item.id])
        self._log.append(("remove_joint" if isinstance(item, Joint) else "remove_body", item.id))

    def exclude(self, a: Body, b: Body) -> None:
        """The two bodies do not collide with each other."""
        self._pair(lib.abd_world_exclude_pair, "exclude", a, b)

    def include(self, a: Body, b: Body) -> None:
        """An excluded pair collides again."""
        self._pair(lib.abd_world_include_pair, "include", a, b)

    def set_pair_friction(self, a: Body, b: Body, friction: float) -> None:
        self._pair(lib.abd_world_set_pair_friction, "friction", a, b, number(friction, "friction"))

    def set_pair_restitution(self, a: Body, b: Body, restitution: float) -> None:
        self._pair(lib.abd_world_set_pair_restitution, "restitution", a, b, number(restitution, "restitution"))

    def _pair(self, function: Any, what: str, a: Body, b: Body, *value: float) -> None:
        self._edit(function, [a.id], [b.id], *value)
        self._log.append((what, a.id, b.id, *value))

    def collides(self, a: Body, b: Body) -> bool:
        """Whether two bodies may collide."""
        return bool(lib.abd_world_pair_collides(self._open(), [a.id], [b.id]))

    @property
    def excluded_pairs(self) -> np.ndarray:
        """(n, 2) ids of pairs that an exclusion or a joint keeps from colliding."""
        world = self._open()
        pairs = np.zeros((lib.abd_world_excluded_pairs(world, ffi.NULL, 0), 2), np.uint32)
        lib.abd_world_excluded_pairs(world, ffi.cast("AbdBodyId(*)[2]", pairs.ctypes.data), len(pairs))
        return pairs

    @contextmanager
    def change(self) -> Iterator[World]:
        """Several changes as one, checked at its end: ``with world.change(): ...``. If it fails, nothing of it remains."""
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
        return lib.abd_world_body_count(self._open())

    @property
    def joint_count(self) -> int:
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
        return self.step(steps_of(number(seconds, "seconds"), self.dt))

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

        A rest position X of a body's mesh is at p + A X; p is the centre of mass. Reading costs nothing: it is always the
        same array, which each step updates. Copy it to keep it. When bodies come or go, it is another array.
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
        self._check(lib.glue_readings(self._open(), pointer), lambda: "joints cannot be read")
        return array

    def set_targets(self, targets: Any, joints: Sequence[Joint] | np.ndarray | None = None) -> None:
        """New targets of the drives of all joints, or of some (Joints or ids), from an array. Their gains stay."""
        array = np.ascontiguousarray(targets, dtype=np.float64)
        if joints is None:
            ids = self.joint_ids
        else:
            ids = np.array([getattr(joint, "id", joint) for joint in joints], dtype=np.uint32)
        if array.shape != ids.shape:
            raise ArgumentError(f"targets: expected an array of shape {ids.shape}, got {array.shape}")
        self._open()
        if lib.glue_set_targets(self._glue, uints(ids), len(ids), doubles(array)) != OK:
            fail(self._glue.error)

    @property
    def contact_loads(self) -> np.ndarray:
        """What contacts did to each body in the last step: records of contacts, normal, friction [N], torque [N m]."""
        array, pointer = records("AbdContactLoad", self.body_count)
        self._check(lib.glue_loads(self._open(), pointer), lambda: "the world has not started")
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
            {name: names[value] if name == "kind" else value for name, value in zip(array.dtype.names, row)}
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
        return ffi.new("AbdQueryFilter *", {"ignore": {"id": ignore.id if ignore else 0}, "sensors": sensors})

    def _started(self) -> str:
        return "the world has not started"

    def nearest(
        self, point: Any, max_distance: float = np.inf, *, ignore: Body | None = None, sensors: bool = False
    ) -> dict[str, Any]:
        """The nearest point of any surface: distance (infinity if nothing was found), body_a, point_a, triangle_a."""
        found = ffi.new("AbdNearest *")
        world = self._open()
        status = lib.abd_world_nearest(
            world, vector(point, 3, "point"), number(max_distance, "max_distance"), self._filter(ignore, sensors), found
        )
        self._check(status, self._started)
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
        self._check(lib.abd_world_cast(self._open(), cast, self._filter(ignore, sensors), hit), self._cast_failed)
        return as_dict(hit[0]) if hit.body.id else None

    def _cast_failed(self) -> str:
        return "cast: expected finite numbers, a direction that is not 0, a radius >= 0, and a world that has started"

    def _bodies_of(self, function: Any, subject: Any, filter: Any) -> list[Body]:
        world, count = self._open(), ffi.new("size_t *")
        self._check(function(world, subject, filter, ffi.NULL, 0, count), self._started)
        ids = ffi.new("AbdBodyId[]", count[0])
        self._check(function(world, subject, filter, ids, count[0], count), self._started)
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

    # ---- Snapshots ----

    def snapshot(self) -> Snapshot:
        """The state as bytes. A world that restores them continues with the same bits."""
        world = self._open()
        if lib.abd_world_snapshot_size(world) == 0:
            self.start()
        data = bytearray(lib.abd_world_snapshot_size(world))
        self._check(lib.abd_world_save(world, ffi.from_buffer(data), len(data)), lambda: "a snapshot failed")
        return _snapshot(data, lib.abd_world_step_count(world), list(self._log))

    def restore(self, snapshot: bytes) -> None:
        """Goes back to a snapshot of this world, of a copy of it, or of a world that was made in the same way."""
        try:
            self._do(lib.abd_world_restore, ffi.from_buffer(snapshot), len(snapshot))
        except StateError:
            if not isinstance(snapshot, Snapshot) or self._in_change:
                raise
            self._rebuild(snapshot)  # bodies or joints of the snapshot are gone
        self._refresh()

    def _rebuild(self, snapshot: Snapshot) -> None:
        log = self._log if snapshot._log is None else snapshot._log
        other = _rebuild(self._scene, self._settings, self._threads, log, bytes(snapshot), snapshot.step)
        self._owned, self._glue.world = other._owned, other._owned
        self._log, self._meshes, self._frames = other._log, other._meshes, None

    @property
    def hash(self) -> int:
        """Of poses and velocities: equal for equal states; 0 before the start."""
        return lib.abd_world_hash(self._open())

    def copy(self) -> World:
        """Another world in the same state, which continues with the same bits."""
        return _rebuild(*self._parts())

    def __copy__(self) -> World:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> World:
        return self.copy()

    def _parts(self) -> tuple:
        world = self._open()
        if self._in_change:
            raise StateError("a change of the world is open: it is copied after its end", "state")
        started = lib.abd_world_snapshot_size(world) > 0
        log = [entry for entry in self._log]
        snapshot = bytes(self.snapshot()) if started else None
        return self._scene, self._settings, self._threads, log, snapshot, lib.abd_world_step_count(world)

    def __reduce__(self) -> tuple:
        return _rebuild, self._parts()

    def _replay(self, entry: tuple) -> None:
        what, *rest = entry
        if what == "at":
            self.restore(rest[0])
        elif what == "mesh":
            self.add_mesh(rest[0])
        elif what == "body":
            self.add_body(rest[0], **rest[1])
        elif what == "soft":
            self.add_soft(rest[0], **rest[1])
        elif what == "joint":
            self._add_joint(*rest)
        elif what == "attach":
            SoftBody(self, rest[0]).attach(rest[1], Body(self, rest[2]) if rest[2] else None)
        elif what == "script":
            SoftBody(self, rest[0]).script(rest[1])
        elif what in ("remove_body", "remove_joint"):
            self.remove((Body if what == "remove_body" else Joint)(self, rest[0]))
        elif what == "begin":
            self._do(lib.abd_world_begin_change)
            self._in_change = True
        elif what == "end":
            self._do(lib.abd_world_end_change)
            self._in_change = False
        else:
            function = getattr(lib, _PAIR[what])
            self._do(function, [rest[0]], [rest[1]], *rest[2:])


_PAIR = {
    "exclude": "abd_world_exclude_pair",
    "include": "abd_world_include_pair",
    "friction": "abd_world_set_pair_friction",
    "restitution": "abd_world_set_pair_restitution",
}


def _rebuild(
    scene: Scene | None, settings: dict, threads: int, log: list, snapshot: bytes | None, step: int
) -> World:
    """A world as it was made: scene or settings, all changes each at its state, then the snapshot of a step."""
    world = World.__new__(World)
    first = next((entry[2] for entry in log if entry[0] == "at"), step)
    world._init(scene, settings, threads, first)
    for entry in log:
        world._replay(entry)
    world._log = list(log)
    if snapshot is not None:
        world.restore(snapshot)
    return world


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


class Scene:
    """A scene file, a robot or mesh files, read, checked and resolved. ``build`` makes worlds of it."""

    def __init__(self, c: Any) -> None:
        self._c = ffi.gc(c, lib.abd_scene_destroy)

    @staticmethod
    def load(
        path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
        *,
        set: dict[str, Any] | None = None,
        scale: float = 0.0,
        mesh_dir: str | os.PathLike[str] | None = None,
        geometry: str | None = None,
        base: str | None = None,
        keyframe: str | None = None,
        hold: bool = False,
    ) -> Scene:
        """See ``abd.load``."""
        paths = [path] if isinstance(path, (str, os.PathLike)) else list(path)
        definition, keep = _scene_def(set, scale, mesh_dir, geometry, base, keyframe, hold)
        names = [ffi.new("char[]", os.fspath(name).encode()) for name in paths]
        error = new_error()
        c = lib.abd_scene_load(ffi.new("char *[]", names), len(names), definition, error)
        del keep
        if c == ffi.NULL:
            fail(error)
        return Scene(c)

    @staticmethod
    def parse(text: str | bytes | dict, name: str = "scene", **options: Any) -> Scene:
        """A scene as text in the format of scene files, or as a dictionary. The folder of ``name`` is used for meshes."""
        import json

        if isinstance(text, dict):
            text = json.dumps(text)
        data = text.encode() if isinstance(text, str) else text
        definition, keep = _scene_def(
            *[options.pop(k, d) for k, d in (("set", None), ("scale", 0.0), ("mesh_dir", None), ("geometry", None),
                                             ("base", None), ("keyframe", None), ("hold", False))]
        )
        if options:
            raise ArgumentError(f"unknown option {next(iter(options))!r} of a scene")
        error = new_error()
        c = lib.abd_scene_parse(data, len(data), name.encode(), definition, error)
        del keep
        if c == ffi.NULL:
            fail(error)
        return Scene(c)

    @staticmethod
    def gallery(name: str, **keys: Any) -> Scene:
        """A scene that abd makes itself: ``Scene.gallery("card-house", levels=5)``; ``abd.gallery()`` lists the names."""
        error, length = new_error(), ffi.new("size_t *")
        words = [ffi.new("char[]", f"{key}={value}".encode()) for key, value in keys.items()]
        made = lib.abd_gallery_text(name.encode(), ffi.new("char *[]", words), len(words), length, error)
        if made == ffi.NULL:
            fail(error)
        try:
            return Scene.parse(ffi.buffer(made, length[0])[:], name)
        finally:
            lib.abd_text_free(made)

    def build(self, threads: int = 0) -> World:
        """A new world."""
        world = World.__new__(World)
        world._init(self, {}, threads)
        return world

    @property
    def name(self) -> str:
        return text(lib.abd_scene_name(self._c))

    @property
    def dt(self) -> float:
        return lib.abd_scene_dt(self._c)

    @property
    def steps(self) -> int:
        """As the file says."""
        return lib.abd_scene_steps(self._c)

    @property
    def body_count(self) -> int:
        return lib.abd_scene_body_count(self._c)

    @property
    def notes(self) -> list[str]:
        """Remarks that are no errors: keys without effect, triangles dropped, overlapping links of a robot."""
        return [text(lib.abd_scene_note(self._c, k)) for k in range(lib.abd_scene_note_count(self._c))]

    @property
    def text(self) -> str:
        """The scene as self-contained text: every setting resolved, geometry packed into it."""
        written = lib.abd_scene_text(self._c, ffi.NULL)
        if written == ffi.NULL:
            raise MemoryError("out of memory for the scene's text")
        return ffi.string(written).decode()

    def __reduce__(self) -> tuple:
        return Scene.parse, (self.text, self.name)

    def __repr__(self) -> str:
        return f"<abd.Scene {self.name!r}: {self.body_count} bodies, {self.steps} steps of {self.dt:g} s>"


def _scene_def(
    set: dict[str, Any] | None,
    scale: float,
    mesh_dir: Any,
    geometry: str | None,
    base: str | None,
    keyframe: str | None,
    hold: bool,
) -> tuple[Any, list]:
    import json

    definition = ffi.new("AbdSceneDef *", lib.abd_default_scene_def())
    words = []
    for key, value in (set or {}).items():
        value = value.tolist() if hasattr(value, "tolist") else value
        words.append(ffi.new("char[]", f"{key}={value if isinstance(value, str) else json.dumps(value)}".encode()))
    fields = Fields(definition, "scene", hidden=("set", "set_count"))
    fields.set(
        mesh_dir=os.fspath(mesh_dir) if mesh_dir is not None else None,
        mesh_scale=scale,
        geometry=geometry,
        base=base,
        keyframe=keyframe,
        hold=hold,
    )
    keep = [*fields.keep, *words, ffi.new("char *[]", words)]
    definition.set, definition.set_count = keep[-1], len(words)
    return definition, keep


def load(
    path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    threads: int = 0,
    set: dict[str, Any] | None = None,
    scale: float = 0.0,
    mesh_dir: str | os.PathLike[str] | None = None,
    geometry: str | None = None,
    base: str | None = None,
    keyframe: str | None = None,
    hold: bool = False,
) -> World:
    """A World of a file: a scene (.json), a robot (.urdf, .xml of MJCF), or one or more meshes dropped on a ground.

    ``set`` changes settings by their names in scene files: ``{"contact.friction": 0.5}``. ``scale`` is for meshes given
    alone: 0.001 for millimetres. Of robots: ``geometry`` "collision" or "visual", ``base`` "fixed" or "free",
    ``keyframe`` where they start, ``hold``: servos hold the joints without a drive. ``world.scene.notes`` has remarks.
    """
    scene = Scene.load(
        path, set=set, scale=scale, mesh_dir=mesh_dir, geometry=geometry, base=base, keyframe=keyframe, hold=hold
    )
    return scene.build(threads)


def gallery() -> list[str]:
    """Names of the scenes that abd makes itself, for ``Scene.gallery``."""
    names, table = [], lib.abd_gallery_names()
    while table[len(names)] != ffi.NULL:
        names.append(text(table[len(names)]))
    return names
