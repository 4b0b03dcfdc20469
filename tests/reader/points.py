"""Compares where a foreign reader found every vertex with the run file.

  points.py times RUN                 prints the times of frames
  points.py compare RUN UP POINTS     POINTS: {"name": [[x, y, z, ...] of every frame, ...], ...} as JSON; UP: the axis that
                                      shall be up in them, y or as (the run's)
  points.py compare RUN UP POINTS STEP   the same of one step; POINTS may have all bodies in one list
Readers may split or sort vertices: a vertex is known by its place in the first frame, and must then go where the run says in
every other, to 1e-6 m (of a metre, and of its distance where that is more). glTF has turns without strain: there, to 1e-6 more
than the body is strained."""
import json
import math
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
from runfile import Run, apply, differ

LIMIT = 1e-6


def to_y_up(up, x):
    """The smallest turn that brings up, which is z or y here, to y."""
    return (x[0], x[2], -x[1]) if up[2] > 0.5 else tuple(x)


def strain(n):
    """|A^T A - I| / 2 of a body: how far its vertices, a metre away, are from where a turn would bring them."""
    c = n[3:6], n[6:9], n[9:12]
    dot = [sum(p * q for p, q in zip(a, b)) - (a is b) for a in c for b in c]
    return 0.5 * math.sqrt(sum(d * d for d in dot))


def same_name(found, names):
    """Bodies of a reader's names: as they are, with what it does not allow replaced, or with the number USD's have."""
    plain = {re.sub(r"[^A-Za-z0-9]", "_", name): name for name in names}
    pairs = {}
    for key in found:
        name = next((n for n in (key, plain.get(key), plain.get(re.sub(r"_\d+$", "", key))) if n in names), None)
        if name:
            pairs[name] = key
    return pairs


CELL = 1e-4


def cell(x, shift=(0, 0, 0)):
    return tuple(math.floor(c / CELL + s) for c, s in zip(x, shift))


def match(first, expected, used):
    """For each vertex that was found the nearest of the expected ones; every one on the surface must be found."""
    near_cell = {}
    for e, x in enumerate(expected):
        near_cell.setdefault(cell(x), []).append(e)
    index, seen = [], set()
    for k in range(0, len(first), 3):
        x = first[k:k + 3]
        around = {cell(x, (i, j, l)) for i in (-0.5, 0.5) for j in (-0.5, 0.5) for l in (-0.5, 0.5)}
        near = [e for c in around for e in near_cell.get(c, ())] or range(len(expected))
        index.append(min(near, key=lambda e: math.dist(x, expected[e])))
        seen.add(index[-1])
    return index, seen.issuperset(used)


def compare(frames, expected_of, used, allowance, what):
    """frames: flat lists; expected_of(f): places of that frame. Returns count, largest difference over what is allowed."""
    count, worst, index = 0, 0, None
    for f, flat in enumerate(frames):
        expected = expected_of(f)
        if index is None:
            index, whole = match(flat, expected, used)
            if not whole:
                sys.exit("WRONG: %s: %d vertices found, of %d some are missing" % (what, len(index), len(expected)))
        for k, e in enumerate(index):
            size = 1 + math.dist((0, 0, 0), expected[e])
            worst = max(worst, differ(flat[3 * k:3 * k + 3], expected[e]) / size - allowance(f))
            count += 1
    return count, worst


def compare_run(run, up, points, step):
    turn = (lambda x: to_y_up(run.up, x)) if up == "y" else tuple
    steps, count, worst = ([step] if step is not None else run.steps), 0, -1
    if len(points) == 1 and len(run.body) > 1:
        return compare([next(iter(points.values()))[0]], lambda f: [turn(x) for x in run.vertices(step)], (), lambda f: 0, "all")
    pairs = same_name(points, [name for _, name, _ in run.body])
    nodes = [run.nodes(s)[1] for s in steps]
    for b, (_, name, mesh) in enumerate(run.body):
        if name not in pairs:
            sys.exit("WRONG: no '%s' among %s" % (name, sorted(points)))
        frames = points[pairs[name]]
        if len(frames) != len(steps):
            sys.exit("WRONG: %s: %d frames of %d" % (name, len(frames), len(steps)))
        loose = (lambda f: strain(nodes[f][b])) if up == "y" and not run.soft[b] else (lambda f: 0)
        c, w = compare(frames, lambda f: [turn(x) for x in run.body_vertices(b, steps[f], nodes[f])], run.triangle[mesh], loose, name)
        count, worst = count + c, max(worst, w)
    return count, worst


def main():
    run = Run(sys.argv[2])
    if sys.argv[1] == "times":
        print(*("%.9g" % run.nodes(step)[0] for step in run.steps))
        return
    points = json.load(open(sys.argv[4]))
    count, worst = compare_run(run, sys.argv[3], points, int(sys.argv[5]) if len(sys.argv) > 5 else None)
    print("%d places compared, largest difference %.3g" % (count, max(worst, 0)))
    if not (count > 0 and worst <= LIMIT):
        sys.exit("WRONG: expected some, and at most %g" % LIMIT)


main()
