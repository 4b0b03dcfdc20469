"""The script of grasp.py in MuJoCo, with the gripper's own collision geometry.

    python examples/grasp_mujoco.py 2f85.xml                # the bolt's mesh: MuJoCo collides its convex hull
    python examples/grasp_mujoco.py 2f85.xml --bolt parts   # the bolt as two cylinders, fitted by hand

Contact parameters are those of the gripper's file: short time constants of its pads, an elliptic friction cone and
impratio 10.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from pathlib import Path

import numpy as np
from grasp import BOLT, DURATION, HEIGHT, RAIL, Slip, bolt_mesh, script

PADS = ("left_pad1", "left_pad2", "right_pad1", "right_pad2")


def build(robot: str, dt: float, bolt: str):
    """MuJoCo's model: bolt, two rails, and the gripper attached to the second one."""
    import mujoco

    spec = mujoco.MjSpec()
    spec.option.timestep = dt
    spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    spec.option.impratio = 10
    friction = [BOLT["friction"], 0.005, 0.0001]
    world = spec.worldbody
    world.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[1, 1, 0.1], friction=friction, rgba=[0.8, 0.8, 0.8, 1])
    world.add_light(pos=[0.5, -1, 2], dir=[-0.5, 1, -2])
    spec.add_texture(name="sky", type=mujoco.mjtTexture.mjTEXTURE_SKYBOX, builtin=mujoco.mjtBuiltin.mjBUILTIN_FLAT,
                     rgb1=[0.8, 0.86, 0.93], width=8, height=8)  # fmt: skip
    half = math.radians(BOLT["degrees"]) / 2
    body = world.add_body(name="bolt", pos=BOLT["position"], quat=[math.cos(half), math.sin(half), 0, 0])
    body.add_freejoint()
    vertices, triangles = bolt_mesh()
    spec.add_mesh(name="bolt", uservert=vertices.ravel(), userface=triangles.ravel())
    touches = 1 if bolt == "hull" else 0
    body.add_geom(type=mujoco.mjtGeom.mjGEOM_MESH, meshname="bolt", density=BOLT["density"], friction=friction,
                  contype=touches, conaffinity=touches, rgba=[0.79, 0.64, 0.15, 1])  # fmt: skip
    if bolt == "parts":
        for radius, low, high in ((0.0127, -0.008, 0), (0.0078, 0, 0.044)):
            body.add_geom(type=mujoco.mjtGeom.mjGEOM_CYLINDER, size=[radius, (high - low) / 2, 0], mass=0,
                          pos=[0, 0, (low + high) / 2], friction=friction, group=3)  # fmt: skip
    slide, box = mujoco.mjtJoint.mjJNT_SLIDE, mujoco.mjtGeom.mjGEOM_BOX
    rail = world.add_body(name="rail", pos=[0, 0, HEIGHT + 0.25])
    rail.add_joint(name="shake", type=slide, axis=[0, 1, 0])
    rail.add_geom(type=box, size=[0.01, 0.1, 0.01], mass=1, contype=0, conaffinity=0)
    carriage = rail.add_body(name="carriage", pos=[0, 0, 0.012 - 0.25])
    carriage.add_joint(name="lift", type=slide, axis=[0, 0, 1])
    carriage.add_geom(type=box, size=[0.03, 0.03, 0.01], mass=1, contype=0, conaffinity=0)
    flange = carriage.add_frame(pos=[0, 0, -0.012], quat=[0, 1, 0, 0])
    spec.attach(mujoco.MjSpec.from_file(robot), prefix="2f85/", frame=flange)
    for name in ("lift", "shake"):
        drive = spec.add_actuator(name=name, target=name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
        drive.set_to_position(kp=RAIL["stiffness"], kv=RAIL["damping"])
        drive.forcerange = [-RAIL["max_effort"], RAIL["max_effort"]]
    return spec.compile()


def pad_distance(data, geom, vertices: np.ndarray) -> float:
    """[m] from a pad's face to the bolt's real mesh."""
    local = (vertices - data.geom_xpos[geom.id]) @ data.geom_xmat[geom.id].reshape(3, 3)
    beside = (np.abs(local[:, [0, 2]]) < geom.size[[0, 2]]).all(axis=1)
    return float(np.abs(local[beside, 1]).min() - geom.size[1]) if beside.any() else math.inf


def run(robot: str, dt: float, bolt: str, draw=None) -> dict:
    """Simulates the script; returns figures. draw(model, data, t) is called after each step."""
    import mujoco

    model = build(robot, dt, bolt)
    data = mujoco.MjData(model)
    vertices = bolt_mesh()[0]
    body, base = model.body("bolt").id, model.body("2f85/base").id
    pads = [model.geom(f"2f85/{name}") for name in PADS]
    ids = {pad.id for pad in pads}
    slip, deep, force, spent, off, value = Slip(), 0.0, [], 0.0, math.inf, np.zeros(6)

    def pose(k: int) -> np.ndarray:
        return np.c_[data.xipos[k], data.xmat[k].reshape(3, 3)]

    for k in range(round(DURATION / dt)):
        t = (k + 1) * dt
        fingers, data.actuator("lift").ctrl, data.actuator("shake").ctrl = script(t)
        data.actuator("2f85/fingers_actuator").ctrl = 255 * fingers
        start = time.process_time()
        mujoco.mj_step(model, data)
        spent += time.process_time() - start
        slip.add(t, pose(base), pose(body))
        normal = 0.0
        for i in range(data.ncon):
            if len({int(g) for g in data.contact[i].geom} & ids) == 1:
                mujoco.mj_contactForce(model, data, i, value)
                normal += abs(value[0] * data.contact[i].frame[0])
                deep = max(deep, -data.contact[i].dist)
        if t > slip.held:
            force.append(normal / 2)
            if math.isinf(off):
                mesh = data.xpos[body] + vertices @ data.xmat[body].reshape(3, 3).T
                off = min(pad_distance(data, pad, mesh) for pad in pads)
        if draw:
            draw(model, data, t)
    return {
        "slip [mm]": 1e3 * slip.most,
        "turn [degrees]": slip.turn,
        "deepest penetration [mm]": 1e3 * deep,
        "pads to thread [mm]": 1e3 * off,
        "grip force [N]": float(np.mean(force)),
        "height at the end [m]": float(data.xipos[body][2]),
        "ms a step": 1e3 * spent / round(DURATION / dt),
        "times real time": DURATION / spent,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("robot", help="2f85.xml of MuJoCo Menagerie")
    parser.add_argument("--dt", type=float, default=0.002, help="[s] time step")
    parser.add_argument("--bolt", default="hull", choices=("hull", "parts"), help="what collides")
    options = parser.parse_args()
    if not Path(options.robot).is_file():
        sys.exit(f"skipped: {options.robot} is missing: robotiq_2f85 of MuJoCo Menagerie")
    for name, value in run(options.robot, options.dt, options.bolt).items():
        print(f"{name:26s} {value:.4g}")


if __name__ == "__main__":
    main()
