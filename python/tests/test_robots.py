"""Robots at work: the examples, and MuJoCo beside abd. Skipped without gymnasium, mujoco or the robots' files."""

import json

import numpy as np
import pytest
from conftest import ROOT, SHARED

import abd

ROBOTS = SHARED / "fixtures/robots"
MJCF = ["kinova_gen3/gen3.xml", "robotiq_2f85/2f85.xml", "shadow_hand/left_hand.xml", "trs_so_arm100/so_arm100.xml"]


@pytest.fixture(autouse=True)
def examples(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "examples")


def robot(name: str) -> str:
    path = ROBOTS / "mjcf" / name
    if not path.is_file():
        pytest.skip(f"{path} is missing")
    return str(path)


def test_gripper_env():
    pytest.importorskip("gymnasium", reason="gymnasium is missing: pip install gymnasium")
    from gripper_env import GripperEnv, play
    from gymnasium.utils.env_checker import check_env

    env = GripperEnv()
    check_env(env, skip_render_check=True)
    played = [play(env, seed) for seed in (0, 1, 0)]
    assert all(picked and count < 20 for _, count, picked in played)
    assert played[0] == played[2] and played[0] != played[1]


@pytest.mark.parametrize("name", MJCF)
def test_masses_are_those_of_mujoco(name):
    mujoco = pytest.importorskip("mujoco", reason="mujoco is missing: pip install mujoco")
    path = robot(name)
    spec = mujoco.MjSpec.from_file(path)
    model = spec.compile()
    given = {body.name for body in spec.bodies if body.explicitinertial}
    moving = {body.name: body for body in abd.load(path, threads=1).bodies if body.motion == "dynamic"}
    seen = 0
    for k in range(1, model.nbody):
        body = moving.get(model.body(k).name)
        if body is None or body.name not in given:
            continue
        seen += 1
        assert body.mass == pytest.approx(model.body(k).mass[0], rel=1e-6), body.name
        assert sorted(body.info["inertia"]) == pytest.approx(sorted(model.body(k).inertia), rel=1e-6), body.name
    assert seen >= 5


def test_a_hanging_arm_swings_as_in_mujoco(tmp_path):
    """Kinova Gen3 hangs bent and swings freely for 2 s: every angle within 1 % of its range; MuJoCo by Runge-Kutta."""
    mujoco = pytest.importorskip("mujoco", reason="mujoco is missing: pip install mujoco")
    path, bent = robot("kinova_gen3/gen3.xml"), [0, 0.15, 0, 0.1, 0, 0.1, 0]
    xml = tmp_path / "swing.xml"  # upside down, so that it hangs
    xml.write_text(
        f"<mujoco><include file='{path}'/><compiler meshdir='{ROBOTS}/mjcf/kinova_gen3/assets'/>"
        "<option gravity='0 0 9.81' timestep='0.001'><flag contact='disable' actuation='disable'/></option>"
        f"<keyframe><key name='bent' qpos='{' '.join(map(str, bent))}'/></keyframe></mujoco>"
    )
    model = mujoco.MjModel.from_xml_path(str(xml))
    model.opt.integrator, model.opt.timestep = mujoco.mjtIntegrator.mjINT_RK4, 2e-4
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, model.key("bent").id)
    scene = json.loads(abd.Scene.load(xml, keyframe="bent").text)
    for body in scene["bodies"]:
        body["collide"] = False
    del scene["drives"]
    world = abd.Scene.parse(scene).build(threads=1)
    angles = [world.joint(f"joint_{k + 1}").id - 1 for k in range(7)]
    error, reference = [], []
    for _ in range(20):
        assert world.step(100).converged
        mujoco.mj_step(model, data, 500)
        reference.append(data.qpos.copy())
        error.append(np.abs(world.readings["position"][angles] + bent - reference[-1]))
    off = np.max(error, axis=0) / np.max(np.abs(reference), axis=0)
    print("angles off by", off, "of their range")
    assert off.max() < 0.01


@pytest.mark.long
def test_2f85_picks_up_a_bolt():
    from grasp import run

    figures = run(robot("robotiq_2f85/2f85.xml"), 0.005)
    print(figures)
    assert figures["steps not converged"] == 0 and figures["slip [mm]"] < 0.01 and figures["turn [degrees]"] < 0.1
    assert figures["height at the end [m]"] > 0.2
    pytest.importorskip("mujoco", reason="mujoco is missing: pip install mujoco")
    from grasp_mujoco import run as run_mujoco

    parts = run_mujoco(robot("robotiq_2f85/2f85.xml"), 0.002, "parts")
    print(parts)
    assert figures["grip force [N]"] == pytest.approx(parts["grip force [N]"], rel=0.01)
