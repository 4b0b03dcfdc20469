"""Bullet on the same scene: Featherstone's multi-bodies from URDF, closing joints as point constraints.

Damping, motors and the limit on joint speeds are off.

Poses and velocities at the start are those of frame 0 of abd's run. Each tree of joints is one multi-body; the axes of its
links are the world's at the start.
"""

import importlib.metadata
import math
import os
import tempfile

import pybullet as bullet

from lab import Motion, Track
from scene import joint_tree, shape_axes
from theory import combine, dot, sub

SMOOTH = ("default",)


def version():
    return f"Bullet (pybullet {importlib.metadata.version('pybullet')})"


def bounce(scene, start, dt, time, restitution):
    """A run with contact and a coefficient of restitution."""
    return run(scene, start, dt, time, contact=True, restitution=restitution)


def run(scene, start, dt, time, integrator="default", contact=False, restitution=0, every=1):
    """Steps the scene; returns a Motion as abd's. `start`: abd's Motion of it."""
    bullet.connect(bullet.DIRECT)
    try:
        bullet.setGravity(*start.gravity)
        bullet.setTimeStep(dt)
        world = World(scene, start, contact, restitution)
        out = Motion(dt, start.gravity, [Track(t.name, t.motion, t.mass, t.inertia) for t in start.tracks])
        for step in range(round(time / dt) + 1):
            if step:
                bullet.stepSimulation()
            if step % every == 0:
                world.read(out, step * dt)
        return out
    finally:
        bullet.disconnect()


class World:
    def __init__(self, scene, start, contact, restitution):
        self.scene, self.tracks, self.contact, self.restitution = scene, start.tracks, contact, restitution
        self.parent, self.joint, self.loops = joint_tree(scene, start.tracks)
        self.place = {}  # body -> (multi-body, link)
        if contact:
            for i, track in enumerate(self.tracks):
                if track.motion != "dynamic":
                    self.add_static(i)
        for i, parent in self.parent.items():
            if parent == -1:
                self.add_tree(i)
        for loop in self.loops:
            self.close(*loop)
        self.set_velocities()
        self.turned = {i: self.state(i)[1] for i in self.place}

    def children(self, i):
        return [c for c, p in self.parent.items() if p == i]

    def origin(self, i):
        """Origin of a body's link: its joint, or its centre of mass."""
        j = self.joint[i]
        return tuple(j["point"]) if j is not None and "point" in j else self.tracks[i].p[0]

    def add_static(self, i):
        body = self.scene["bodies"][i]
        if body["shape"] in ("ground", "half_space"):
            shape = bullet.createCollisionShape(bullet.GEOM_PLANE, planeNormal=body.get("normal", (0, 0, 1)))
        else:
            shape = bullet.createCollisionShape(bullet.GEOM_BOX, halfExtents=[0.5 * s for s in body["size"]])
        number = bullet.createMultiBody(0, shape, basePosition=body.get("position", (0, 0, 0)))
        bullet.changeDynamics(number, -1, restitution=1.0, lateralFriction=1.0)

    def add_tree(self, root):
        fixed = self.joint[root] is not None
        order = []
        text = ['<robot name="r">'] + (
            [
                '<link name="world"><inertial><mass value="0"/><inertia ixx="0" ixy="0" ixz="0" iyy="0" iyz="0"'
                ' izz="0"/></inertial></link>'
            ]
            if fixed
            else []
        )
        self.write(root, "world" if fixed else None, (0.0, 0.0, 0.0), text, order)
        text.append("</robot>")
        with tempfile.NamedTemporaryFile("w", suffix=".urdf", delete=False) as file:
            file.write("\n".join(text))
        try:
            number = bullet.loadURDF(file.name, useFixedBase=fixed, flags=bullet.URDF_USE_INERTIA_FROM_FILE)
        finally:
            os.remove(file.name)
        links = {bullet.getJointInfo(number, k)[12].decode(): k for k in range(bullet.getNumJoints(number))}
        for i in order:
            self.place[i] = (number, links.get(f"b{i}", -1))
            mu = self.scene["bodies"][i].get("friction", self.scene.get("contact", {}).get("friction", 0.0))
            bullet.changeDynamics(
                number, -1, linearDamping=0, angularDamping=0, maxJointVelocity=1e9
            )  # of the whole multi-body
            bullet.changeDynamics(*self.place[i], jointDamping=0, restitution=self.restitution, lateralFriction=mu)
        if not fixed:
            track = self.tracks[root]
            bullet.resetBasePositionAndOrientation(number, track.p[0], bullet.getBasePositionAndOrientation(number)[1])

    def write(self, i, above, above_origin, text, order):
        """The link of a body and its joint to the link above, then its children."""
        t, origin, j = self.tracks[i], self.origin(i), self.joint[i]
        order.append(i)
        tensor = [[sum(m * c[a] * c[b] for m, c in zip(t.inertia, t.axes[0])) for b in range(3)] for a in range(3)]
        text.append(
            f'<link name="b{i}"><inertial><origin xyz="{lists(sub(t.p[0], origin))}"/><mass'
            f' value="{t.mass!r}"/><inertia ixx="{tensor[0][0]!r}" ixy="{tensor[0][1]!r}" ixz="{tensor[0][2]!r}"'
            f' iyy="{tensor[1][1]!r}" iyz="{tensor[1][2]!r}"'
            f' izz="{tensor[2][2]!r}"/></inertial>{self.shape(i, origin) if self.contact else ""}</link>'
        )
        if above is not None:
            kind = (
                "fixed"
                if j["type"] == "weld"
                else {"hinge": "continuous", "ball": "spherical", "slider": "prismatic"}[j["type"]]
            )
            axis = f'<axis xyz="{lists(j.get("axis", (1, 0, 0)))}"/>'
            limit = '<limit lower="-100" upper="100" effort="1e9" velocity="1e9"/>' if kind == "prismatic" else ""
            text.append(
                f'<joint name="j{i}" type="{kind}"><parent link="{above}"/><child link="b{i}"/>'
                f'<origin xyz="{lists(sub(origin, above_origin))}"/>{axis}{limit}</joint>'
            )
        for child in self.children(i):
            self.write(child, f"b{i}", origin, text, order)

    def shape(self, i, origin):
        body = self.scene["bodies"][i]
        axes = shape_axes(body)
        place = sub(body["position"], origin)
        kind = body["shape"]
        if kind == "sphere":
            geometry = f'<sphere radius="{body["radius"]!r}"/>'
        elif kind == "box":
            geometry = f'<box size="{lists(body["size"])}"/>'
        else:
            geometry = f'<cylinder radius="{body["radius"]!r}" length="{body["height"]!r}"/>'
        return (
            f'<collision><origin xyz="{lists(place)}"'
            f' rpy="{lists(roll_pitch_yaw(axes))}"/><geometry>{geometry}</geometry></collision>'
        )

    def local(self, i, point):
        """A point of the world in the frame of a body's centre of mass, which is turned to its principal axes."""
        p, q = self.state(i)[:2]
        return tuple(dot(c, sub(point, p)) for c in columns(bullet.getMatrixFromQuaternion(q)))

    def close(self, j, a, b):
        first, second = (a, b) if a >= 0 else (b, a)
        other = self.place[second] if second >= 0 else (-1, -1)
        there = self.local(second, j["point"]) if second >= 0 else j["point"]
        number = bullet.createConstraint(
            *self.place[first], *other, bullet.JOINT_POINT2POINT, (0, 0, 0), self.local(first, j["point"]), there
        )
        bullet.changeConstraint(number, maxForce=1e9)

    def set_velocities(self):
        for i, j in self.joint.items():
            t, parent = self.tracks[i], self.parent[i]
            number, link = self.place[i]
            base = self.tracks[parent].w[0] if parent >= 0 else (0, 0, 0)
            turn = sub(t.w[0], base)
            if j is None:
                bullet.resetBaseVelocity(number, t.v[0], t.w[0])
            elif j["type"] == "ball":
                bullet.resetJointStateMultiDof(number, link, (0, 0, 0, 1), turn)
                bullet.setJointMotorControlMultiDof(
                    number,
                    link,
                    bullet.POSITION_CONTROL,
                    targetPosition=(0, 0, 0, 1),
                    positionGain=0,
                    velocityGain=0,
                    force=(0, 0, 0),
                )
            elif j["type"] == "hinge":
                bullet.resetJointState(number, link, 0, dot(turn, j["axis"]))
                bullet.setJointMotorControl2(number, link, bullet.VELOCITY_CONTROL, force=0)
            elif j["type"] == "slider":
                bullet.resetJointState(number, link, 0, dot(t.v[0], j["axis"]))
                bullet.setJointMotorControl2(number, link, bullet.VELOCITY_CONTROL, force=0)

    def state(self, i):
        """Centre of mass, orientation, velocities."""
        number, link = self.place[i]
        if link < 0:
            return bullet.getBasePositionAndOrientation(number) + bullet.getBaseVelocity(number)
        s = bullet.getLinkState(number, link, computeLinkVelocity=1, computeForwardKinematics=1)
        return s[0], s[1], s[6], s[7]

    def read(self, out, time):
        out.time.append(time)
        for i, track in enumerate(out.tracks):
            first = self.tracks[i]
            if i not in self.place:
                track.add(first.p[0], first.axes[0], first.v[0], first.w[0])
                continue
            p, q, v, w = self.state(i)
            now, then = columns(bullet.getMatrixFromQuaternion(q)), columns(
                bullet.getMatrixFromQuaternion(self.turned[i])
            )
            axes = tuple(combine(now, tuple(dot(c, e) for c in then)) for e in first.axes[0])
            track.add(tuple(p), axes, tuple(v), tuple(w))


def columns(m):
    return ((m[0], m[3], m[6]), (m[1], m[4], m[7]), (m[2], m[5], m[8]))


def roll_pitch_yaw(axes):
    """Angles about the fixed axes x, y, z of a rotation with these columns."""
    (a, b, c), _, (_, _, i) = axes
    f = axes[1][2]
    return math.atan2(f, i), math.atan2(-c, math.hypot(a, b)), math.atan2(b, a)


def lists(values):
    return " ".join(repr(float(x)) for x in values)
