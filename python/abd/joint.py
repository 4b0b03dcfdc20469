"""Joints and their drives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from abd._core import OK, ArgumentError, Error, Fields, as_dict, enum_name, fail, ffi, lib, text
from abd.options import DriveOptions

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from abd.body import Body
    from abd.world import World


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
        d = self._def()
        return d.limit[0], d.limit[1]

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
        if kind is None and not drive.kind:
            raise ArgumentError(f"{self!r} has no drive yet: set_drive needs a kind")
        Fields(drive, f"drive of {self!r}").set(kind=kind, target=target, **gains)
        glue = self.world._glue
        if lib.glue_set_drive(glue, [self.id], drive) != OK:
            fail(glue.error)

    def remove(self) -> None:
        """Removes the joint. A pair of bodies that it excluded from collision stays excluded."""
        self.world.remove(self)
