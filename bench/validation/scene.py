"""Parts of scenes that several cases and peers use."""

import math

from theory import combine, cross, dot, mul, norm


def rotated(axis, angle, v):
    """v turned about a unit axis (Rodrigues)."""
    c, s = math.cos(angle), math.sin(angle)
    k = dot(axis, v) * (1 - c)
    x = cross(axis, v)
    return tuple(c * v[i] + s * x[i] + k * axis[i] for i in range(3))


def shape_axes(body):
    """The axes of a body's shape in the world at the start, from its `rotation` or `euler_degrees`."""
    axes = [(1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)]
    if "rotation" in body:
        axis = mul(1 / norm(body["rotation"]["axis"]), body["rotation"]["axis"])
        angle = body["rotation"].get("radians", math.radians(body["rotation"].get("degrees", 0.0)))
        return tuple(rotated(axis, angle, a) for a in axes)
    for i, degrees in enumerate(body.get("euler_degrees", (0, 0, 0))):
        turn = tuple(1.0 if k == i else 0.0 for k in range(3))
        axes = [rotated(turn, math.radians(degrees), a) for a in axes]
    return tuple(axes)


def joint_ends(joint, index, tracks):
    """Numbers of a joint's two bodies; -1 is the world or a static body."""
    ends = [index[name] for name in joint["bodies"]] + [-1]
    return [e if e >= 0 and tracks[e].motion == "dynamic" else -1 for e in ends[:2]]


def joint_tree(scene, tracks):
    """Joins every dynamic body to a tree by the first joint that reaches it; further joints close loops.

    Returns parents by body (-1: the world), joints by body (None: free) and the loops as (joint, body, body).
    """
    parent, joint, loops, reached = {}, {}, [], {-1}
    index = {t.name: i for i, t in enumerate(tracks)}
    waiting = [(j, *joint_ends(j, index, tracks)) for j in scene.get("joints", [])]
    while waiting:
        entry = next((e for e in waiting if e[1] in reached or e[2] in reached), None)
        if entry is None:
            root = waiting[0][2]
            parent[root], joint[root] = -1, None
            reached.add(root)
            continue
        waiting.remove(entry)
        j, a, b = entry
        if a in reached and b in reached:
            loops.append(entry)
            continue
        child = b if a in reached else a
        parent[child], joint[child] = (a if child == b else b), j
        reached.add(child)
    for i, track in enumerate(tracks):
        if track.motion == "dynamic" and i not in parent:
            parent[i], joint[i] = -1, None
    return parent, joint, loops


def corners(body):
    """The corners of a box in the world at the start, from the box's centre."""
    half = [0.5 * s for s in body["size"]]
    return [
        combine(shape_axes(body), (x, y, z))
        for x in (-half[0], half[0])
        for y in (-half[1], half[1])
        for z in (-half[2], half[2])
    ]


def extrude(outline, faces, low, high):
    """A closed mesh: a polygon in x, y (counter-clockwise; `faces` are its triangles) from z = low to z = high."""
    n = len(outline)
    vertices = [[x, y, z] for z in (low, high) for x, y in outline]
    triangles = [[c, b, a] for a, b, c in faces] + [[a + n, b + n, c + n] for a, b, c in faces]
    for i in range(n):
        j = (i + 1) % n
        triangles += [[i, j, j + n], [i, j + n, i + n]]
    return {"vertices": vertices, "triangles": triangles}
