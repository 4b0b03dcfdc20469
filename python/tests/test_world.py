"""Worlds made in Python: bodies, steps, arrays, joints, changes, questions, snapshots."""

import copy
import gc
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

import abd
from abd import options
from abd._abd import ffi


def test_fall(stack):
    report = stack.step(50)
    assert report.steps == 50 and report.not_converged == 0 and report.converged
    assert report.step == stack.step_count == 50
    assert stack.time == pytest.approx(0.5)
    assert report.outcome == "converged"
    assert set(report.energy) == {"kinetic", "gravity", "elastic", "contact", "friction", "joint", "soft"}
    assert report.contacts == len(stack.contacts) > 0
    assert stack.body("box 0").position[2] == pytest.approx(0.1, abs=2e-3)
    assert len(stack.crossings()) == 0
    assert pickle.loads(pickle.dumps(report)).as_dict() == report.as_dict()
    with pytest.raises(AttributeError, match="no 'speed'"):
        report.speed


def test_free_fall_is_the_formula():
    world = abd.World(dt=1e-3)
    ball = world.add_body(abd.sphere(0.1), position=(0, 0, 5))
    world.step_for(0.5)
    assert world.step_count == 500
    assert ball.position[2] == pytest.approx(5 - 9.81 / 2 * 0.5**2, abs=3e-3)
    assert ball.velocity[2] == pytest.approx(-9.81 * 0.5, abs=1e-2)


def test_poses_are_one_array(stack):
    poses = stack.poses
    assert poses.shape == (4, 3, 4) and not poses.flags.writeable
    before = poses.copy()
    stack.step()
    assert stack.poses is poses and not np.array_equal(poses, before)
    for k, body in enumerate(stack.bodies):
        assert np.array_equal(poses[k], body.pose)
        assert np.allclose(stack.transforms[k], body.transform, atol=1e-15)
    stack.add_body(abd.box(), position=(5, 0, 5))
    assert stack.poses.shape == (5, 3, 4) and poses.shape == (4, 3, 4)
    with pytest.raises(ValueError):
        poses[0, 0, 0] = 1


def test_transform_takes_the_file_to_the_world():
    vertices = np.array([[0, 0, 0], [1, 0, 0], [0, 2, 0], [0, 0, 3]], float)
    triangles = [[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]]
    world = abd.World()
    body = world.add_body((vertices, triangles), position=(1, 2, 3), rotation=(np.sqrt(0.5), 0, 0, np.sqrt(0.5)))
    expected = vertices @ np.array([[0, -1, 0], [1, 0, 0], [0, 0, 1]]).T + (1, 2, 3)
    assert np.allclose(body.vertices, expected)
    assert np.allclose(body.mesh.file_vertices, vertices)
    moved = np.column_stack([vertices, np.ones(4)]) @ body.transform.T
    assert np.allclose(moved[:, :3], expected)
    assert body.mesh.closed and body.mesh.volume == pytest.approx(1)
    assert body.mass == pytest.approx(1000)
    assert np.allclose(body.position, (1, 2, 3))


def test_views_outlive_the_world():
    world = abd.World()
    body = world.add_body(abd.sphere(0.5))
    vertices, poses = body.mesh.vertices, world.poses
    world.step()
    total = vertices.sum()
    world.close()
    del world
    gc.collect()
    assert vertices.sum() == total and np.isfinite(poses).all()
    with pytest.raises(abd.StateError, match="closed"):
        body.position


def test_closed_world(stack):
    with stack:
        stack.step()
    for call in (stack.step, stack.snapshot, stack.start, lambda: stack.poses, lambda: stack.contacts, stack.copy):
        with pytest.raises(abd.StateError, match="the world is closed"):
            call()
    stack.close()
    stack.interrupt()
    assert "closed" in repr(stack)


def test_joint_and_drive(arm):
    (joint,) = arm.joints
    assert joint == arm.joint("axle") and joint.kind == "hinge" and joint.limits == (-1, 1)
    assert [body.name for body in joint.bodies] == ["bar", "base"]
    arm.step(300)
    assert joint.position == pytest.approx(0.5, abs=1e-3)
    assert joint.drive["kind"] == "position" and joint.drive["stiffness"] == 20
    joint.set_drive(target=-0.25)
    assert joint.drive["target"] == -0.25 and joint.drive["stiffness"] == 20
    arm.step(300)
    assert joint.position == pytest.approx(-0.25, abs=1e-3)
    arm.set_targets([0.75])
    arm.step(300)
    assert arm.readings["position"] == pytest.approx([0.75], abs=1e-3)
    joint.set_drive("effort", 0.1)
    arm.step()
    assert joint.effort == pytest.approx(0.1)
    joint.remove()
    with pytest.raises(abd.ArgumentError, match="joint 1 does not exist"):
        joint.position


def test_drives_of_a_scene_are_overridden():
    scene = {
        "version": 1,
        "gravity": [0, 0, 0],
        "bodies": [{"name": "wheel", "shape": "cylinder", "radius": 0.2, "height": 0.1}],
        "joints": [{"name": "axle", "type": "hinge", "bodies": ["wheel"], "point": [0, 0, 0], "axis": [0, 0, 1]}],
        "drives": [{"joint": "axle", "type": "speed", "value": [[0, 1], [1, 2]]}],
    }
    world = abd.Scene.parse(scene).build()
    world.step(50)
    assert world.joint("axle").rate == pytest.approx(1.5, abs=0.02)
    world.joint("axle").set_drive(target=-3)
    world.step(20)
    assert world.joint("axle").rate == pytest.approx(-3, abs=0.01)


def test_kinematic_and_forces():
    world = abd.World(gravity=(0, 0, 0))
    hand = world.add_body(abd.box(), motion="kinematic", name="hand")
    ball = world.add_body(abd.sphere(0.5, 1), position=(5, 0, 0), mass=2)
    hand.set_target((0.01, 0, 0))
    ball.set_force((1, 0, 0))
    world.step()
    assert hand.position == pytest.approx([0.01, 0, 0])
    assert ball.velocity == pytest.approx([0.005, 0, 0], rel=1e-6)
    hand.set_velocity((0, 1, 0))
    world.step()
    assert hand.position == pytest.approx([0.01, 0.01, 0])
    with pytest.raises(abd.ArgumentError, match="not kinematic"):
        ball.set_target((0, 0, 0))


def test_contacts_and_loads(stack):
    stack.step(100)
    contacts = stack.contacts
    weight = sum(body.mass for body in stack.bodies if body.motion == "dynamic") * 9.81
    ground = contacts[(contacts["body_a"] == 1) | (contacts["body_b"] == 1)]
    assert ground["normal_force"].sum() == pytest.approx(weight, rel=1e-2)
    loads = stack.contact_loads
    assert abs(loads["normal"][0, 2]) == pytest.approx(weight, rel=1e-2)
    assert stack.body("ground").contact_load["normal"][2] == loads["normal"][0, 2]
    assert stack.body("ground").contact_load_from(stack.body("box 2"))["contacts"] == 0


def test_events(stack):
    kinds = set()
    for _ in range(60):
        stack.step()
        kinds |= {(event["kind"], event["body_a"], event["body_b"]) for event in stack.events}
    assert ("touch began", 1, 2) in kinds


def test_questions(stack):
    stack.start()
    assert stack.cast((0, 0, 5), (0, 0, -1))["body"] == 4
    assert stack.cast((5, 5, 5), (0, 0, 1)) is None
    assert stack.cast((3, 3, 5), (0, 0, -1))["point"] == pytest.approx([3, 3, 0])
    assert stack.nearest((0, 0, 2))["body_a"] == 4
    assert stack.nearest((0, 0, 2), 0.1)["distance"] == np.inf
    assert stack.body("box 0").distance(stack.body("ground"))["distance"] == pytest.approx(0.01)
    assert [body.name for body in stack.overlap_box((0, 0, 0.32), (0.01, 0.01, 0.01))] == ["box 1"]
    for wrong in (dict(direction=(0, 0, 0)), dict(direction=(0, 0, np.nan)), dict(direction=(0, 0, 1), radius=-1)):
        with pytest.raises(abd.ArgumentError):
            stack.cast((0, 0, 0), **wrong)


def test_changes(stack):
    stack.step(5)
    box = stack.body("box 1")
    with pytest.raises(abd.CrossingError, match='"box 1"'):
        stack.add_body(abd.box((0.2, 0.2, 0.2)), name="intruder", position=box.position)
    assert stack.body_count == 4
    with stack.change():
        a = stack.add_body(abd.box((0.2, 0.2, 0.2)), name="a", position=(2, 0, 1))
        b = stack.add_body(abd.box((0.2, 0.2, 0.2)), name="b", position=(2.1, 0, 1))
        stack.add_joint("hinge", a, b, point=(2, 0, 1), axis=(0, 1, 0))
    assert stack.body_count == 6 and stack.joint_count == 1 and not stack.collides(a, b)
    with pytest.raises(RuntimeError), stack.change():
        stack.add_body(abd.box(), position=(9, 9, 9))
        raise RuntimeError
    assert stack.body_count == 6
    stack.step(5)
    a.remove()
    assert stack.body_count == 5 and stack.joint_count == 0
    with pytest.raises(abd.ArgumentError, match="does not exist"):
        a.mass
    b.set_state(position=(3, 0, 2), velocity=(0, 0, 1))
    assert stack.poses[-1, :, 0] == pytest.approx([3, 0, 2])
    stack.step()


def test_snapshot_repeats_the_bits(stack):
    stack.step(20)
    snapshot = stack.snapshot()
    assert snapshot.step == 20
    stack.step(20)
    first, poses = stack.hash, stack.poses.copy()
    stack.restore(snapshot)
    assert stack.step_count == 20
    stack.step(20)
    assert stack.hash == first and np.array_equal(stack.poses, poses)
    with pytest.raises(abd.Error, match="snapshot"):
        stack.restore(b"nonsense")


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda world: pickle.loads(pickle.dumps(world))])
def test_copies_continue_with_the_same_bits(stack, duplicate):
    """Also after changes between steps, joints that were added to moved bodies, and bodies that were removed."""
    stack.exclude(stack.body("box 0"), stack.body("box 2"))
    stack.set_pair_friction(stack.body("box 0"), stack.body("box 1"), 0.1)
    fresh = duplicate(stack)
    assert fresh.hash == 0 and fresh.body_count == 4
    stack.step(30)
    top = stack.body("box 2")
    with stack.change():
        place = top.position + (0, 0, 0.2)
        load = stack.add_body(abd.sphere(0.05), name="load", position=place)
        stack.add_joint("ball", load, top, point=place)
    stack.step(10)
    stack.body("box 1").remove()
    stack.step(3)
    twin = duplicate(stack)
    assert twin.hash == stack.hash and twin.body_count == 4 and twin.joint_count == 1
    fresh.step(3)
    for world in (stack, twin, duplicate(twin)):
        world.step(43 + 20 - world.step_count)
    assert twin.hash == stack.hash


@pytest.mark.parametrize("dt", [0.01, 0.005])
def test_constant_torque(dt):
    """Against the closed form: that of a drive is ahead by speed x dt / 2, as docs/joints.md says."""
    world = abd.World(dt=dt, gravity=(0, 0, 0), threads=1)
    box, inertia = abd.box((0.2, 0.2, 0.2)), 0.04 / 6
    turned, pushed, free = (world.add_body(box, mass=1, position=(3 * k, 0, 0)) for k in range(3))
    drive = dict(kind="effort", target=0.01)
    hinge = world.add_joint("hinge", turned, point=(0, 0, 0), axis=(0, 0, 1), drive=drive)
    slider = world.add_joint("slider", pushed, point=(3, 0, 0), axis=(1, 0, 0), drive=drive)
    free.set_force((0.01, 0, 0), (0, 0, 0.01))
    world.step_for(1)
    turn = np.arctan2(free.pose[1, 1], free.pose[0, 1])
    print(hinge.position, slider.position, turn, free.position)
    assert hinge.rate == pytest.approx(0.01 / inertia, rel=1e-8) and slider.rate == pytest.approx(0.01, rel=1e-8)
    for coordinate, mass in ((hinge.position, inertia), (slider.position, 1)):
        assert coordinate == pytest.approx(0.01 / mass * (0.5 + dt / 2), rel=1e-8)
    assert turn == pytest.approx(0.01 / inertia / 2, rel=1e-10)
    assert free.position[0] - 6 == pytest.approx(0.01 / 2, rel=1e-10)


def test_history_does_not_grow(stack):
    """Steps, targets and the friction of pairs leave nothing behind; copies have the last friction."""
    ground, low, _, top = stack.bodies
    axle = stack.add_joint("hinge", top, point=top.position, axis=(0, 1, 0), drive=dict(kind="effort", target=0.0))
    stack.step()
    stack.set_pair_friction(ground, low, 0.4)
    before, first = len(stack._log), stack.snapshot()
    for k in range(100):
        stack.set_pair_friction(*((ground, low) if k % 2 else (low, ground)), 0.1 + 0.005 * k)
        stack.set_pair_restitution(ground, top, 0.1)
        stack.set_targets([0.001 * k], [axle])
        stack.step()
    assert len(stack._log) == before
    stack.exclude(low, top), stack.step(), stack.set_pair_friction(low, top, 0.3)
    twin = stack.copy()
    stack.step(20), twin.step(20)
    assert twin.hash == stack.hash
    low.remove()
    stack.step()
    stack.restore(first)  # the body is back
    assert stack.step_count == 1 and stack.body("box 0") == low


def _turn(world):
    """Drives that were set after the joint was added, one of them removed with its joint."""
    for body in world.bodies[1:3]:
        body_axle = world.add_joint("hinge", body, point=body.position, axis=(0, 1, 0))
        body_axle.set_drive("effort", 3.0, max_effort=2.5)
    world.joints[0].remove()


def _pairs(world):
    """Pairs that collide again, by a joint's removal not, and the last friction of a pair."""
    ground, low, middle, top = world.bodies
    world.exclude(ground, low), world.include(ground, low)
    world.add_joint("weld", low, middle).remove()
    world.add_joint("ball", middle, top, point=(0, 0, 0))
    world.include(middle, top)
    world.exclude(ground, top)
    world.set_pair_friction(ground, top, 0.2)
    world.set_pair_friction(ground, low, 0.1), world.set_pair_friction(low, ground, 0.9)


def _fewer(world):
    """A body goes before the first step, with its joint and its pairs; the ids of others stay."""
    ground, low, middle, top = world.bodies
    world.add_joint("ball", low, top, point=(0, 0, 0.4))
    world.set_pair_friction(low, top, 0.5)
    world.exclude(ground, low)
    low.remove()
    extra = world.add_body(abd.sphere(0.1), position=(1, 0, 0.5))
    world.add_joint("hinge", extra, top, point=(0.5, 0, 0.5), axis=(0, 1, 0), drive=dict(kind="speed", target=1.0))
    world.set_pair_restitution(ground, extra, 0.5)


@pytest.mark.parametrize("edit", [_turn, _pairs, _fewer])
def test_scene_of_an_edited_world(stack, edit, tmp_path):
    """The scene of a world has all that was changed before its first step, and so a record of it can be read."""
    edit(stack)
    twin = stack.to_scene().build()
    assert [body.name for body in twin.bodies] == [body.name for body in stack.bodies]
    assert twin.joint_count == stack.joint_count
    with stack.record(tmp_path / "edited.abd"):
        stack.step(30)
    twin.step(30)
    assert twin.hash == stack.hash
    assert abd.Run(tmp_path / "edited.abd").verify()["crossings"] == 0


def test_copies_of_scenes():
    """A scene whose bodies come and go, and one with a soft body."""
    scene = {
        "version": 1,
        "bodies": [
            {"shape": "ground"},
            {"name": "part", "shape": "box", "size": [0.2, 0.2, 0.2], "position": [0, 0, 1], "from": 0.1, "until": 0.4,
             "copies": {"count": 3, "every": 0.1, "offset": [0.5, 0, 0]}},
            {"name": "jelly", "shape": "box", "size": [0.2, 0.2, 0.2], "cells": 1, "position": [-1, 0, 0.3], "soft": {}},
        ],
    }  # fmt: skip
    world = abd.Scene.parse(scene).build()
    world.step(25)
    twin = pickle.loads(pickle.dumps(world))
    start = world.snapshot()
    assert twin.hash == world.hash
    world.step(30), twin.step(30)
    assert twin.hash == world.hash and twin.time == world.time
    world.restore(start)
    world.step(30)
    assert twin.hash == world.hash


def test_soft_body():
    world = abd.World()
    jelly = world.add_soft(abd.shape("box", soft=True, size=[0.2, 0.2, 0.2], cells=2), name="jelly", young=1e4)
    assert jelly.tets.shape[1] == 4 and len(jelly.rest) == len(jelly.vertices)
    jelly.attach([0, 1])
    world.step(20)
    assert np.array_equal(jelly.vertices[0], jelly.rest[0])
    assert jelly.stress.shape == (len(jelly.tets),) and jelly.stress.max() > 0
    assert np.isnan(world.poses).all() and world.body("jelly") == jelly
    assert isinstance(world.bodies[0], abd.SoftBody)
    twin = world.copy()
    world.step(5), twin.step(5)
    assert twin.hash == world.hash
    with pytest.raises(abd.Error):
        jelly.pose


def test_sensor_and_groups():
    world = abd.World(gravity=(0, 0, 0))
    zone = world.add_body(abd.box((1, 1, 1)), name="zone", sensor=True, motion="static")
    world.add_body(abd.sphere(0.1, 1), name="inside", group=3)
    world.add_body(abd.sphere(0.1, 1), name="too", position=(0.05, 0, 0), group=3, fixed=["x", "rotation_z"])
    world.step()
    assert [body.name for body in zone.overlaps()] == ["inside", "too"]
    assert world.bodies[2].info["fixed"] == 1 + 32


@pytest.mark.parametrize(
    "struct, typed, more",
    [
        ("AbdBodyDef", options.BodyOptions, {"mesh", "has_center_of_mass"}),
        ("AbdJointDef", options.JointOptions, {"kind", "body_a", "body_b"}),
        ("AbdDrive", options.DriveOptions, {"kind", "target"}),
        ("AbdContactDef", options.ContactOptions, set()),
        ("AbdSolverDef", options.SolverOptions, set()),
        (
            "AbdSoftDef",
            options.SoftOptions,
            {f"{part}{end}" for part in ("vertex", "tet", "triangle", "edge") for end in ("", "_count")},
        ),
    ],
)
def test_options_are_the_fields_of_the_headers(struct, typed, more):
    fields = {name for name, _ in ffi.typeof(struct).fields}
    assert fields == set(typed.__annotations__) - {"color"} | more


def test_report_is_typed():
    import inspect

    source = inspect.getsource(abd.Report)
    for name, _ in ffi.typeof("AbdStepReport").fields:
        assert f"{name}: " in source


def test_a_change_before_the_start_is_taken_back():
    world = abd.World()
    first = world.add_body(abd.box(), name="first")
    with pytest.raises(RuntimeError), world.change():
        second = world.add_body(abd.box(), name="second", position=(3, 0, 0))
        world.add_joint("ball", first, second, point=(1.5, 0, 0))
        raise RuntimeError
    assert [body.name for body in world.bodies] == ["first"] and world.joint_count == 0
    with world.change():
        second = world.add_body(abd.box(), name="second", position=(0.5, 0, 0))
        world.exclude(first, second)
    world.step(3)
    assert world.copy().hash == world.hash


def test_settings_of_bodies_change():
    world = abd.World(contact={"friction": 0.5})
    ground = world.add_body(abd.ground(), motion="static", name="ground")
    box = world.add_body(abd.box((0.2, 0.2, 0.2)), position=(0, 0, 0.101), name="box")
    floating = world.add_body(abd.box((0.2, 0.2, 0.2)), position=(1, 0, 3), velocity=(1, 0, 0), name="floating")
    world.step(20)
    height = floating.position[2]
    floating.set_gravity_scale(0)
    floating.set_velocity((1, 0, 0))
    floating.set_drag(2)
    ground.set_surface_velocity((0.5, 0, 0))
    world.step(100)
    assert floating.position[2] == pytest.approx(height, abs=1e-9)
    assert floating.velocity[0] == pytest.approx(np.exp(-2), rel=0.02)
    assert box.velocity[0] == pytest.approx(0.5, abs=1e-3)
    ground.set_friction(0)
    ground.set_surface_velocity((0, 0, 0))
    world.step(50)
    assert box.velocity[0] == pytest.approx(0.5, abs=1e-3)
    with pytest.raises(abd.ArgumentError, match="drag"):
        box.set_drag(-1)
    twin = world.copy()
    twin.step(20)
    world.step(20)
    assert twin.hash == world.hash


READ_ALL = """
import abd
world = abd.World(gravity=(0, 0, 0), threads=1)
body = world.add_body(abd.box(), position=(1, 2, 3), velocity=(4, 5, 0), angular_velocity=(0, 0, 7))
joint = world.add_joint("planar", body, point=(1, 2, 3), axis=(0, 0, 1), limit=(-1, 2))
world.start()
print(*body.position, *body.rotation, *body.velocity, *body.angular_velocity, *joint.limits, body.mesh.id)
"""


def test_memory_is_read_before_it_is_freed():
    """glibc overwrites what is freed, so values that are read too late are others."""
    tunables = "glibc.malloc.perturb=165:glibc.malloc.tcache_count=0"
    env = dict(os.environ, GLIBC_TUNABLES=tunables)
    read = subprocess.run([sys.executable, "-c", READ_ALL], env=env, capture_output=True, text=True, check=True)
    values = [1, 2, 3, 1, 0, 0, 0, 4, 5, 0, 0, 0, 7, -1, 2, 1]
    assert [float(x) for x in read.stdout.split()] == pytest.approx(values, rel=1e-14)
