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


def scene_of(scene: Scene | None, settings: dict[str, Any], log: list[tuple]) -> Scene:
    """The scene with all that was added to it before the first step."""
    from abd.scene import Scene

    log = log[: next((k for k, entry in enumerate(log) if entry[0] == "at"), len(log))]
    if scene and not log:
        return scene
    top = json.loads(scene.text) if scene else {"version": 1, "name": "world", **_settings(settings)}
    writer = _Writer(top)
    for what, *rest in log:
        if what in writer.KINDS:
            getattr(writer, what)(*rest)
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
    KINDS = ("body", "soft", "joint", "attach", "script", "exclude", "friction", "restitution")

    def __init__(self, top: dict[str, Any]) -> None:
        self.top = top
        self.meshes: dict[int, str] = {}
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
        entry = {"mesh": self.mesh(mesh, tets), **more}
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
        entry: dict[str, Any] = {"type": kind}
        given = {key: value for key, value in given.items() if value is not None}
        drive = given.pop("drive", None)
        if "body_a" in given:
            entry["bodies"] = [given.pop(key) - 1 for key in ("body_a", "body_b") if key in given]
        if "joint_a" in given:
            entry["joints"] = [given.pop("joint_a") - 1, given.pop("joint_b") - 1]
        names = {"limit": "limits", "angle_limit": "angle_limits"}
        entry.update({names.get(key, key): _plain(value) for key, value in given.items() if _plain(value) is not None})
        self.top["joints"].append(entry)
        if drive and drive.get("kind", "none") != "none":
            self.drive(len(self.top["joints"]) - 1, drive)

    def drive(self, joint: int, drive: dict[str, Any]) -> None:
        entry = {"joint": joint, "type": _DRIVE[drive["kind"]], "value": _plain(drive.get("target", 0.0))}
        if math.isfinite(drive.get("max_effort", math.inf)):
            entry["max"] = drive["max_effort"]
        if drive["kind"] == "position":
            entry.update(stiffness=drive.get("stiffness", 0.0), damping=drive.get("damping", 0.0))
        self.top["drives"].append(entry)

    def exclude(self, a: int, b: int) -> None:
        self.top["exclude"].append([a - 1, b - 1])

    def friction(self, a: int, b: int, value: float) -> None:
        self.top["pair_friction"].append({"bodies": [a - 1, b - 1], "friction": value})

    def restitution(self, a: int, b: int, value: float) -> None:
        self.top["pair_friction"].append({"bodies": [a - 1, b - 1], "restitution": value})
