"""Scenes that several tests use."""

from pathlib import Path

import pytest

import abd

ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared"


@pytest.fixture
def stack() -> abd.World:
    """Three boxes above a ground."""
    world = abd.World(dt=0.01, contact={"friction": 0.5}, threads=1)
    world.add_body(abd.ground(), name="ground", motion="static")
    box = abd.box((0.2, 0.2, 0.2))
    for k in range(3):
        world.add_body(box, name=f"box {k}", position=(0.03 * k, 0, 0.11 + 0.21 * k), density=500)
    return world


@pytest.fixture
def arm() -> abd.World:
    """A bar on a hinge with a servo, no gravity."""
    world = abd.World(dt=0.01, gravity=(0, 0, 0), threads=1)
    base = world.add_body(abd.box((0.1, 0.1, 0.1)), name="base", motion="static")
    bar = world.add_body(abd.box((0.5, 0.05, 0.05)), name="bar", position=(0.4, 0, 0))
    drive = dict(kind="position", target=0.5, stiffness=20, damping=2)
    world.add_joint("hinge", bar, base, name="axle", point=(0.1, 0, 0), axis=(0, 0, 1), limit=(-1, 1), drive=drive)
    return world
