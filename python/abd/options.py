"""Keyword arguments of worlds, bodies, soft bodies, joints and drives, for type checkers and editors.

They are the fields of the C structures of the same meaning (include/abd/abd.h); python/tests compares them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Sequence, Union

if TYPE_CHECKING:
    from typing_extensions import TypedDict

    from abd.world import Joint
else:
    from typing import TypedDict

Vector = Union[Sequence[float], Any]
"""Three numbers, or four for a quaternion w, x, y, z: a list, a tuple or an array."""


class ContactOptions(TypedDict, total=False):
    """AbdContactDef."""

    range: float
    separation: float
    stiffness: float
    friction: float
    friction_speed: float
    friction_iterations: int
    restitution: float
    restitution_speed: float
    friction_anchors: bool


class SolverOptions(TypedDict, total=False):
    """AbdSolverDef."""

    max_iterations: int
    tolerance: float
    threads: int
    linear: str
    memory: float
    detection: str
    substeps: str
    device: str
    ranks: str
    ranks_linear: str


class BodyOptions(TypedDict, total=False):
    """AbdBodyDef."""

    name: str
    motion: str
    density: float
    mass: float
    stiffness: float
    elasticity: str
    position: Vector
    rotation: Vector
    velocity: Vector
    angular_velocity: Vector
    force: Vector
    torque: Vector
    fixed: Union[int, str, Sequence[str]]
    friction: float
    restitution: float
    contact_thickness: float
    group: int
    no_contact: bool
    center_of_mass: Vector
    inertia: Vector
    rolling_friction: float
    torsional_friction: float
    surface_velocity: Vector
    surface_angular_velocity: Vector
    gravity_scale: float
    sensor: bool
    drag: float
    angular_drag: float
    color: str  # "#rrggbb", for pictures


class SoftOptions(TypedDict, total=False):
    """AbdSoftDef."""

    name: str
    model: str
    density: float
    young: float
    poisson: float
    thickness: float
    bending: float
    damping: float
    position: Vector
    rotation: Vector
    velocity: Vector
    angular_velocity: Vector
    force: Vector
    friction: float
    contact_thickness: float
    group: int
    self_contact: bool
    gravity_scale: float
    drag: float
    color: str


class DriveOptions(TypedDict, total=False):
    """AbdDrive without kind and target."""

    max_effort: float
    stiffness: float
    damping: float


class JointOptions(TypedDict, total=False):
    """AbdJointDef."""

    name: str
    point: Vector
    point_b: Vector
    axis: Vector
    axis_b: Vector
    pitch: float
    length: float
    joint_a: Joint
    joint_b: Joint
    ratio: float
    free: bool
    limit: Vector
    angle_limit: Vector
    stiffness: float
    rest: float
    damping: float
    friction: float
    drive: dict[str, Any]
    collide: bool
    break_force: float
    break_torque: float
