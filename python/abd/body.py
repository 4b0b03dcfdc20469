"""Bodies, soft bodies and their meshes in a world."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from abd._core import Error, Fields, as_dict, doubles, enum_name, ffi, lib, number, text, vector, view, whole

if TYPE_CHECKING:
    from abd.world import World


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
        if self.is_soft:
            return f"body {self.id} is soft: it has vertices instead of a pose"
        return f"body {self.id} does not exist: it was removed, or the change that adds it is open"

    def _state(self) -> Any:
        state = ffi.new("AbdBodyState *")
        self.world._check(lib.abd_body_state(self.world._open(), [self.id], state), self._missing)
        return state

    def _vector(self, name: str) -> np.ndarray:
        state = self._state()  # an array of a structure is valid only while the structure is referred to
        return np.array(list(getattr(state, name)))

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
        return self._vector("position")

    @property
    def rotation(self) -> np.ndarray:
        """Quaternion w, x, y, z about that origin."""
        return self._vector("rotation")

    @property
    def center(self) -> np.ndarray:
        """[m] centre of mass."""
        return self.pose[:, 0].copy()

    @property
    def velocity(self) -> np.ndarray:
        """[m/s] of the centre of mass."""
        return self._vector("velocity")

    @property
    def angular_velocity(self) -> np.ndarray:
        """[rad/s] along the world's axes."""
        return self._vector("angular_velocity")

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

    def set_friction(self, friction: float) -> None:
        """The body's friction coefficient from the next step on; below 0 it is the world's."""
        self.world._do(lib.abd_body_set_friction, [self.id], number(friction, "friction"))

    def set_gravity_scale(self, scale: float) -> None:
        """The factor on the world's gravity from the next step on; 0 = the body floats."""
        self.world._do(lib.abd_body_set_gravity_scale, [self.id], number(scale, "scale"))

    def set_drag(self, drag: float, angular_drag: float = 0.0) -> None:
        """[1/s] rates at which momentum and angular momentum decay from the next step on."""
        self.world._do(lib.abd_body_set_drag, [self.id], number(drag, "drag"), number(angular_drag, "angular_drag"))

    def set_surface_velocity(self, velocity: Any, angular_velocity: Any = (0, 0, 0)) -> None:
        """Velocity [m/s] and angular velocity [rad/s] of the surface against the body, along the axes of its mesh: a
        conveyor belt, a turntable. From the next step on."""
        self.world._do(
            lib.abd_body_set_surface_velocity,
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
        body = self._view()
        return MeshView(self.world, body.mesh.id)

    @property
    def vertices(self) -> np.ndarray:
        """(n, 3) present positions of the mesh's vertices in the world."""
        pose = self.pose
        return self.mesh.vertices @ pose[:, 1:].T + pose[:, 0]

    # ---- Questions ----

    @property
    def contact_load(self) -> dict[str, Any]:
        """What contacts did to the body in the last step: contacts, normal and friction [N], torque [N m]."""
        return self._load(self._missing, lib.abd_body_contact_load)

    def contact_load_from(self, other: Body) -> dict[str, Any]:
        """The same of the contacts with one other body."""
        id = self.world._own(other, Body)
        return self._load(
            lambda: f"body {self.id} or {id} does not exist: it was removed", lib.abd_pair_contact_load, [id]
        )

    def _load(self, missing: Callable[[], str], function: Any, *arguments: Any) -> dict[str, Any]:
        load = ffi.new("AbdContactLoad *")
        self.world._check(function(self.world._open(), [self.id], *arguments, load), missing)
        return {key: np.array(value) if isinstance(value, list) else value for key, value in as_dict(load[0]).items()}

    def distance(self, other: Body) -> dict[str, Any]:
        """Nearest points of two bodies: distance, point_a, point_b, triangle_a, triangle_b."""
        nearest = ffi.new("AbdNearest *")
        self.world._do(lib.abd_world_distance, [self.id], [self.world._own(other, Body)], nearest)
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
        """Fixes vertices to a body or the world. Before the first step, or in the change that adds the soft body."""
        to = self.world._own(body, Body) if body else 0
        for vertex in np.atleast_1d(vertices).tolist():
            self.world._edit(lib.abd_soft_attach, [self.id], whole(vertex, "vertex"), [to])
            self.world._log.append(("attach", self.id, int(vertex), to))

    def script(self, vertices: Any) -> None:
        """Vertices that ``set_vertex_target`` and ``set_vertex_velocity`` move. Before the first step."""
        for vertex in np.atleast_1d(vertices).tolist():
            self.world._edit(lib.abd_soft_script, [self.id], whole(vertex, "vertex"))
            self.world._log.append(("script", self.id, int(vertex)))

    def set_vertex_force(self, vertex: int, force: Any) -> None:
        """[N] on one vertex until set again."""
        self.world._do(lib.abd_soft_set_force, [self.id], whole(vertex, "vertex"), vector(force, 3, "force"))

    def set_vertex_target(self, vertex: int, position: Any) -> None:
        """A scripted vertex: its position after the next step."""
        self.world._do(lib.abd_soft_set_target, [self.id], whole(vertex, "vertex"), vector(position, 3, "position"))

    def set_vertex_velocity(self, vertex: int, velocity: Any) -> None:
        """A scripted vertex: its velocity from now on."""
        self.world._do(lib.abd_soft_set_velocity, [self.id], whole(vertex, "vertex"), vector(velocity, 3, "velocity"))


class MeshView:
    """A mesh as the solver has it, in rest coordinates: centre of mass at the origin, principal axes along x, y, z.

    ``file coordinates = origin + axes @ rest``. The arrays are views of the world's memory and keep it alive.
    ``volume`` [m^3] times density is the mass; ``source`` says what it is: "enclosed" by a clean closed surface,
    "covered" if holes, flipped or repeated triangles were corrected, "sampled" if shells overlap, "sheet" of an open
    surface, wires or points: then it is the area times ``thickness``, with 0 as 1 m.
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
        self.source = ("sheet", "enclosed", "covered", "sampled")[v.source]
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
