"""Meshes: from arrays, files, trimesh and meshio objects, and built-in shapes."""

from __future__ import annotations

import base64
import json
import os
from typing import Any, Union

import numpy as np

from abd._core import ArgumentError, SceneError, fail, ffi, indices, lib, new_error, points

MeshLike = Union["Mesh", str, "os.PathLike[str]", tuple, Any]
"""A Mesh, the name of a file, (vertices, triangles), or an object of trimesh or meshio."""


class Mesh:
    """A surface, wires, points or tetrahedra, in metres.

    ``vertices`` is an (n, 3) array. ``triangles`` (m, 3), ``edges`` (k, 2) and ``tets`` (l, 4) count vertices from 0.
    A closed surface, triangles counter-clockwise seen from outside, is a solid; an open one has the mass of its
    ``thickness`` [m], and with 0 the density counts as kg/m^2. With ``half_space`` everything behind the first
    triangle's plane is solid: a ground.
    """

    def __init__(
        self,
        vertices: Any,
        triangles: Any = (),
        edges: Any = (),
        tets: Any = (),
        *,
        name: str = "",
        thickness: float = 0.0,
        half_space: bool = False,
    ) -> None:
        self.name = str(name)
        what = f"mesh {self.name!r}" if name else "mesh"
        self.vertices = points(vertices, f"{what}: vertices")
        count = len(self.vertices)
        self.triangles = indices(triangles, 3, count, f"{what}: triangles")
        self.edges = indices(edges, 2, count, f"{what}: edges")
        self.tets = indices(tets, 4, count, f"{what}: tets")
        self.thickness = float(thickness)
        self.half_space = bool(half_space)

    def __repr__(self) -> str:
        parts = [f"{len(self.vertices)} vertices", f"{len(self.triangles)} triangles"]
        parts += [f"{len(self.edges)} edges"] * bool(len(self.edges)) + [f"{len(self.tets)} tets"] * bool(
            len(self.tets)
        )
        return f"<abd.Mesh {self.name!r}: {', '.join(parts)}>"

    @staticmethod
    def read(path: str | os.PathLike[str], scale: float = 1.0, weld: float | None = None) -> Mesh:
        """A mesh file, by its ending: .stl, .obj, .ply, .off; .msh, .vtk, .mesh with tets; more in builds with assimp.

        ``scale`` 0.001 is for files in millimetres. ``weld`` merges vertices that are at most so far apart.
        """
        if not os.path.isfile(path):
            raise SceneError(f"{os.fspath(path)}: no such file", "scene")
        keys: dict[str, Any] = {"mesh": os.path.abspath(path), "scale": float(scale)}
        if weld is not None:
            keys["weld"] = float(weld)
        if os.fspath(path).lower().endswith((".msh", ".vtk", ".mesh")):
            keys["soft"] = {}
        return _from_scene(keys, os.fspath(path))

    @staticmethod
    def of(source: MeshLike) -> Mesh:
        """A Mesh of whatever describes one: see MeshLike."""
        if isinstance(source, Mesh):
            return source
        if isinstance(source, (str, os.PathLike)):
            return Mesh.read(source)
        if isinstance(source, tuple) and len(source) in (2, 3, 4):
            return Mesh(*source)
        if hasattr(source, "vertices") and hasattr(source, "faces"):  # trimesh.Trimesh
            return Mesh(np.asarray(source.vertices), np.asarray(source.faces), name=_file_name(source))
        if hasattr(source, "points") and hasattr(source, "cells_dict"):  # meshio.Mesh
            cells = source.cells_dict
            flat = np.asarray(source.points)
            flat = np.column_stack([flat, np.zeros(len(flat))]) if flat.shape[1] == 2 else flat
            return Mesh(flat, cells.get("triangle", ()), cells.get("line", ()), cells.get("tetra", ()))
        if hasattr(source, "geometry") and (hasattr(source, "to_mesh") or hasattr(source, "dump")):  # trimesh.Scene
            whole: Any = source
            return Mesh.of(whole.to_mesh() if hasattr(whole, "to_mesh") else whole.dump(concatenate=True))
        raise ArgumentError(
            "expected an abd.Mesh, a file name, (vertices, triangles), or a mesh of trimesh or meshio, "
            f"got {type(source).__name__}"
        )


def _file_name(source: Any) -> str:
    metadata = getattr(source, "metadata", None) or {}
    return str(metadata.get("file_name") or "")


def _unpack(packed: dict[str, Any], key: str, kind: str, width: int) -> np.ndarray:
    data = packed.get(key)
    return np.frombuffer(base64.b64decode(data), kind).reshape(-1, width) if data else np.zeros((0, width), kind)


def _from_scene(keys: dict[str, Any], name: str) -> Mesh:
    """The geometry of one body of a scene file, as the scene's reader has it."""
    error = new_error()
    text = json.dumps({"version": 1, "bodies": [keys]}).encode()
    scene = lib.abd_scene_parse(text, len(text), name.encode(), ffi.NULL, error)
    if scene == ffi.NULL:
        fail(error)
    try:
        written = json.loads(ffi.string(lib.abd_scene_text(scene, ffi.NULL)))
    finally:
        lib.abd_scene_destroy(scene)
    (entry,) = written["meshes"].values()
    packed = entry["packed"]
    return Mesh(
        _unpack(packed, "vertices", "<f8", 3),
        _unpack(packed, "triangles", "<u4", 3),
        _unpack(packed, "edges", "<u4", 2),
        _unpack(packed, "tets", "<u4", 4),
        name=packed.get("name", ""),
        thickness=entry.get("thickness", 0.0),
        half_space=packed.get("half_space", False),
    )


def shape(name: str, *, soft: bool = False, **keys: Any) -> Mesh:
    """A built-in shape by its name and keys in scene files: ``shape("torus", radius=0.3, tube=0.08)``.

    With ``soft`` it is a shape for soft bodies: ``shape("box", soft=True, cells=4)`` consists of tets.
    """
    keys = {key: value.tolist() if isinstance(value, np.ndarray) else value for key, value in keys.items()}
    return _from_scene({"shape": name, **keys, **({"soft": {}} if soft else {})}, "shape")


def box(size: Any = (1, 1, 1)) -> Mesh:
    """A box; ``size`` [m] along x, y, z."""
    return shape("box", size=size)


def sphere(radius: float = 0.5, subdivisions: int = 3) -> Mesh:
    """A ball of triangles."""
    return shape("sphere", radius=radius, subdivisions=subdivisions)


def cylinder(radius: float = 0.5, height: float = 1.0, segments: int = 32) -> Mesh:
    """A cylinder along z."""
    return shape("cylinder", radius=radius, height=height, segments=segments)


def torus(radius: float = 0.5, tube: float = 0.1, segments: int = 32, sides: int = 16) -> Mesh:
    """A ring around z."""
    return shape("torus", radius=radius, tube=tube, segments=segments, sides=sides)


def ground(normal: Any = (0, 0, 1), size: float = 10.0) -> Mesh:
    """A half-space: everything behind the plane through a body's position is solid. For static bodies."""
    return shape("ground", normal=normal, size=size)
