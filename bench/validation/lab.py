"""Runs scenes through the command `abd` and reads their run files.

A `Lab` belongs to one case: the binary, the settings that this binary accepts, whether to be quick, and figures of peers (other
engines). Energies are computed here from the poses and velocities of the frames, not taken from the solver's own report.
"""

import array
import importlib
import json
import math
import os
import sqlite3
import subprocess

from theory import dot, sub

ENGINES = ("MuJoCo", "Bullet")


class Unsupported(Exception):
    """The binary does not accept a setting that the scene needs."""


class Track:
    """One body of a run: its mass and principal moments, and for every frame p, (c1, c2, c3), v, w."""

    def __init__(self, name, motion, mass, inertia):
        self.name, self.motion, self.mass, self.inertia = name, motion, mass, inertia
        self.p, self.axes, self.v, self.w = [], [], [], []

    def add(self, p, axes, v, w):
        self.p.append(p)
        self.axes.append(axes)
        self.v.append(v)
        self.w.append(w)

    def kinetic(self, k):
        spin = sum(i * dot(self.w[k], c) ** 2 for i, c in zip(self.inertia, self.axes[k]))
        return 0.5 * self.mass * dot(self.v[k], self.v[k]) + 0.5 * spin


class Motion:
    """The frames of one run, by abd or by a peer: `time`, and a Track for each body."""

    def __init__(self, dt, gravity, tracks):
        self.dt, self.gravity, self.tracks, self.time = dt, gravity, tracks, []
        self.unstable = None  # [s] when a peer gave up

    def body(self, name):
        return next(t for t in self.tracks if t.name == name)

    def energies(self):
        """Kinetic energy plus gravity's potential of the dynamic bodies, for every frame [J]."""
        moving = [t for t in self.tracks if t.motion == "dynamic"]
        return [sum(t.kinetic(k) - t.mass * dot(self.gravity, t.p[k]) for t in moving) for k in range(len(self.time))]

    def kinetics(self):
        return [sum(t.kinetic(k) for t in self.tracks if t.motion == "dynamic") for k in range(len(self.time))]


def read_run(path):
    """The motion in a run file of abd."""
    db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    meta = dict(db.execute("SELECT key, value FROM meta WHERE key IN ('dt', 'gravity')"))
    tracks = [
        Track(name, motion, mass, tuple(array.array("d", inertia)) if inertia else (0, 0, 0))
        for name, motion, mass, inertia in db.execute("SELECT name, motion, mass, inertia FROM body ORDER BY id")
    ]
    run = Motion(float(meta["dt"]), tuple(float(x) for x in meta["gravity"].split()), tracks)
    for time, node, velocity in db.execute("SELECT time, node, velocity FROM frame ORDER BY step"):
        run.time.append(time)
        node, velocity = array.array("d", node), array.array("d", velocity)
        for i, track in enumerate(tracks):
            n, v = node[12 * i : 12 * i + 12], velocity[6 * i : 6 * i + 6]
            track.add(tuple(n[0:3]), (tuple(n[3:6]), tuple(n[6:9]), tuple(n[9:12])), tuple(v[0:3]), tuple(v[3:6]))
    db.close()
    return run


class Lab:
    def __init__(self, abd, folder, quick=False, stored=None, use_peers=True):
        self.abd, self.folder, self.quick, self.use_peers = abd, folder, quick, use_peers
        self.stored = stored or {}  # figures of peers from an earlier measurement: case -> engine -> dict
        self.peers = {}  # figures of peers of this measurement, the same shape
        self.count = 0
        self.features = {}

    def supports(self, feature):
        """Whether the binary accepts a setting, tried on a scene of one body: 'restitution', ..."""
        if feature not in self.features:
            ball = {"name": "ball", "shape": "box", "position": [0, 0, 1]}
            ground = {"name": "ground", "shape": "ground"}
            scene = {"version": 1, "steps": 1, "bodies": [ground, ball]}
            if feature == "restitution":
                scene["contact"] = {"restitution": 0.5, "restitution_speed": 0.01}
            elif feature == "body restitution":
                ball["restitution"] = 0.5
            elif feature == "pair restitution":
                scene["pair_friction"] = [{"bodies": ["ground", "ball"], "restitution": 0.5}]
            else:
                scene["integrator"] = feature
            try:
                self.run(scene)
                self.features[feature] = True
            except Unsupported:
                self.features[feature] = False
        return self.features[feature]

    def run(self, scene, dt=None, time=None, every=1):
        """Runs a scene; returns its Motion. Raises Unsupported if the binary rejects one of the new settings."""
        self.count += 1
        name = os.path.join(self.folder, f"run{self.count}")
        scene = dict(scene)
        scene.setdefault("version", 1)
        if dt is not None:
            scene["dt"] = dt
        if time is not None:
            scene.pop("duration", None)
            scene["steps"] = round(time / scene["dt"])
        with open(name + ".json", "w") as file:
            json.dump(scene, file)
        done = subprocess.run(
            [self.abd, "run", name + ".json", "-o", name + ".abd", "-j", "1", "-q", "--force", "--every", str(every)],
            capture_output=True,
            text=True,
        )
        if done.returncode == 2 and any(word in done.stderr for word in ("restitution", "integrator")):
            raise Unsupported(done.stderr.strip())
        if done.returncode != 0:
            raise RuntimeError(f"{self.abd} run failed with exit code {done.returncode}: {done.stderr.strip()}")
        run = read_run(name + ".abd")
        for ending in (".json", ".abd"):
            os.remove(name + ending)
        return run

    def peer(self, case, engine, measure):
        """Figures of another engine: measured now if its package is installed, else those stored, else None.

        `measure(module)` returns {"figures": {name: number}, "curves": {name: [[x...], [y...]]}}.
        """
        if self.quick:
            return None
        if self.use_peers:
            try:
                module = importlib.import_module({"MuJoCo": "peer_mujoco", "Bullet": "peer_bullet"}[engine])
            except ImportError:
                module = None
            if module is not None:
                result = json.loads(json.dumps(measure(module)))
                result["version"] = module.version()
                result["curves"] = {k: [thin(x), thin(y)] for k, (x, y) in result.get("curves", {}).items()}
                self.peers.setdefault(case, {})[engine] = result
                return result
        return self.stored.get(case, {}).get(engine)


def thin(values, most=200):
    """At most so many of the values, rounded to five digits."""
    stride = max(1, math.ceil(len(values) / most))
    return [float(f"{v:.5g}") for v in values[::stride]]


def energy_error(energies, scale):
    """Largest difference of the energy from that of the start, as a part of `scale`."""
    return max(abs(e - energies[0]) for e in energies) / scale


def largest_gain(energies, scale):
    """Largest gain of energy from one frame to the next, as a part of `scale`."""
    return max([0.0] + [b - a for a, b in zip(energies, energies[1:])]) / scale


def sampled(run, values, period):
    """Every value that lies on a multiple of the period, and of how many periods: frames may be nearer or farther apart."""
    spacing = run.time[1] - run.time[0]
    stride, skip = max(1, round(period / spacing)), max(1, round(spacing / period))
    return values[::stride], skip


def separation(a, b):
    d = sub(a, b)
    return math.sqrt(dot(d, d))
