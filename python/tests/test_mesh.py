"""Meshes from arrays, files, trimesh, meshio and shapes."""

import numpy as np
import pytest
from conftest import ROOT

import abd

PARTS = ROOT / "docs/tutorial"


def test_files_and_scale():
    wheel = abd.Mesh.read(PARTS / "wheel.stl", scale=0.001)
    assert wheel.vertices.shape == (194, 3) and wheel.triangles.shape == (384, 3)
    assert np.allclose(abd.Mesh.read(PARTS / "wheel.stl").vertices, 1000 * wheel.vertices)
    assert "194 vertices, 384 triangles" in repr(wheel)
    world = abd.World()
    one, two = world.add_body(wheel), world.add_body(wheel, position=(1, 0, 0))
    assert one.mesh.id == two.mesh.id  # shared
    assert world.add_body(str(PARTS / "wheel.stl"), position=(500, 0, 0)).mass == pytest.approx(1e9 * one.mass)


def test_any_integers_and_layout():
    box = abd.box()
    for kind in ("i1", "u1", "i8", "u8", ">i4"):
        assert np.array_equal(abd.Mesh(box.vertices, box.triangles.astype(kind)).triangles, box.triangles)
    assert np.array_equal(abd.Mesh(np.asfortranarray(box.vertices), box.triangles[::1]).vertices, box.vertices)
    assert abd.Mesh(box.vertices.astype("f4")).vertices.dtype == np.float64
    assert abd.Mesh(box.vertices.tolist(), box.triangles.tolist()).triangles.dtype == np.uint32


def test_wires_points_and_shells():
    world = abd.World()
    wire = world.add_body(abd.Mesh([[0, 0, 0], [1, 0, 0]], edges=[[0, 1]], thickness=0.01), density=1000)
    assert wire.mass == pytest.approx(1000 * np.pi / 4 * 0.01**2, rel=0.3)
    sheet = world.add_body(abd.shape("grid", size=[1, 1], cells=[2, 2]), position=(0, 0, 1), density=2)
    assert sheet.mass == pytest.approx(2) and not sheet.mesh.closed
    world.step()


def test_trimesh():
    trimesh = pytest.importorskip("trimesh")
    box = trimesh.creation.box((1, 2, 3))
    world = abd.World()
    assert world.add_body(box).mass == pytest.approx(6000)
    scene = trimesh.Scene([box, trimesh.creation.icosphere(2, 0.5).apply_translation((5, 0, 0))])
    assert world.add_body(scene, position=(0, 0, 9)).mass == pytest.approx(6000 + 500, rel=0.05)


def test_meshio():
    meshio = pytest.importorskip("meshio")
    tets = abd.shape("box", soft=True, cells=1)
    assert len(tets.tets) == 6
    mesh = meshio.Mesh(tets.vertices, [("tetra", tets.tets.astype(int))])
    world = abd.World()
    assert world.add_soft(mesh, density=100).info["mass"] == pytest.approx(100)
    triangle = meshio.Mesh([[0, 0], [1, 0], [0, 1]], [("triangle", [[0, 1, 2]])])
    assert world.add_body(triangle, position=(0, 0, 5), density=1).mass == pytest.approx(0.5)


def test_what_the_mass_is_of():
    """Flipped faces are corrected, an open surface has the mass of its area or of its thickness."""
    box = abd.box((1, 1, 1))
    flipped = box.triangles.copy()
    flipped[::2] = flipped[::2, ::-1]
    meshes = [box, abd.Mesh(box.vertices, flipped), abd.Mesh(box.vertices, box.triangles[2:])]
    meshes.append(abd.Mesh(box.vertices, box.triangles[2:], thickness=0.01))
    world = abd.World(gravity=(0, 0, 0))
    bodies = [world.add_body(mesh, density=10, position=(4 * k, 0, 0)) for k, mesh in enumerate(meshes)]
    world.start()
    print([(body.mesh.source, body.mass) for body in bodies])
    assert [body.mesh.source for body in bodies] == ["enclosed", "covered", "sheet", "sheet"]
    assert [body.mass for body in bodies] == pytest.approx([10, 10, 50, 0.5])
