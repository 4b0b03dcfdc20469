"""Bad input: an exception with a sentence, never a crash. After it the world is as before."""

import math

import numpy as np
import pytest
from conftest import ROOT

import abd

BOX = abd.box()
V = BOX.vertices
T = BOX.triangles


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        (([[0, 0, math.nan]], []), r"vertices: row 0 is \[0.0, 0.0, nan\], expected finite numbers"),
        (([[0, 0]], []), r"vertices: expected an array of shape \(n, 3\), got \(1, 2\)"),
        (("abc", []), "vertices: expected an array"),
        ((V, [[0, 1, 8]]), r"triangles: row 0 is \[0, 1, 8\], expected vertices 0 to 7"),
        ((V, [[0, 1, -1]]), r"triangles: row 0 is \[0, 1, -1\]"),
        ((V, [[0.0, 1.0, 2.0]]), "triangles: expected integers, got float64"),
        ((V, [0, 1, 2]), r"triangles: expected an array of shape \(n, 3\), got \(3,\)"),
        ((V, T, [[1, 2, 3]]), r"edges: expected an array of shape \(n, 2\)"),
        ((V, T, [], [["a", "b", "c", "d"]]), "tets: expected integers"),
    ],
)
def test_mesh(arguments, sentence):
    with pytest.raises(abd.ArgumentError, match=sentence):
        abd.Mesh(*arguments)


@pytest.mark.parametrize("source", [None, 3, object(), [V, T], (1, 2, 3, 4, 5)])
def test_no_mesh(source):
    with pytest.raises(abd.ArgumentError, match="expected an abd.Mesh, a file name"):
        abd.Mesh.of(source)


def test_mesh_files(tmp_path):
    with pytest.raises(abd.SceneError, match="nothing.stl"):
        abd.Mesh.read(tmp_path / "nothing.stl")
    (tmp_path / "bad.obj").write_text("v 0 0 zero\n")
    with pytest.raises(abd.SceneError, match="bad.obj"):
        abd.Mesh.read(tmp_path / "bad.obj")
    with pytest.raises(abd.SceneError, match="radius"):
        abd.sphere(-1)
    with pytest.raises(abd.SceneError, match="shape"):
        abd.shape("dodecahedron")


@pytest.mark.parametrize(
    "options, sentence",
    [
        ({"dennsity": 3}, "unknown key 'dennsity'; did you mean 'density'"),
        ({"mesh": 3}, "unknown key 'mesh'"),
        ({"density": "heavy"}, "density: expected a number, got 'heavy'"),
        ({"density": -1}, "density"),
        ({"density": math.nan}, "density"),
        ({"position": (1, 2)}, r"position: expected 3 numbers, got \(1, 2\)"),
        ({"position": (1, 2, math.nan)}, "position: expected 3 numbers, got .*nan"),
        ({"position": (1, 2, math.inf)}, "position"),
        ({"position": 3}, "position: expected 3 numbers, got 3"),
        ({"rotation": (0, 0, 0, 0)}, "rotation"),
        ({"motion": "fast"}, 'motion: expected one of "dynamic", "static", "kinematic", got \'fast\''),
        ({"motion": 1}, "motion: expected one of"),
        ({"name": 3}, "name: expected a text, got 3"),
        ({"group": "a"}, "group: expected an integer, got 'a'"),
        ({"group": 2**40}, "group: expected an integer"),
        ({"fixed": ["w"]}, "fixed: expected one of"),
        ({"color": "red"}, "color: expected"),
        ({"inertia": (1, 2, 3)}, "inertia: expected 6 numbers"),
    ],
)
def test_body(options, sentence):
    world = abd.World()
    with pytest.raises(abd.ArgumentError, match=sentence):
        world.add_body(BOX, **options)
    assert world.body_count == 0
    world.add_body(BOX)
    world.step()


@pytest.mark.parametrize(
    "options, sentence",
    [
        ({"dt": -1}, "dt"),
        ({"dt": "long"}, "dt: expected a number"),
        ({"gravity": (0, 0)}, "gravity: expected 3 numbers"),
        ({"integrator": "verlet"}, 'integrator: expected one of "rigid"'),
        ({"contact": {"frixion": 1}}, "unknown key 'frixion'; did you mean 'friction'"),
        ({"contact": 3}, "contact: expected a dictionary, got 3"),
        ({"solver": {"max_iterations": 0}}, "max_iterations"),
        ({"solver": {"max_iterations": 1.5}}, "max_iterations: expected an integer"),
    ],
)
def test_world(options, sentence):
    with pytest.raises(abd.ArgumentError, match=sentence):
        abd.World(**options)


def test_joint(arm):
    bar, base = arm.body("bar"), arm.body("base")
    with pytest.raises(abd.ArgumentError, match='joint: expected one of "weld"'):
        arm.add_joint("knee", bar)
    with pytest.raises(abd.ArgumentError, match="axis"):
        arm.add_joint("hinge", bar, base, point=(0, 0, 0), axis=(0, 0, 0))
    with pytest.raises(abd.ArgumentError, match="joint 'j': a hinge needs 'point', a place in the world"):
        arm.add_joint("hinge", bar, base, name="j", axis=(0, 0, 1))
    with pytest.raises(abd.ArgumentError, match="a rope needs 'point_b'"):
        arm.add_joint("rope", bar, base, point=(0, 0, 0))
    with pytest.raises(abd.ArgumentError, match="joint 'j': a hinge takes no 'ratio'"):
        arm.add_joint("hinge", bar, base, name="j", point=(0, 0, 0), axis=(0, 0, 1), ratio=3)
    with pytest.raises(abd.ArgumentError, match="drive: unknown key 'power'"):
        arm.add_joint("hinge", bar, base, point=(0, 0, 0), axis=(0, 0, 1), drive=dict(power=1))
    with pytest.raises(abd.ArgumentError, match=r"targets: expected an array of shape \(1,\), got \(2,\)"):
        arm.set_targets([1, 2])
    with pytest.raises(abd.Error, match="nan"):
        arm.set_targets([math.nan])
    with pytest.raises(abd.ArgumentError, match="does not exist"):
        arm.set_targets([1], [77])
    with pytest.raises(abd.ArgumentError, match="kind: expected one of"):
        arm.joint("axle").set_drive("magic")
    with pytest.raises(abd.Error):
        arm.joint("axle").set_drive(target=math.inf)
    with pytest.raises(abd.ArgumentError, match="there is no joint 'elbow'; there are: 'axle'"):
        arm.joint("elbow")
    arm.step()
    with pytest.raises(abd.ArgumentError, match="has no drive yet: set_drive needs a kind"):
        arm.add_joint("slider", bar, point=(0, 0, 0), axis=(0, 0, 1)).set_drive(target=1)


def test_targets_without_drives(arm):
    arm.joint("axle").set_drive("none")
    with pytest.raises(abd.ArgumentError, match='joint "axle" has no drive, so a target has no effect'):
        arm.set_targets([1], ["axle"])
    with pytest.raises(abd.ArgumentError, match="no joint has a drive, so targets have no effect"):
        arm.set_targets([1])
    with pytest.raises(abd.BatchError, match="no drive"):
        abd.Batch(arm, 2).set_targets([[1], [2]], ["axle"])


def test_bodies_of_other_worlds_and_ids(stack, arm):
    ghost = abd.Body(stack, 99)
    for call in (
        lambda: ghost.name,
        lambda: ghost.pose,
        lambda: ghost.set_force((1, 0, 0)),
        lambda: ghost.remove(),
        lambda: stack.exclude(ghost, stack.body("box 0")),
        lambda: stack.add_joint("ball", ghost, point=(0, 0, 0)),
        lambda: ghost.contact_load,
        lambda: ghost.distance(stack.body("box 0")),
        lambda: ghost.overlaps(),
        lambda: abd.SoftBody(stack, 1).vertices,
        lambda: abd.Joint(stack, 5).position,
    ):
        with pytest.raises(abd.Error):
            call()
    stack.step()
    assert not stack.collides(ghost, ghost)


def test_steps(stack):
    assert stack.step(0).steps == 0 and stack.step_count == 0
    for count in ("many", 1.5, None):
        with pytest.raises(abd.ArgumentError, match="count: expected an integer >= 0"):
            stack.step(count)
    with pytest.raises(OverflowError):
        stack.step(2**70)
    with pytest.raises(abd.ArgumentError, match="seconds: expected a number"):
        stack.step_for("long")
    with pytest.raises(abd.ArgumentError, match="force: expected finite numbers"):
        stack.body("box 0").set_force((0, math.nan, 0))
    with pytest.raises(abd.ArgumentError, match="force: expected 3 numbers"):
        stack.body("box 0").set_force(np.zeros((3, 3)))
    with pytest.raises(abd.ArgumentError, match=r"poses: expected an array of shape \(4, 3, 4\)"):
        stack.crossings(np.zeros((2, 3, 4)))
    assert len(stack.crossings(np.tile(np.eye(3, 4, 1), (4, 1, 1)))) > 0


def test_crossing_start():
    world = abd.World()
    world.add_body(BOX, name="one")
    world.add_body(BOX, name="two", position=(0.5, 0, 0))
    with pytest.raises(abd.CrossingError, match='"one" and "two" touch or cross at the start') as info:
        world.step()
    assert info.value.status == "crossing"
    world.exclude(*world.bodies)
    world.step()


@pytest.mark.parametrize("snapshot", [b"", b"x" * 100, b"\0" * 5000], ids=["empty", "short", "zeros"])
def test_snapshots(stack, snapshot):
    stack.step()
    before = stack.hash
    with pytest.raises(abd.Error):
        stack.restore(snapshot)
    with pytest.raises(TypeError):
        stack.restore("text")
    assert stack.hash == before
    with pytest.raises(abd.Error):
        abd.World().restore(stack.snapshot())


def test_changed_snapshots_do_not_crash(stack):
    """Every byte of a snapshot may be wrong."""
    stack.step(20)
    good = bytes(stack.snapshot())
    random = np.random.default_rng(1)
    for _ in range(200):
        bad = bytearray(good)
        for place in random.integers(0, len(bad), 3):
            bad[place] = random.integers(256)
        try:
            stack.restore(bytes(bad))
        except abd.Error:
            pass
    stack.restore(good)
    stack.step()


def test_scenes(tmp_path):
    with pytest.raises(abd.SceneError, match="missing.json"):
        abd.load("missing.json")
    path = tmp_path / "bad.json"
    path.write_text('{"version": 1,\n "bodies": [{"shape": "box", "density": -2}]}')
    with pytest.raises(abd.SceneError, match=r"bad.json:2:\d+: bodies\[0\].density"):
        abd.load(path)
    with pytest.raises(abd.SceneError, match="contact.frictoin"):
        abd.load(ROOT / "scenes/stack.json", set={"contact.frictoin": 1})
    with pytest.raises(abd.SceneError):
        abd.Scene.parse(b"\xff\xfe not a scene")
    with pytest.raises(abd.ArgumentError, match="unknown option 'meshdir'"):
        abd.Scene.parse({"version": 1}, meshdir="x")
    with pytest.raises(abd.SceneError, match="no bodies"):
        abd.Scene.parse({"version": 1}).build()
    with pytest.raises(abd.SceneError):
        abd.load([])
    with pytest.raises(abd.ArgumentError, match="geometry: expected a text"):
        abd.load(path, geometry=3)


@pytest.mark.parametrize(
    "text",
    [
        "<robot",
        "<robot name='x'></robot>",
        "<robot name='x'><link name='a'/><link name='b'/><joint name='j' type='revolute'><parent link='a'/>"
        "<child link='b'/></joint><joint name='k' type='fixed'><parent link='b'/><child link='a'/></joint></robot>",
        "<robot name='x'><link name='a'><collision><geometry><mesh filename='none.stl'/></geometry></collision></link></robot>",
        "<robot name='x'><link name='a'><inertial><mass value='nan'/></inertial></link></robot>",
        "<mujoco><worldbody><body><geom type='box' size='1 1'/></body></worldbody></mujoco>",
    ],
)
def test_robots(tmp_path, text):
    path = tmp_path / ("robot.urdf" if "<robot" in text else "robot.xml")
    path.write_text(text)
    with pytest.raises(abd.SceneError, match="robot"):
        abd.load(path)


def test_runs(tmp_path):
    with pytest.raises(abd.FileError, match="missing.abd"):
        abd.Run("missing.abd")
    bad = tmp_path / "bad.abd"
    bad.write_bytes(b"SQLite format 3\0" + b"x" * 4000)
    with pytest.raises(abd.FileError, match="bad.abd"):
        abd.Run(bad)
    with pytest.raises(abd.Error):
        abd.run(ROOT / "scenes/stack.json", tmp_path / "no" / "folder.abd", steps=1, progress=False)
    with pytest.raises(abd.ArgumentError, match="exclude each other"):
        abd.run(ROOT / "scenes/stack.json", tmp_path / "x.abd", steps=1, time=1)


def test_handles_of_other_worlds():
    """Ids count from 1 in every world: a handle of another one would be another body."""
    a, b = abd.World(), abd.World()
    mine, other = a.add_body(BOX), a.add_body(BOX, position=(2, 0, 0))
    foreign = b.add_body(BOX)
    joint = b.add_joint("hinge", foreign, point=(0, 0, 0), axis=(0, 0, 1))
    for call in (
        lambda: a.add_joint("ball", mine, foreign, point=(1, 0, 0)),
        lambda: a.exclude(mine, foreign),
        lambda: a.set_pair_friction(foreign, other, 0.5),
        lambda: a.collides(mine, foreign),
        lambda: a.remove(foreign),
        lambda: a.remove(joint),
        lambda: a.set_targets([1.0], [joint]),
        lambda: mine.distance(foreign),
        lambda: mine.contact_load_from(foreign),
        lambda: a.cast((0, 0, 5), (0, 0, -1), ignore=foreign),
    ):
        with pytest.raises(abd.ArgumentError, match="belongs to another world"):
            call()
    with pytest.raises(abd.ArgumentError, match="expected an abd.Body of this world, got 2"):
        a.add_joint("ball", mine, 2, point=(1, 0, 0))
    assert a.body_count == 2 and a.joint_count == 0
    a.step()


def test_loads_of_removed_bodies():
    world = abd.World()
    a, b = world.add_body(BOX), world.add_body(BOX, position=(3, 0, 0))
    world.step()
    a.remove()
    with pytest.raises(abd.ArgumentError, match=f"^body {a.id} does not exist: it was removed"):
        _ = a.contact_load
    with pytest.raises(abd.ArgumentError, match=f"^body {b.id} or {a.id} does not exist: it was removed"):
        b.contact_load_from(a)


def test_counts_and_times(tmp_path):
    world = abd.World()
    world.add_body(BOX)
    for call, sentence in (
        (lambda: world.step(-1), "count: expected an integer >= 0, got -1"),
        (lambda: world.step(1.5), "count: expected an integer >= 0, got 1.5"),
        (lambda: world.step_for(-1), "seconds: expected a time >= 0, got -1"),
        (lambda: world.step_for(math.nan), "seconds: expected a time >= 0, got nan"),
        (lambda: world.step_for(math.inf), "seconds: expected a time >= 0, got inf"),
        (lambda: abd.run(world, tmp_path / "a.abd", steps=-3), "steps: expected an integer >= 0, got -3"),
        (lambda: abd.run(world, tmp_path / "a.abd", time=math.nan), "time: expected a time >= 0, got nan"),
        (lambda: abd.run(world, tmp_path / "a.abd", steps=3, every=0), "every: expected an integer >= 1, got 0"),
    ):
        with pytest.raises(abd.ArgumentError, match=sentence):
            call()
    assert world.step_count == 0 and not (tmp_path / "a.abd").exists()


def test_array_is_no_mesh():
    with pytest.raises(abd.ArgumentError, match="expected an abd.Mesh, a file name"):
        abd.Mesh.of(V)
    with pytest.raises(abd.SceneError, match=r"^nothing.stl: no such file$"):
        abd.Mesh.read("nothing.stl")


def test_meshes_of_the_wrong_kind():
    world = abd.World()
    with pytest.raises(abd.ArgumentError, match="8 vertices, 0 triangles, 6 tets> has no triangles: add_soft"):
        world.add_body(abd.shape("box", soft=True, cells=1))
    with pytest.raises(abd.ArgumentError, match="is a half-space, which cannot be soft"):
        world.add_soft(abd.ground())
    with pytest.raises(abd.SceneError, match="size: expected a list of 3 numbers, got 2"):
        abd.box(2)
    soft = world.add_soft(abd.shape("box", soft=True, cells=1))
    world.start()
    with pytest.raises(abd.ArgumentError, match="vertex: expected an integer >= 0, got -1"):
        soft.set_vertex_force(-1, (0, 0, 1))


def test_questions_name_the_value():
    world = abd.World()
    body = world.add_body(BOX)
    for ask in (lambda: world.nearest((0, 0, 0)), lambda: world.cast((0, 0, 0), (0, 0, 1)), lambda: body.overlaps()):
        with pytest.raises(abd.StateError, match="the world has not started"):
            ask()
    world.start()
    for ask, sentence in (
        (lambda: world.nearest((0, 0, 0), -1), "its distance >= 0"),
        (lambda: world.cast((0, 0, 0), (0, 0, 0)), "a direction that is not 0"),
        (lambda: world.overlap_box((0, 0, 0), (-1, 1, 1)), "half sizes >= 0"),
        (lambda: body.distance(body), "two different bodies"),
        (lambda: world.add_joint("ball", point=(0, 0, 0)), "expected a body as its first"),
    ):
        with pytest.raises(abd.ArgumentError, match=sentence):
            ask()


def test_options_without_effect():
    scene = {"version": 1, "bodies": [{"shape": "box"}]}
    for option, sentence in (
        ({"scale": 0.001}, "--scale is for mesh files given alone"),
        ({"hold": True}, "--hold is for robots"),
        ({"base": "free"}, "--base is for robots"),
    ):
        with pytest.raises(abd.SceneError, match=sentence):
            abd.load(scene, **option)
    with pytest.raises(abd.ArgumentError, match="expected the name of a file, a list of names or a dictionary, got 5"):
        abd.load(5)


def test_frames_that_do_not_exist(tmp_path):
    scene = {"version": 1, "steps": 2, "bodies": [{"shape": "box"}]}
    run = abd.run(scene, tmp_path / "a.abd", progress=False)
    for read in (run.contacts, run.readings, run.frame, run.verify):
        with pytest.raises(abd.FileError, match="there is no frame of step 9"):
            read(9)
    with pytest.raises(abd.ArgumentError, match="step: expected an integer >= -1, got -2"):
        run.verify(-2)
    with pytest.raises(abd.ArgumentError, match="azimuth: expected a number, got nan"):
        run.export(tmp_path / "a.png", azimuth=math.nan)
