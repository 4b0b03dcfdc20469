"""Run files: recording, resuming, reading, verifying, exporting, showing."""

import json
import os
import pickle
import subprocess
import sys
import urllib.request

import numpy as np
import pytest
from conftest import ROOT

import abd

SCENE = {
    "version": 1,
    "name": "boxes",
    "steps": 40,
    "contact": {"friction": 0.5},
    "bodies": [
        {"name": "ground", "shape": "ground"},
        {"name": "low", "shape": "box", "size": [1, 1, 0.4], "position": [0, 0, 0.25]},
        {"name": "high", "shape": "box", "position": [0.1, 0, 1.3], "euler_degrees": [10, 20, 0], "color": "#ff8000"},
    ],
}


def command(*arguments, **options):
    return subprocess.run(
        [sys.executable, "-m", "abd", *map(str, arguments)], capture_output=True, text=True, **options
    )


@pytest.fixture(scope="module")
def boxes(tmp_path_factory):
    return abd.run(SCENE, tmp_path_factory.mktemp("run") / "boxes.abd", contacts=True, progress=False)


def test_same_bits_as_the_command(boxes, tmp_path):
    (tmp_path / "boxes.json").write_text(json.dumps(SCENE))
    done = command("run", tmp_path / "boxes.json", "-o", tmp_path / "c.abd", "-q")
    assert done.returncode == 0, done.stderr
    other = abd.Run(tmp_path / "c.abd")
    assert boxes.steps.tolist() == other.steps.tolist() == list(range(41))
    for mine, theirs in zip(boxes, other):
        assert mine.nodes.tobytes() == theirs.nodes.tobytes() and mine.rates.tobytes() == theirs.rates.tobytes()
    world = abd.Scene.parse(SCENE).build(threads=2)
    for frame in boxes[1:]:
        world.step()
        assert np.array_equal(world.poses, frame.poses)


def test_shards(boxes, tmp_path):
    """Frames in a file of each rank, here of one, are read by the name of the run; a shard that is missing is named."""
    (tmp_path / "boxes.json").write_text(json.dumps(SCENE))
    done = command("run", tmp_path / "boxes.json", "-o", tmp_path / "s.abd", "-q", "--shards")
    assert done.returncode == 0, done.stderr
    run = abd.Run(tmp_path / "s.abd")
    assert (tmp_path / "s.abd.0").exists() and run.steps.tolist() == boxes.steps.tolist()
    for mine, theirs in zip(run, boxes):
        assert mine.nodes.tobytes() == theirs.nodes.tobytes() and mine.rates.tobytes() == theirs.rates.tobytes()
    (tmp_path / "s.abd.0").rename(tmp_path / "other")
    with pytest.raises(abd.FileError, match="s.abd.0 is missing"):
        abd.Run(tmp_path / "s.abd")


def test_frames(boxes):
    assert len(boxes) == 41 and boxes.body_count == 3 and boxes.dt == 0.01
    last = boxes[-1]
    assert last.step == 40 and last.time == pytest.approx(0.4) == boxes.times[-1]
    assert last.poses.shape == (3, 3, 4) and last.velocities.shape == (3, 6)
    assert boxes.poses(slice(0, None, 10)).shape == (5, 3, 3, 4)
    assert boxes.body("high")["color"] == [255, 128, 0]
    assert last.vertices("high").mean(axis=0) == pytest.approx(last.poses[2, :, 0])
    assert boxes.up.tolist() == [0, 0, 1]
    with pytest.raises(IndexError, match="41 frames"):
        boxes[41]
    with pytest.raises(abd.FileError):
        boxes.frame(1000)
    assert pickle.loads(pickle.dumps(boxes))[5].nodes.tobytes() == boxes[5].nodes.tobytes()


def test_reports_and_tables(boxes):
    reports = boxes.reports
    assert reports["step"].tolist() == list(range(1, 41))
    assert boxes.summary["steps"] == 40 and boxes.summary["not_converged"] == 0
    assert len(boxes.contacts(40)) == reports["contacts"][-1] > 0
    table = boxes.table()
    assert list(table["outcome"]) == ["converged"] * 40
    assert "touch began" in list(boxes.events["kind"])
    assert len(boxes.readings(40)) == 0 and boxes.joints == []
    assert boxes.meta("nothing") is None and boxes.scene.name == "boxes"
    with pytest.raises(abd.ArgumentError, match="no table 'x'"):
        boxes.table("x")


def test_verify(boxes):
    assert boxes.verify() == {"frames": 41, "crossings": 0, "pairs": 3}


@pytest.mark.parametrize("ending", ["png", "glb", "csv", "obj", "usda"])
def test_export(boxes, tmp_path, ending):
    path = boxes.export(tmp_path / f"x.{ending}", **({"width": 320, "height": 180} if ending == "png" else {}))
    assert os.path.getsize(path) > 500


def test_export_errors(boxes, tmp_path):
    with pytest.raises(abd.ArgumentError, match="ends in"):
        boxes.export(tmp_path / "x.doc")
    with pytest.raises(abd.ArgumentError, match="unknown key 'widht'; did you mean 'width'"):
        boxes.export(tmp_path / "x.png", widht=3)
    with pytest.raises(abd.ArgumentError, match="no frame of step 99"):
        boxes.export(tmp_path / "x.png", frame=99)
    with pytest.raises(abd.FileError):
        boxes.export(tmp_path / "none" / "x.png")


def test_film(boxes, tmp_path):
    try:
        path = boxes.export(tmp_path / "film.mp4", width=160, height=90, every=4, progress=True)
    except abd.Error as error:
        if "ffmpeg" not in str(error):
            raise
        pytest.skip(str(error))
    assert open(path, "rb").read(12)[4:8] == b"ftyp"


def test_page_and_viewer(boxes):
    try:
        page = boxes.page(every=10)
        viewer = abd.run.__globals__["Viewer"](boxes.path)
    except abd.Error as error:
        if "viewer" not in str(error) and "page" not in str(error):
            raise
        pytest.skip(str(error))
    assert "<iframe srcdoc=" in page._repr_html_() and "<script" in page.source
    with urllib.request.urlopen(viewer.url) as answer:
        assert b"<html" in answer.read().lower()
    viewer.stop()
    assert "stopped" in repr(viewer)


def test_resume(tmp_path):
    path = tmp_path / "half.abd"
    abd.run(SCENE, path, steps=15, progress=False)
    with pytest.raises(abd.FileError, match="exists already"):
        abd.run(SCENE, path, progress=False)
    half = abd.run(SCENE, path, steps=40, resume=True, progress=False)
    whole = abd.run(SCENE, tmp_path / "whole.abd", progress=False)
    assert half[-1].step == 40 and half[-1].nodes.tobytes() == whole[-1].nodes.tobytes()
    with pytest.raises(abd.SceneError, match="another scene"):
        abd.run({**SCENE, "dt": 0.02}, path, resume=True, progress=False)


def test_worlds_made_in_python_are_recorded_and_resumed(arm, stack, tmp_path):
    """By the command too: the run file has a scene that builds the same world."""
    lever = stack.add_body(abd.sphere(0.1), name="ball", position=(0.5, 0, 0.5), fixed="y", color="#00ff00")
    drive = dict(kind="speed", target=1.0, max_effort=3.0)
    stack.add_joint("hinge", lever, point=(0.7, 0, 0.5), axis=(0, 1, 0), limit=(-np.inf, 2), drive=drive)
    stack.exclude(lever, stack.body("box 2"))
    jelly = abd.shape("box", soft=True, size=[0.2, 0.2, 0.2], cells=1)
    stack.add_soft(jelly, name="jelly", young=1e4, position=(-1, 0, 0.3)).attach(0)
    for name, world in (("arm", arm), ("stack", stack)):
        path = tmp_path / f"{name}.abd"
        twin = world.copy()
        with world.record(path, steps=30):
            world.step(10)
        done = command("run", path, "--resume", "-q")
        assert done.returncode == 0, done.stderr
        twin.step(30)
        run = abd.Run(path)
        assert run.summary["last_hash"] == twin.hash
        assert run.verify()["crossings"] == 0
    assert run.body("ball")["color"] == [0, 255, 0]


def test_changed_pairs_are_resumed_and_verified(stack, tmp_path):
    """A box that may pass through the ground for a while: the file has when, for the verdict and to go on."""
    ground, low, middle, top = stack.bodies
    path = tmp_path / "pairs.abd"
    for box in (low, middle):
        stack.exclude(box, top)
    with stack.record(path, steps=60, every=5):
        stack.step(5)
        stack.exclude(ground, top)
        stack.set_pair_friction(ground, low, 0.01)
        stack.step(30)
    assert top.position[2] < 0.1 and low.position[2] > 0
    twin = stack.copy()
    assert command("run", path, "--resume", "-q").returncode == 0
    twin.step(25)
    run = abd.Run(path)
    assert run.summary["last_hash"] == twin.hash
    assert run.verify()["crossings"] == 0
    kinds = [kind for kind in run.events["kind"] if kind.startswith("pair")]
    assert kinds == ["pair excluded"]
    with pytest.raises(abd.CrossingError):
        stack.include(ground, top)


def test_a_world_that_gets_and_loses_bodies_keeps_no_states(stack):
    """Its history has what came, not the state at which it came; copies have the same bits."""
    stack.step()
    for k in range(20):
        ball = stack.add_body(abd.sphere(0.05), position=(2 + 0.3 * k, 0, 0.5))
        stack.step(2)
        if k % 3:
            ball.remove()
    assert sum(1 for entry in stack._log if entry[0] == "at" and entry[1]) == 0
    twin = stack.copy()
    for world in (stack, twin):
        last = world.bodies[-1]
        world.add_joint("hinge", last, point=last.position, axis=(0, 1, 0))
    third = twin.copy()
    for world in (stack, twin, third):
        world.step(10)
    assert twin.hash == stack.hash == third.hash


def test_recording_follows_changes(stack, tmp_path):
    with stack.record(tmp_path / "x.abd") as recorder:
        stack.step(5)
        stack.body("box 2").remove()
        stack.step(5)
        with pytest.raises(abd.StateError, match="is recorded"):
            stack.restore(stack.snapshot())
        with pytest.raises(abd.StateError, match="already"):
            stack.record(tmp_path / "y.abd")
    recorder.close()
    run = abd.Run(tmp_path / "x.abd")
    assert len(run) == 11 and run.body("box 2")["died"] == 6
    assert np.isnan(run[-1].poses[3]).all()
    done = command("run", tmp_path / "x.abd", "--resume", "-q", "--steps", 12)  # without the body that went
    assert done.returncode == 0, done.stderr
    assert abd.Run(tmp_path / "x.abd")[-1].step == 12
    with stack.copy() as more, more.record(tmp_path / "more.abd"):
        more.add_body(abd.sphere(0.1), position=(3, 0, 1))
        more.step(2)
    done = command("run", tmp_path / "more.abd", "--resume", "-q", "--steps", 12)
    assert done.returncode == 2 and "a program added it between steps" in done.stderr
    with pytest.raises(abd.ArgumentError, match="steps or time"):
        abd.run(stack, tmp_path / "z.abd")
    assert abd.run(stack, tmp_path / "z.abd", time=0.15, progress=False)[-1].step == 15


def test_changes_before_the_first_recorded_step(stack, tmp_path):
    early = stack.copy()
    early.start()
    early.add_body(abd.sphere(0.1), position=(3, 0, 1), name="early")
    with early, early.record(tmp_path / "x.abd"):
        late = early.add_body(abd.sphere(0.1), position=(4, 0, 1), name="late")
        early.body("box 2").remove()
        early.step(3)
        height = early.poses[early.body_ids.tolist().index(late.id)][2, 0]
    run = abd.Run(tmp_path / "x.abd")
    assert [run.body(name)["born"] for name in ("early", "late")] == [0, 1] and run.body("box 2")["died"] == 1
    assert len([body for body in run.bodies if body["name"] == "early"]) == 1
    assert [frame.step for frame in run] == [0, 1, 2, 3]
    assert np.isnan(run[0].poses[late.id - 1]).all() and run[3].poses[late.id - 1][2, 0] == height
    assert run.verify()["crossings"] == 0


def test_closed_run(boxes):
    run = abd.Run(boxes.path)
    run.close()
    run.close()
    for call in (lambda: run[0], lambda: run.summary, run.verify, lambda: run.table(), lambda: run.export("x.png")):
        with pytest.raises(abd.StateError, match="closed"):
            call()


def test_the_command():
    assert command("--version").stdout == f"abd {abd.__version__}\n"
    done = command("run", "missing.json")
    assert done.returncode == 2 and "missing.json" in done.stderr


def test_run_warns_of_steps_that_did_not_converge(tmp_path):
    scene = {**SCENE, "solver": {"max_iterations": 1, "substeps": "off"}}
    with pytest.warns(UserWarning, match="did not converge"):
        run = abd.run(scene, tmp_path / "x.abd", progress=False)
    assert run.summary["not_converged"] > 0


def test_dictionaries(boxes):
    """A dictionary is a scene everywhere, with NumPy's numbers and arrays; settings are changed as those of files."""
    scene = {**SCENE, "steps": np.int64(40), "bodies": [dict(body) for body in SCENE["bodies"]]}
    scene["bodies"][1].update(size=np.array([1, 1, 0.4]), position=np.float32([0, 0, 0.25]))
    world = abd.load(scene, threads=1)
    world.step(40)
    assert np.array_equal(world.poses, boxes[-1].poses)
    assert abd.load(scene, set={"contact.friction": 0.25}).settings["contact"]["friction"] == 0.25
    with pytest.raises(abd.ArgumentError, match="a scene has numbers, texts, lists and dictionaries, got {1}"):
        abd.load({"version": {1}})


def test_gallery_and_notes():
    assert "cards" in abd.gallery()
    scene = abd.Scene.gallery("cards", levels=2)
    assert scene.body_count > 5 and pickle.loads(pickle.dumps(scene)).body_count == scene.body_count
    with pytest.raises(abd.SceneError, match="no scene 'x'"):
        abd.Scene.gallery("x")
    world = abd.load(ROOT / "scenes" / "pendulum.json", set={"gravity": [0, 0, -1]}, threads=1)
    assert world.settings["gravity"] == [0, 0, -1] and world.joint_count == 2


def test_views_of_worlds(stack):
    """A world as it is now, also one that cannot start; in the browser without waiting."""
    stack.add_body(abd.box(), name="crossing", position=(0, 0, 0))
    try:
        viewer = stack.view(block=False, browser=False)
    except abd.StateError as error:
        if "viewer" not in str(error):
            raise
        pytest.skip(str(error))
    with urllib.request.urlopen(viewer.url) as answer:
        assert answer.status == 200
    viewer.stop()
