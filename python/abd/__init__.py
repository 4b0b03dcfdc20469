"""abd: affine body dynamics. Stiff bodies simulated on their triangle meshes; no two surfaces ever cross.

    import abd
    world = abd.load("scene.json")          # or a robot (.urdf, .xml), or mesh files
    world.step(100)
    world.poses                             # (n, 3, 4), updated by every step

docs/python.md is the tutorial and the reference.
"""

from abd._core import (
    ArgumentError,
    CrossingError,
    Error,
    FileError,
    Interrupted,
    MeshError,
    SceneError,
    StateError,
    lib as _lib,
    text as _text,
)
from abd.mesh import Mesh, box, cylinder, ground, shape, sphere, torus
from abd.world import Body, Joint, MeshView, Report, Scene, Snapshot, SoftBody, World, gallery, load

__version__ = _text(_lib.abd_version())

__all__ = [
    "ArgumentError", "Body", "CrossingError", "Error", "FileError", "Interrupted", "Joint", "Mesh", "MeshError",
    "MeshView", "Report", "Scene", "SceneError", "Snapshot", "SoftBody", "StateError", "World", "box", "cylinder",
    "gallery", "ground", "load", "shape", "sphere", "torus",
]  # fmt: skip
