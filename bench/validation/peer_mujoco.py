"""MuJoCo on the same scene: abd's masses and moments, joints as a tree, closing joints as `connect` constraints.

Poses and velocities at the start are those of frame 0 of abd's run. Only shapes are built from the scene.
"""

import math

import mujoco
import numpy

from lab import Motion, Track
from scene import joint_tree, shape_axes
from theory import add, along, cross, dot, sub

SMOOTH = ("Euler", "RK4")  # integrators for cases without contact; the first is the default


mujoco.set_mju_user_warning(lambda text: None)  # else it writes a file into the working folder


def version():
    return f"MuJoCo {mujoco.__version__}"


def run(scene, start, dt, time, integrator="Euler", contact=False, solref=None, every=1):
    """Steps the scene; returns a Motion as abd's. `start`: abd's Motion of it. solref: MuJoCo's, of all contacts."""
    tree = Tree(scene, start)
    model = mujoco.MjModel.from_xml_string(tree.xml(dt, integrator, contact, solref))
    data = mujoco.MjData(model)
    tree.set_velocities(model, data)
    bodies = [model.body(f"b{i}").id if t.motion == "dynamic" else None for i, t in enumerate(start.tracks)]
    out = Motion(dt, start.gravity, [Track(t.name, t.motion, t.mass, t.inertia) for t in start.tracks])
    for step in range(round(time / dt) + 1):
        if step:
            mujoco.mj_step(model, data)
            if data.warning.number.any():  # MuJoCo restarts when its accelerations are not finite
                out.unstable = step * dt
                break
        if step % every == 0:
            read(model, data, bodies, start, out, step * dt)
    return out


def read(model, data, bodies, start, out, time):
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)
    mujoco.mj_comVel(model, data)
    out.time.append(time)
    speed = numpy.zeros(6)
    for i, (track, body) in enumerate(zip(out.tracks, bodies)):
        if body is None:
            first = start.tracks[i]
            track.add(first.p[0], first.axes[0], first.v[0], first.w[0])
            continue
        mujoco.mj_objectVelocity(model, data, mujoco.mjtObj.mjOBJ_BODY, body, speed, 0)
        m = data.xmat[body].tolist()
        axes = ((m[0], m[3], m[6]), (m[1], m[4], m[7]), (m[2], m[5], m[8]))
        track.add(tuple(data.xpos[body].tolist()), axes, tuple(speed[3:6].tolist()), tuple(speed[0:3].tolist()))


def lists(values):
    return " ".join(repr(float(x)) for x in values)


class Tree:
    def __init__(self, scene, start):
        self.scene, self.tracks, self.gravity = scene, start.tracks, start.gravity
        self.parent, self.joint, self.loops = joint_tree(scene, start.tracks)

    def xml(self, dt, integrator, contact, solref):
        self.contact, self.solref = contact, solref
        out = [
            f'<mujoco><option timestep="{dt!r}" integrator="{integrator}" gravity="{lists(self.gravity)}"/>',
            '<compiler autolimits="true" inertiafromgeom="false" boundmass="0" boundinertia="0"/>',
            "<worldbody>",
        ]
        for i, track in enumerate(self.tracks):
            if track.motion != "dynamic" and contact:
                out.append(self.geom(i, (0, 0, 0), ((1, 0, 0), (0, 1, 0), (0, 0, 1))))
        out += [self.body(i) for i, parent in self.parent.items() if parent == -1]
        out.append("</worldbody><equality>")
        for j, a, b in self.loops:
            first, second = (a, b) if a >= 0 else (b, a)
            t = self.tracks[first]
            other = f' body2="b{second}"' if second >= 0 else ""
            out.append(
                f'<connect body1="b{first}"{other} anchor="{lists(along(t.axes[0], sub(j["point"], t.p[0])))}"/>'
            )
            if j["type"] == "slider":
                raise ValueError("a slider cannot close a loop here; name it first")
        out.append("</equality></mujoco>")
        return "\n".join(out)

    def body(self, i):
        t, parent, j = self.tracks[i], self.parent[i], self.joint[i]
        p, axes = t.p[0], t.axes[0]
        if parent >= 0:
            up = self.tracks[parent]
            p, axes = along(up.axes[0], sub(p, up.p[0])), tuple(along(up.axes[0], c) for c in axes)
        out = f'<body name="b{i}" pos="{lists(p)}" xyaxes="{lists(axes[0] + axes[1])}">'
        out += f'<inertial pos="0 0 0" mass="{t.mass!r}" diaginertia="{lists(t.inertia)}"/>'
        if j is None:
            out += f'<joint name="j{i}" type="free"/>'
        elif j["type"] != "weld":
            kind = {"hinge": "hinge", "ball": "ball", "slider": "slide"}[j["type"]]
            out += f'<joint name="j{i}" type="{kind}" pos="{lists(along(t.axes[0], sub(j["point"], t.p[0])))}"'
            out += f' axis="{lists(along(t.axes[0], j["axis"]))}"/>' if "axis" in j else "/>"
        if self.contact:
            out += self.geom(i, t.p[0], t.axes[0])
        return out + "".join(self.body(c) for c, p in self.parent.items() if p == i) + "</body>"

    def geom(self, i, origin, columns):
        """The shape of a body in its own frame (origin, columns)."""
        body = self.scene["bodies"][i]
        mu = body.get("friction", self.scene.get("contact", {}).get("friction", 0.0))
        more = f' friction="{mu!r} 0.005 0.0001" condim="{3 if mu else 1}"'
        if self.solref:
            more += f' solref="{lists(self.solref)}" solimp="0.999 0.999 0.001"'
        axes = shape_axes(body)
        place = along(columns, sub(body.get("position", (0, 0, 0)), origin))
        turned = [along(columns, c) for c in axes]
        at = f'pos="{lists(place)}" xyaxes="{lists(turned[0] + turned[1])}"'
        shape = body["shape"]
        if shape in ("ground", "half_space"):
            n = body.get("normal", (0, 0, 1))
            return f'<geom type="plane" size="0 0 1" pos="{lists(place)}" zaxis="{lists(n)}"{more}/>'
        if shape == "sphere":
            return f'<geom type="sphere" size="{body["radius"]!r}" {at}{more}/>'
        if shape == "box":
            return f'<geom type="box" size="{lists(0.5 * s for s in body["size"])}" {at}{more}/>'
        return f'<geom type="cylinder" size="{body["radius"]!r} {0.5 * body["height"]!r}" {at}{more}/>'

    def set_velocities(self, model, data):
        for i, j in self.joint.items():
            t, parent = self.tracks[i], self.parent[i]
            base = self.tracks[parent].w[0] if parent >= 0 else (0, 0, 0)
            at = model.joint(f"j{i}").dofadr[0] if j is None or j["type"] != "weld" else None
            turn = sub(t.w[0], base)
            if j is None:
                data.qvel[at : at + 3] = t.v[0]
                data.qvel[at + 3 : at + 6] = along(t.axes[0], t.w[0])
            elif j["type"] == "ball":
                data.qvel[at : at + 3] = along(t.axes[0], turn)
            elif j["type"] == "hinge":
                data.qvel[at] = dot(turn, j["axis"])
            elif j["type"] == "slider":
                v = (
                    t.v[0]
                    if parent < 0
                    else sub(t.v[0], add(self.tracks[parent].v[0], cross(base, sub(t.p[0], self.tracks[parent].p[0]))))
                )
                data.qvel[at] = dot(v, j["axis"])
        mujoco.mj_forward(model, data)


def bounce(scene, start, dt, time, restitution):
    """A run with contact. MuJoCo has no coefficient of restitution; the contact's spring and damper are chosen for it."""
    return run(scene, start, dt, time, contact=True, solref=spring(restitution, dt))


def spring(restitution, dt):
    """Stiffness and damping of a contact that returns a part of the speed, half a period 8 steps; None: the default."""
    if restitution == 0:
        return None
    low, high = 0.0, 0.7
    for _ in range(50):
        ratio = 0.5 * (low + high)
        low, high = (ratio, high) if returned(ratio) > restitution else (low, ratio)
    frequency = math.pi / (8 * dt)
    return (-(frequency**2), -2 * low * frequency)


def returned(ratio):
    """Part of the speed that a spring and damper return; they let go at force zero. ratio: of critical damping."""
    s = math.sqrt(1 - ratio * ratio)
    turn = math.pi - math.atan2(2 * ratio * s, 1 - 2 * ratio * ratio)
    return math.exp(-ratio / s * turn) * (ratio / s * math.sin(turn) - math.cos(turn))
