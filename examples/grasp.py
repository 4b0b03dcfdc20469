"""A Robotiq 2F-85 picks up a bolt by its thread, lifts it by 20 cm and shakes it.

    python examples/grasp.py 2f85.xml                     # MuJoCo Menagerie's robotiq_2f85
    python examples/grasp.py 2f85.xml --record grasp.abd  # then: abd view grasp.abd

The gripper hangs on two rails, one vertical and one horizontal. Its fingers and the rails are drives, whose targets are
set before each step. The bolt collides as it is: 9,720 triangles, a thread of two starts. grasp_mujoco.py runs the same
script in MuJoCo; docs/robots-at-work.md compares the two.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from pathlib import Path

import numpy as np

HEIGHT = 0.177  # [m] of the gripper's flange at the start
DURATION = 3.6  # [s]
BOLT = dict(position=[0, -0.0165, 0.0111], degrees=-94.8, scale=0.2, density=7850, friction=0.7)  # it lies
RAIL = dict(stiffness=1e5, damping=2e3, max_effort=500)  # both rails: [N/m], [N s/m], [N]


def ramp(t: float, start: float, end: float) -> float:
    """0 before start, 1 after end, smooth in between."""
    x = min(max((t - start) / (end - start), 0.0), 1.0)
    return x * x * (3 - 2 * x)


def script(t: float) -> tuple[float, float, float]:
    """Targets at a time: the fingers from 0 (open) to 1 (closed), the height [m], the horizontal rail [m]."""
    swing = ramp(t, 1.3, 1.6) * (1 - ramp(t, 2.8, 3.1))
    return ramp(t, 0.05, 0.4), 0.2 * ramp(t, 0.6, 1.2), 0.03 * swing * math.sin(6 * math.pi * (t - 1.3))


def bolt_mesh() -> tuple[np.ndarray, np.ndarray]:
    """Vertices [m] and triangles of the bolt of the gallery's scene "screw", 52 mm long."""
    import abd

    packed = abd.Scene.gallery("screw").build().body("bolt").mesh
    return packed.file_vertices * BOLT["scale"], packed.triangles


def scene(robot: str, dt: float = 0.005, geometry: str = "collision") -> dict:
    """The scene of the grasp in the format of scene files."""
    vertices, triangles = bolt_mesh()
    rail = {key.replace("max_effort", "max"): value for key, value in RAIL.items()}
    return {
        "version": 1,
        "name": "grasp",
        "dt": dt,
        "duration": DURATION,
        "bodies": [
            {"name": "ground", "shape": "ground", "size": 0.5, "friction": BOLT["friction"]},
            {"name": "bolt", "vertices": vertices.tolist(), "triangles": triangles.tolist(), "color": "#c9a227",
             "position": BOLT["position"], "euler_degrees": [BOLT["degrees"], 0, 0], "density": BOLT["density"],
             "friction": BOLT["friction"]},
            {"name": "rail", "shape": "box", "size": [0.02, 0.2, 0.02], "position": [0, 0, HEIGHT + 0.25], "mass": 1,
             "collide": False, "color": "#888888"},
            {"name": "carriage", "shape": "box", "size": [0.06, 0.06, 0.02], "position": [0, 0, HEIGHT + 0.012],
             "mass": 1, "collide": False, "color": "#888888"},
        ],
        "include": {"mjcf": str(Path(robot).resolve()), "base": "free", "geometry": geometry,
                    "position": [0, 0, HEIGHT], "euler_degrees": [180, 0, 0]},
        "joints": [
            {"name": "shake", "type": "slider", "bodies": ["rail"], "point": [0, 0, HEIGHT + 0.25], "axis": [0, 1, 0]},
            {"name": "lift", "type": "slider", "bodies": ["carriage", "rail"], "point": [0, 0, HEIGHT],
             "axis": [0, 0, 1]},
            {"name": "flange", "type": "weld", "bodies": ["carriage", "base_mount"]},
        ],
        "drives": [{"joint": name, "type": "position", "value": 0, **rail} for name in ("shake", "lift")],
    }  # fmt: skip


class Slip:
    """How far the bolt moves and turns in the gripper, from the time at which it is held."""

    def __init__(self, held: float = 0.55) -> None:
        self.held, self.first, self.most, self.turn = held, None, 0.0, 0.0

    def add(self, t: float, base: np.ndarray, bolt: np.ndarray) -> None:
        """(3, 4) poses of the two bodies."""
        axes = base[:, 1:]
        at, turned = axes.T @ (bolt[:, 0] - base[:, 0]), axes.T @ bolt[:, 1:]
        if t < self.held:
            return
        if self.first is None:
            self.first = at, turned
        change = self.first[1].T @ turned
        sine = np.linalg.norm(change - change.T) / math.sqrt(8)
        self.most = max(self.most, float(np.linalg.norm(at - self.first[0])))
        self.turn = max(self.turn, math.degrees(math.atan2(sine, (np.trace(change) - 1) / 2)))


def run(robot: str, dt: float, geometry: str = "collision", record: str | None = None, threads: int = 1) -> dict:
    """Simulates the script; returns figures."""
    import abd

    world = abd.Scene.parse(json.dumps(scene(robot, dt, geometry)), "grasp").build(threads)
    drives = [world.joint(name) for name in ("split", "lift", "shake")]
    bolt, base = [list(world.body_ids).index(world.body(name).id) for name in ("bolt", "base")]
    slip, gap, force, failed, spent = Slip(), math.inf, [], 0, 0.0
    recorder = world.record(record) if record else None
    for k in range(round(DURATION / dt)):
        t = (k + 1) * dt
        fingers, height, side = script(t)
        world.set_targets([1.6 * fingers, height, side], drives)  # "split" is the sum of both fingers' angles
        start = time.process_time()
        report = world.step()
        spent += time.process_time() - start
        slip.add(t, world.poses[base], world.poses[bolt])
        failed += report.not_converged
        gap = min(gap, report.min_distance)
        if t > slip.held:
            near = world.contacts
            on_bolt = near[(near["body_a"] == bolt + 1) | (near["body_b"] == bolt + 1)]
            force.append(np.abs(on_bolt["normal_force"] * on_bolt["normal"][:, 0]).sum() / 2)
    if recorder:
        recorder.close()
    return {
        "slip [mm]": 1e3 * slip.most,
        "turn [degrees]": slip.turn,
        "smallest gap [mm]": 1e3 * gap,
        "grip force [N]": float(np.mean(force)),
        "height at the end [m]": float(world.poses[bolt][2, 0]),
        "steps not converged": failed,
        "ms a step": 1e3 * spent / round(DURATION / dt),
        "times real time": DURATION / spent,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("robot", help="2f85.xml of MuJoCo Menagerie")
    parser.add_argument("--dt", type=float, default=0.005, help="[s] time step")
    parser.add_argument("--geometry", default="collision", help="of the robot: collision or visual")
    parser.add_argument("--record", help="a run file to write")
    options = parser.parse_args()
    if not Path(options.robot).is_file():
        sys.exit(f"skipped: {options.robot} is missing: robotiq_2f85 of MuJoCo Menagerie")
    for name, value in run(options.robot, options.dt, options.geometry, options.record).items():
        print(f"{name:22s} {value:.4g}")


if __name__ == "__main__":
    main()
