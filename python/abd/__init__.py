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
)
from abd._core import (
    lib as _lib,
)
from abd._core import (
    text as _text,
)
from abd.batch import Batch, BatchError
from abd.body import Body, MeshView, SoftBody
from abd.history import Snapshot
from abd.joint import Joint
from abd.mesh import Mesh, box, cylinder, ground, shape, sphere, torus
from abd.report import Report
from abd.run import Frame, Recorder, Run, run
from abd.scene import Scene, gallery, load
from abd.sweep import MemberResult, Study, SweepResult, sweep
from abd.world import World

__version__ = _text(_lib.abd_version())

__all__ = [
    "ArgumentError", "Batch", "BatchError", "Body", "CrossingError", "Error", "FileError", "Frame", "Interrupted", "Joint", "MemberResult", "Mesh", "MeshError",
    "MeshView", "Recorder", "Report", "Run", "Scene", "SceneError", "Snapshot", "SoftBody", "StateError", "Study", "SweepResult", "World", "box", "cylinder",
    "gallery", "ground", "load", "run", "shape", "sphere", "sweep", "torus",
]  # fmt: skip
