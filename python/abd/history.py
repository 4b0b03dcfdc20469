"""How a world came to be: every change, in order, so that copies and pickles of a world continue with the same bits.

Changes between steps are replayed each at the state at which it was made, because joints are fixed to bodies as they
are then. Exclusions, friction and restitution of pairs after the first step are in the snapshot.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from abd._core import lib
from abd.body import Body, SoftBody
from abd.joint import Joint

if TYPE_CHECKING:
    from abd.scene import Scene
    from abd.world import World


class Snapshot(bytes):
    """Everything of a world that changes from step to step, as bytes; ``World.restore`` takes it."""

    step: int
    _log: list[tuple] | None = None  # how its bodies and joints came: the first _count entries of the world's log
    _count: int = 0

    def __reduce__(self) -> tuple:
        return snapshot_of, (bytes(self), self.step)


def snapshot_of(data: bytes, step: int, log: list[tuple] | None = None) -> Snapshot:
    snapshot = Snapshot(data)
    snapshot.step, snapshot._log, snapshot._count = step, log, len(log or ())
    return snapshot


def log_of(snapshot: Snapshot, log: list[tuple]) -> list[tuple]:
    """What had been done when the snapshot was taken; of one that was unpickled all of a world's log."""
    return log if snapshot._log is None else snapshot._log[: snapshot._count]


_PAIR = {
    "exclude": "abd_world_exclude_pair",
    "include": "abd_world_include_pair",
    "friction": "abd_world_set_pair_friction",
    "restitution": "abd_world_set_pair_restitution",
}


def rebuild(scene: Scene | None, settings: dict, threads: int, log: list, snapshot: bytes | None, step: int) -> World:
    """A world as it was made: scene or settings, all changes each at its state, then the snapshot of a step."""
    from abd.world import World

    world = World.__new__(World)
    first = next((entry[2] for entry in log if entry[0] == "at"), step)
    world._init(scene, settings, threads, first)
    for entry in log:
        _replay(world, entry)
    world._log = list(log)
    if snapshot is not None:
        world.restore(snapshot)
    return world


def _replay(world: World, entry: tuple) -> None:
    what, *rest = entry
    if what == "at":
        if rest[0] is not None:
            world.restore(rest[0])
    elif what == "mesh":
        world.add_mesh(rest[0])
    elif what == "body":
        world.add_body(rest[0], **rest[1])
    elif what == "soft":
        world.add_soft(rest[0], **rest[1])
    elif what == "joint":
        world._add_joint(*rest)
    elif what == "attach":
        SoftBody(world, rest[0]).attach(rest[1], Body(world, rest[2]) if rest[2] else None)
    elif what == "script":
        SoftBody(world, rest[0]).script(rest[1])
    elif what in ("remove_body", "remove_joint"):
        world.remove((Body if what == "remove_body" else Joint)(world, rest[0]))
    elif what == "begin":
        world._do(lib.abd_world_begin_change)
        world._in_change = True
    elif what == "end":
        world._do(lib.abd_world_end_change)
        world._in_change = False
    else:
        function = getattr(lib, _PAIR[what])
        world._do(function, [rest[0]], [rest[1]], *rest[2:])
