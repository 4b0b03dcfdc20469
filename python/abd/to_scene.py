"""A world that was made in Python as a scene, so that run files of it can be resumed and the command can read them."""

from __future__ import annotations

import base64
import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from abd._core import FIXED
from abd.mesh import Mesh

if TYPE_CHECKING:
    from abd.scene import Scene

_SOFT = ("young", "poisson", "model", "thickness", "bending", "damping", "self_contact")
_DRIVE = {"effort": "torque", "speed": "speed", "position": "position"}


def scene_of(
    scene: Scene | None,
    settings: dict[str, Any],
    log: list[tuple],
    drives: dict[int, dict[str, Any]],
) -> Scene:
    """The scene with all that was added to it and removed from it before the first step.

    ``drives`` of joints, by their ids, replace those that were given with the joints.
    """
    from abd.scene import Scene

    log = log[: next((k for k, entry in enumerate(log) if entry[0] == "at"), len(log))]
    if scene and not log and not drives:
        return scene
    top = json.loads(scene.text) if scene else {"version": 1, "name": "world", **_settings(settings)}
    writer = _Writer(top)
    for what, *rest in log:
        if what in writer.KINDS:
            getattr(writer, what)(*rest)
    for joint, drive in drives.items():
        writer.set_drive(joint - 1, drive)
    writer.drop_removed()
    return Scene.parse(top, scene.name if scene else "world")


def _settings(settings: dict[str, Any]) -> dict[str, Any]:
    solver = {key: value for key, value in settings["solver"].items() if key != "threads"}
    return {**settings, "solver": solver}


def _plain(value: Any) -> Any:
    """Arrays as lists; infinity, which JSON does not have, as null."""
    if isinstance(value, (np.ndarray, np.generic)):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


class _Writer:
    KINDS = (
        "body", "soft", "joint", "attach", "script", "exclude", "include", "friction", "restitution", "remove_body",
        "remove_joint",
    )  # fmt: skip

    def __init__(self, top: dict[str, Any]) -> None:
        self.top = top
        self.meshes: dict[int, str] = {}
        self.removed: dict[str, set[int]] = {"bodies": set(), "joints": set()}  # indices
        for key in ("meshes", "bodies", "joints", "drives", "exclude", "pair_friction"):
            top.setdefault(key, {} if key == "meshes" else [])

    def mesh(self, mesh: Mesh, tets: bool) -> str:
        key = id(mesh)
        if key not in self.meshes:
            self.meshes[key] = f"mesh {len(self.top['meshes']) + 1}"
            parts = [("vertices", mesh.vertices, "<f8"), ("triangles", mesh.triangles, "<u4")]
            parts += [("edges", mesh.edges, "<u4")] + [("tets", mesh.tets, "<u4")] * (tets and len(mesh.tets) > 0)
            packed: dict[str, Any] = {k: base64.b64encode(a.astype(t).tobytes()).decode() for k, a, t in parts}
            packed["name"] = mesh.name or "mesh"
            if mesh.half_space:
                packed["half_space"] = True
            entry = {"packed": packed, **({"thickness": mesh.thickness} if mesh.thickness else {})}
            self.top["meshes"][self.meshes[key]] = entry
        return self.meshes[key]

    def body(self, mesh: Mesh, given: dict[str, Any]) -> None:
        self.add(mesh, given, {}, False)

    def soft(self, mesh: Mesh, given: dict[str, Any]) -> None:
        soft = {key: _plain(value) for key, value in given.items() if key in _SOFT and value is not None}
        self.add(mesh, {key: value for key, value in given.items() if key not in _SOFT}, {"soft": soft}, True)

    def add(self, mesh: Mesh, given: dict[str, Any], more: dict[str, Any], tets: bool) -> None:
        entry = {"name": f"body {len(self.top['bodies']) + 1}", "mesh": self.mesh(mesh, tets), **more}
        for key, value in given.items():
            if value is None:
                continue
            if key == "rotation":
                entry["quaternion"] = _plain(value)
            elif key == "no_contact":
                entry["collide"] = not value
            elif key == "fixed":
                entry["fixed"] = [name for k, name in enumerate(FIXED) if value >> k & 1]
            elif not (key in ("friction", "restitution") and value < 0) and not (key == "group" and value < 0):
                entry[key] = _plain(value)
        self.top["bodies"].append(entry)

    def attach(self, soft: int, vertex: int, body: int) -> None:
        entry = {"body": body - 1 if body else None, "vertices": [vertex]}
        self.top["bodies"][soft - 1].setdefault("attach", []).append(entry)

    def script(self, soft: int, vertex: int) -> None:
        self.top["bodies"][soft - 1].setdefault("scripted", []).append({"vertices": [vertex]})

    def joint(self, kind: str, given: dict[str, Any]) -> None:
        entry: dict[str, Any] = {"name": f"joint {len(self.top['joints']) + 1}", "type": kind}
        given = {key: value for key, value in given.items() if value is not None}
        drive = given.pop("drive", None)
        if "body_a" in given:
            entry["bodies"] = [given.pop(key) - 1 for key in ("body_a", "body_b") if key in given]
            given.setdefault("point", (0, 0, 0))  # a scene has no default
        if "joint_a" in given:
            entry["joints"] = [given.pop("joint_a") - 1, given.pop("joint_b") - 1]
        names = {"limit": "limits", "angle_limit": "angle_limits"}
        entry.update({names.get(key, key): _plain(value) for key, value in given.items() if _plain(value) is not None})
        self.top["joints"].append(entry)
        if drive and drive.get("kind", "none") != "none":
            self.drive(len(self.top["joints"]) - 1, drive)

    def drive(self, joint: int, drive: dict[str, Any]) -> None:
        most, target = drive.get("max_effort", math.inf), float(drive.get("target", 0.0))
        if most == 0:
            return  # it has no effect, and a scene has no such drive
        entry: dict[str, Any] = {"joint": joint, "type": _DRIVE[drive["kind"]], "value": target}
        if drive["kind"] == "effort":
            entry["value"] = min(max(target, -most), most)
        elif math.isfinite(most):
            entry["max"] = most
        if drive["kind"] == "position":
            entry.update(stiffness=drive.get("stiffness", 0.0), damping=drive.get("damping", 0.0))
        self.top["drives"].append(entry)

    def set_drive(self, joint: int, drive: dict[str, Any]) -> None:
        """The only drive of a joint."""
        self.top["drives"] = [entry for entry in self.top["drives"] if entry["joint"] != joint]
        if drive["kind"] != "none":
            self.drive(joint, drive)

    def exclude(self, a: int, b: int) -> None:
        self.collide(a, b)
        self.top["exclude"].append([a - 1, b - 1])

    def include(self, a: int, b: int) -> None:
        self.collide(a, b)
        for joint in self.top["joints"]:
            if set(joint.get("bodies", ())) == {a - 1, b - 1}:
                joint["collide"] = True

    def collide(self, a: int, b: int) -> None:
        """Forgets whether the pair collides and its friction."""
        pair = {a - 1, b - 1}
        self.top["exclude"] = [entry for entry in self.top["exclude"] if set(entry) != pair]
        for entry in self.top["pair_friction"]:
            if set(entry["bodies"]) == pair:
                entry.pop("friction", None)
        self.top["pair_friction"] = [entry for entry in self.top["pair_friction"] if len(entry) > 1]

    def friction(self, a: int, b: int, value: float) -> None:
        self.include(a, b)
        self.top["pair_friction"].append({"bodies": [a - 1, b - 1], "friction": value})

    def restitution(self, a: int, b: int, value: float) -> None:
        self.top["pair_friction"].append({"bodies": [a - 1, b - 1], "restitution": value})

    def remove_body(self, id: int) -> None:
        self.removed["bodies"].add(id - 1)
        for k, joint in enumerate(self.top["joints"]):
            if id - 1 in joint.get("bodies", ()):
                self.remove_joint(k + 1)

    def remove_joint(self, id: int) -> None:
        """The pair of bodies that the joint kept from colliding stays excluded."""
        if id - 1 in self.removed["joints"]:
            return
        self.removed["joints"].add(id - 1)
        joint = self.top["joints"][id - 1]
        pair = joint.get("bodies", ())
        if len(pair) == 2 and not joint.get("collide"):
            self.exclude(pair[0] + 1, pair[1] + 1)
        for k, other in enumerate(self.top["joints"]):
            if id - 1 in other.get("joints", ()):
                self.remove_joint(k + 1)

    def drop_removed(self) -> None:
        """Leaves out what was removed and counts the rest anew."""
        if not any(self.removed.values()):
            return
        number = {}
        for key, gone in self.removed.items():
            kept = [k for k in range(len(self.top[key])) if k not in gone]
            number[key] = {old: new for new, old in enumerate(kept)}
            self.top[key] = [self.top[key][k] for k in kept]
        bodies, joints = number["bodies"], number["joints"]
        self.top["exclude"] = _renumbered(self.top["exclude"], bodies)
        self.top["pair_friction"] = [e for e in self.top["pair_friction"] if bodies.keys() >= set(e["bodies"])]
        self.top["drives"] = [e for e in self.top["drives"] if e["joint"] in joints]
        for entry in self.top["pair_friction"]:
            entry["bodies"] = [bodies[k] for k in entry["bodies"]]
        for entry in self.top["drives"]:
            entry["joint"] = joints[entry["joint"]]
        for joint in self.top["joints"]:
            for key, numbers in number.items():
                if key in joint:
                    joint[key] = [numbers[k] for k in joint[key]]
        for body in self.top["bodies"]:
            for entry in body.get("attach", ()):
                if entry.get("body") is not None:
                    entry["body"] = bodies[entry["body"]]


def _renumbered(pairs: list[list[int]], number: dict[int, int]) -> list[list[int]]:
    """The pairs of which both are kept, with their new numbers."""
    return [[number[a], number[b]] for a, b in pairs if a in number and b in number]
