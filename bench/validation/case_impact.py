"""Impacts: rebounds of free and joined bodies, a rod against a wall, Newton's cradle."""

import math

from case import Case, number, percent, step
from lab import ENGINES, largest_gain
from plot import ENGINE, SHADES, Plot
from scene import corners
from theory import G, add, cross, dot, impact_speeds, norm, pendulum_period

DROP = 1.0
RESTITUTIONS = (0, 0.3, 0.7, 1)
GROUND = {"name": "ground", "shape": "ground"}


def bouncing(scene, restitution):
    """The scene with a coefficient of restitution; without the key if it is 0, so that every binary runs it."""
    if restitution:
        scene.setdefault("contact", {})["restitution"] = restitution
    return scene


def steps_of(lab):
    return (1 / 50, 1 / 100) if lab.quick else (1 / 50, 1 / 100, 1 / 1000)


def tried(lab, restitution):
    return restitution == 0 or lab.supports("restitution")


# ---- ball and flat box

BODY = {
    "ball": {"name": "body", "shape": "sphere", "radius": 0.1, "position": [0, 0, DROP + 0.1]},
    "flat box": {"name": "body", "shape": "box", "size": [0.2, 0.2, 0.2], "position": [0, 0, DROP + 0.1]},
}


def bounce_scene(kind, restitution):
    return bouncing({"bodies": [GROUND, dict(BODY[kind])]}, restitution)


def heights(run, name="body"):
    """How far the body is above the height at which it touches the ground."""
    first = run.body(name).p[0][2]
    return [p[2] - first + DROP for p in run.body(name).p]


def apexes(run, name="body"):
    """Heights at which the body turns downwards after each impact; 0 if it does not rise."""
    v = [u[2] for u in run.body(name).v]
    h = heights(run, name)
    out, low = [], None
    for k in range(1, len(v)):
        if v[k] > 0.05 and v[k - 1] <= 0.05:
            low = k
        if low is not None and v[k] <= 0:
            out.append(max(h[low : k + 1]))
            low = None
    return out


def rebound(run, name="body"):
    return max([0.0] + apexes(run, name)[:1])


def rebound_error(height, restitution):
    """Part of e^2 h by which a rebound is off; of h if e is 0."""
    want = restitution**2 * DROP
    return abs(height - want) / (want or DROP)


def loss_a_bounce(run):
    """Mean part of the height that a bounce loses, over the first five."""
    found = [DROP] + apexes(run)[:5]
    return 1 - (found[-1] / found[0]) ** (1 / (len(found) - 1)) if len(found) > 1 else 1.0


def exact_heights(restitution, time):
    """A point that bounces, every 5 ms."""
    times, out = [0.005 * k for k in range(round(time / 0.005) + 1)], []
    begin, speed = -math.sqrt(2 * DROP / G), math.sqrt(2 * G * DROP)  # of the present arc
    for t in times:
        while t - begin > 2 * speed / G and speed > 1e-3:
            begin, speed = begin + 2 * speed / G, restitution * speed
        u = t - begin
        out.append(max(0.0, speed * u - 0.5 * G * u * u))
    return times, out


def bounce(lab):
    case = Case("bounce", "Bounces: ball and flat box")
    time = 2.5 if lab.quick else 5
    plot = Plot("Ball dropped from 1 m, dt 1/100", "time [s]", "height [m]", xlim=(0, 3), ylim=(-0.05, 1.1))
    for restitution in RESTITUTIONS:
        plot.theory(*exact_heights(restitution, 3), "" if restitution else "exact, each e")
    errors = Plot(
        "Ball: rebound over restitution",
        "coefficient of restitution e",
        "rebound / drop",
        xlim=(-0.03, 1.03),
        ylim=(-0.05, 1.1),
    )
    errors.theory([i / 50 for i in range(51)], [(i / 50) ** 2 for i in range(51)], "e^2")
    rows = []
    for kind in BODY:
        gain, loss, points = 0.0, None, {}
        for restitution, color in zip(RESTITUTIONS, SHADES):
            cells, worst = [], None
            for dt in steps_of(lab):
                if not tried(lab, restitution):
                    cells.append("not supported")
                    continue
                run = lab.run(bounce_scene(kind, restitution), dt, time)
                height = rebound(run)
                worst = max(worst or 0.0, rebound_error(height, restitution))
                points.setdefault(dt, []).append((restitution, height))
                cells.append(number(height, 4))
                energies = run.energies()
                gain = max(gain, max(e - energies[0] for e in energies) / (run.body("body").mass * G * DROP))
                if restitution == 1:
                    loss = max(loss or 0.0, loss_a_bounce(run))
                if kind == "ball" and dt == 1 / 100:
                    plot.line(f"abd, e = {restitution}", run.time, heights(run), color)
            rows.append([f"abd, {kind}, e = {restitution}", number(restitution**2 * DROP)] + cells)
            what = (
                f"{kind}, e = {restitution}: rebound against e^2 h"
                if restitution
                else f"{kind}, e = 0: rebound over the drop"
            )
            case.check(what + ", all steps", worst, 0.02, "%")
        case.check(f"{kind}, e = 1: mean loss of height a bounce, all steps", loss, 0.02, "%")
        case.check(f"{kind}: energy above that of the start, all e and steps", gain, 1e-3, "%")
        if kind == "ball":
            for mark, (dt, values) in zip("osx", points.items()):
                errors.marks(f"abd, {step(dt)}", *zip(*values), SHADES["osx".index(mark)], mark)
    check_keys(lab, case)

    def measure(module):
        out = {"figures": {}, "curves": {}}
        for restitution in RESTITUTIONS:
            found = []
            for dt in (1 / 50, 1 / 100, 1 / 1000):
                start = lab.run(bounce_scene("ball", 0), dt, dt)
                run = module.bounce(bounce_scene("ball", 0), start, dt, 3, restitution)
                found.append(rebound(run))
                if dt == 1 / 100:
                    out["curves"][str(restitution)] = [run.time, heights(run)]
            out["figures"][str(restitution)] = found
        return out

    for engine in ENGINES:
        peer = lab.peer("bounce", engine, measure)
        if peer:
            for restitution, found in peer["figures"].items():
                rows.append(
                    [f"{engine}, ball, e = {restitution}", number(float(restitution) ** 2 * DROP)]
                    + [number(f, 4) for f in found]
                )
            plot.peer(engine, f"{engine}, e = 0.7", *peer["curves"]["0.7"])
            errors.marks(
                f"{engine}, 1/100",
                RESTITUTIONS,
                [peer["figures"][str(e)][1] for e in RESTITUTIONS],
                ENGINE[engine],
                "s",
            )
    case.plot(plot)
    case.plot(errors)
    case.table(["rebound of the first bounce [m]", "e^2 h"] + [step(dt) for dt in steps_of(lab)], rows)
    case.theory = (
        "Newton's law of impact: the body leaves the ground with e times the speed of its arrival, so it rises to e^2"
        " times the height of its fall. With e = 0 it stays. It never has more energy than at the start."
    )
    case.setup = (
        f"A ball (radius 0.1 m, mesh of 1280 triangles) and a box (0.2 m) that falls flat, dropped from {DROP:g} m on a"
        " ground, without friction. Rebound: highest point of the centre of mass after the first impact, above its"
        " height at first touch."
    )
    case.limits = (
        "A step that meets the ground ends in contact, so the time of an impact is known to one step. MuJoCo has no"
        " coefficient of restitution: its figures use a spring and damper in the contact that last about 8 steps."
    )
    return case


def check_keys(lab, case):
    """e = 0.7 written for the world, for both bodies and for the pair: the same rebound."""
    body = bounce_scene("ball", 0)
    body["bodies"] = [dict(b, restitution=0.7) for b in body["bodies"]]
    pair = bounce_scene("ball", 0)
    pair["pair_friction"] = [{"bodies": ["ground", "body"], "restitution": 0.7}]
    for what, feature, scene in (("both bodies", "body restitution", body), ("the pair", "pair restitution", pair)):
        value = None
        if lab.supports(feature):
            value = rebound_error(rebound(lab.run(scene, 0.01, 1.5)), 0.7)
        case.check(f"ball, e = 0.7 written for {what}: rebound against e^2 h, dt 1/100", value, 0.02, "%")


# ---- box on a corner

SIZE = 1.0


def corner_scene(restitution):
    box = {"name": "body", "shape": "box", "size": [SIZE, SIZE, SIZE], "euler_degrees": [35, 25, 0]}
    box["position"] = [0, 0, DROP - min(c[2] for c in corners(box))]
    return bouncing({"bodies": [GROUND, box]}, restitution)


def after_impact(run):
    """The frame before the first impact, and the one after it.

    After: the lowest corner no longer approaches the ground; of this frame and the next two the one with the most energy, because
    an engine may stop the corner in one step and reflect it in the next.
    """
    track, energies = run.body("body"), run.energies()
    speed = math.sqrt(2 * G * DROP)
    before = next(k for k in range(len(run.time)) if norm(track.w[k + 1]) > 1e-3 * speed / SIZE)
    after = before + 1
    while add(track.v[after], cross(track.w[after], lowest(track, after)))[2] < -0.05 * speed:
        after += 1
    return before, max(range(after, after + 3), key=lambda k: energies[k])


def lowest(track, k):
    half = 0.5 * SIZE
    points = [
        tuple(half * sum(s * c[i] for s, c in zip((x, y, z), track.axes[k])) for i in range(3))
        for x in (-1, 1)
        for y in (-1, 1)
        for z in (-1, 1)
    ]
    return min(points, key=lambda p: p[2])


def corner_exact(run, restitution):
    """Energy kept in the first impact by Newton's law, as a part of the energy of the fall."""
    track = run.body("body")
    v, w = impact_speeds(track.mass, track.inertia, track.axes[0], lowest(track, 0), (0, 0, -1), (0, 0, 0), restitution)
    columns = track.axes[0]
    spin = sum(i * dot(w, c) ** 2 for i, c in zip(track.inertia, columns))
    return (track.mass * dot(v, v) + spin) / track.mass


def corner(lab):
    case = Case("corner", "Bounces: box on a corner")
    time = 1.5 if lab.quick else 4
    steps = steps_of(lab)
    plot = Plot("Box on a corner, dt 1/100: energy", "time [s]", "energy / energy at the start", ylim=(0, 1.1))
    rows = []
    for restitution, color in zip(RESTITUTIONS, SHADES):
        cells, error, gain, loss = [], None, None, None
        for dt in steps:
            if not tried(lab, restitution):
                cells.append("not supported")
                continue
            run = lab.run(corner_scene(restitution), dt, time)
            track = run.body("body")
            weight, first = track.mass * G, track.p[0][2]
            touch = [e - weight * (first - DROP) for e in run.energies()]  # above the height of first touch
            energies = [(e - weight * 0.5 * SIZE) / (weight * (first - 0.5 * SIZE)) for e in run.energies()]
            before, after = after_impact(run)
            kept = touch[after] / touch[before]
            cells.append(percent(kept, 3))
            if dt == steps[-1]:
                error = abs(kept - corner_exact(run, restitution))
            gain = max(gain or 0.0, max(energies) - 1)
            if restitution == 1:
                loss = max(loss or 0.0, 1 - min(energies))
            if dt == 1 / 100:
                plot.line(f"abd, e = {restitution}", run.time, energies, color)
        exact = corner_exact(lab.run(corner_scene(0), 0.01, 0.01), restitution)
        rows.append([f"abd, e = {restitution}", percent(exact, 3)] + cells)
        if not lab.quick:
            case.check(
                f"e = {restitution}: energy kept in the first impact against theory, dt 1/1000", error, 0.02, "%"
            )
        case.check(f"e = {restitution}: energy above that of the start, all steps", gain, 1e-3, "%")
        if restitution == 1:
            case.check(f"e = 1: energy lost in {time:g} s, all steps", loss, 0.1, "%")

    def measure(module):
        out = {"figures": {}, "curves": {}}
        for restitution in RESTITUTIONS:
            run = module.bounce(corner_scene(0), lab.run(corner_scene(0), 0.01, 0.01), 0.01, time, restitution)
            track = run.body("body")
            weight, first = track.mass * G, track.p[0][2]
            energies = [(e - weight * 0.5 * SIZE) / (weight * (first - 0.5 * SIZE)) for e in run.energies()]
            out["figures"][str(restitution)] = max(energies) - 1
            out["curves"][str(restitution)] = [run.time, energies]
        return out

    for engine in ENGINES:
        peer = lab.peer("corner", engine, measure)
        if peer:
            plot.peer(engine, f"{engine}, e = 1", *peer["curves"]["1"])
            gains = ", ".join(f"{percent(g)} with e = {e}" for e, g in peer["figures"].items())
            case.notes.append(f"{engine} at 1/100: largest energy above that of the start {gains}.")
    case.plot(plot)
    case.table(["energy kept in the first impact", "theory"] + [step(dt) for dt in steps], rows)
    case.theory = (
        "Newton's law at one point without friction: the corner leaves with e times its speed of arrival. The impulse"
        " is (1 + e) v / (1/m + (r x n).I^-1 (r x n)); part of the energy becomes spin. With e = 1 all impacts together"
        " keep the energy."
    )
    case.setup = (
        f"A box of {SIZE:g} m, turned by 35 and 25 degrees about x and y, dropped from {DROP:g} m on one corner,"
        " without friction. Energy kept: after the first impact over before, both above the height of first touch."
        " Other energies are counted from the box at rest on a face."
    )
    first = lab.run(corner_scene(0), 0.01, 0.01).body("body")
    speed = math.sqrt(2 * G * DROP)
    spin = norm(
        impact_speeds(first.mass, first.inertia, first.axes[0], lowest(first, 0), (0, 0, -speed), (0, 0, 0), 0)[1]
    )
    case.limits = (
        f"Theory's impact takes no time. In a step of 1/50 s the box falls by {speed / 50:.2f} m before the impact and"
        f" turns by {math.degrees(spin / 50):.0f} degrees and more after it, so energies after a step with an impact"
        " are comparable for small steps only; the bound is for 1/1000 s. Later corners hit as the box tumbles; for"
        " these the energy alone is compared."
    )
    return case


# ---- two welded balls


def welded_scene(restitution):
    balls = [
        {"name": name, "shape": "sphere", "radius": 0.1, "position": [x, 0, DROP + 0.1]}
        for name, x in (("body", -0.15), ("other", 0.15))
    ]
    return bouncing(
        {"bodies": [GROUND] + balls, "joints": [{"type": "weld", "bodies": ["body", "other"]}]}, restitution
    )


def welded_balls(lab):
    case = Case("welded-balls", "Two welded balls")
    steps = (1 / 50, 1 / 100) if lab.quick else (1 / 50, 1 / 100, 1 / 200, 1 / 500, 1 / 1000)
    plot = Plot("Two welded balls dropped from 1 m, e = 0", "time [s]", "height [m]", ylim=(-0.05, 1.1))
    plot.theory(*exact_heights(0, 2), "exact")
    rows = []
    for restitution in (0, 0.7):
        cells, worst = [], None
        for dt in steps:
            if not tried(lab, restitution):
                cells.append("not supported")
                continue
            run = lab.run(welded_scene(restitution), dt, 2)
            height = rebound(run)
            worst = max(worst or 0.0, rebound_error(height, restitution))
            cells.append(number(height))
            if restitution == 0 and dt in (1 / 50, 1 / 100, 1 / 1000):
                plot.line(f"abd, {step(dt)}", run.time, heights(run), SHADES[(1 / 50, 1 / 100, 1 / 1000).index(dt)])
        rows.append([f"abd, e = {restitution}", number(restitution**2 * DROP)] + cells)
        case.check(
            f"e = {restitution}: rebound against {'e^2 h' if restitution else '0, over the drop'}, all steps",
            worst,
            0.02,
            "%",
        )

    def measure(module):
        found, curves = [], {}
        for dt in steps:
            run = module.bounce(welded_scene(0), lab.run(welded_scene(0), dt, dt), dt, 2, 0)
            found.append(rebound(run))
            if dt == 1 / 100:
                curves["height"] = [run.time, heights(run)]
        return {"figures": {"0": found}, "curves": curves}

    for engine in ENGINES:
        peer = lab.peer("welded-balls", engine, measure)
        if peer:
            rows.append([f"{engine}, e = 0", "0"] + [number(f) for f in peer["figures"]["0"]])
            plot.peer(engine, f"{engine}, 1/100", *peer["curves"]["height"])
    case.plot(plot)
    case.table(["rebound [m]", "theory"] + [step(dt) for dt in steps], rows)
    case.theory = (
        "Both balls touch at the same time, so the pair rebounds as one ball does: to e^2 h; with e = 0 not at all."
    )
    case.setup = f"Two balls of radius 0.1 m side by side, 0.3 m apart, joined by a weld, dropped from {DROP:g} m."
    case.limits = "The weld carries no impulse in this case; the rod against a wall below loads its joint."
    return case


# ---- a hinged rod against a wall

ROD, THICK = 1.0, 0.06


def wall_scene(restitution):
    """A rod on a hinge, released in a horizontal line; it hits a wall with its free end when it is vertical."""
    rod = {"name": "body", "shape": "box", "size": [ROD, THICK, THICK], "position": [0.5 * ROD, 0, 0]}
    wall = {
        "name": "wall",
        "shape": "box",
        "size": [0.2, 1, 0.4],
        "motion": "static",
        "position": [-0.1 - 0.5 * THICK - 0.001, 0, -ROD + 0.1],
    }
    hinge = {"type": "hinge", "bodies": ["body"], "point": [0, 0, 0], "axis": [0, 1, 0]}
    return bouncing({"bodies": [wall, rod], "joints": [hinge]}, restitution)


def wall_figures(run):
    """Speed after the impact over that before; the largest gain of energy in a step and in all over the energy released."""
    track = run.body("body")
    fall = track.mass * G * 0.5 * ROD
    w = [u[1] for u in track.w]
    fastest = max(range(len(w)), key=lambda k: w[k] if all(x >= -0.3 for x in w[: k + 1]) else -1)
    back = max([0.0] + [-x for x in w[fastest : fastest + max(3, round(0.06 / run.dt))]])
    energies = run.energies()
    return (
        back / math.sqrt(2 * fall / (track.mass * (ROD**2 / 3 + THICK**2 / 12))),
        largest_gain(energies, fall),
        (max(energies) - energies[0]) / fall,
    )


def hinged_rod(lab):
    case = Case("hinged-rod", "Hinged rod against a wall")
    time = 1.5 if lab.quick else 4
    steps = (1 / 50, 1 / 100) if lab.quick else (1 / 50, 1 / 100, 1 / 200, 1 / 1000)
    plot = Plot("Hinged rod against a wall, e = 0: energy", "time [s]", "change / energy released", ylim=(-1.1, 0.4))
    hit = 0.25 * pendulum_period(0.5 * math.pi, 1, ROD**2 / 3 + THICK**2 / 12, 0.5 * ROD)
    plot.theory([0, hit, hit, time], [0, 0, -1, -1], "exact")
    rows = []
    for restitution in (0, 0.5, 1):
        worst = most = None
        for dt in steps:
            if not tried(lab, restitution):
                rows.append([f"abd, e = {restitution}, {step(dt)}", "not supported", "", ""])
                continue
            run = lab.run(wall_scene(restitution), dt, time)
            back, gain, above = wall_figures(run)
            worst, most = max(worst or 0.0, abs(back - restitution)), max(most or 0.0, gain, above)
            rows.append([f"abd, e = {restitution}, {step(dt)}", number(back), percent(gain), percent(above)])
            if restitution == 0 and dt in (1 / 50, 1 / 100, 1 / 1000):
                energies, fall = run.energies(), run.body("body").mass * G * 0.5 * ROD
                plot.line(
                    f"abd, {step(dt)}",
                    run.time,
                    [(e - energies[0]) / fall for e in energies],
                    SHADES[(1 / 50, 1 / 100, 1 / 1000).index(dt)],
                )
        case.check(f"e = {restitution}: speed after over speed before the impact, against e, all steps", worst, 0.02)
        case.check(
            f"e = {restitution}: gain of energy in a step or in all, over the energy released, all steps",
            most,
            1e-3,
            "%",
        )

    def measure(module):
        out = {"figures": {}, "curves": {}}
        for dt in steps:
            run = module.bounce(wall_scene(0), lab.run(wall_scene(0), dt, dt), dt, time, 0)
            out["figures"][step(dt)] = wall_figures(run)
            if dt == 1 / 100:
                energies, fall = run.energies(), run.body("body").mass * G * 0.5 * ROD
                out["curves"]["energy"] = [run.time, [(e - energies[0]) / fall for e in energies]]
        return out

    for engine in ENGINES:
        peer = lab.peer("hinged-rod", engine, measure)
        if peer:
            for dt, (back, gain, above) in peer["figures"].items():
                rows.append([f"{engine}, e = 0, {dt}", number(back), percent(gain), percent(above)])
            plot.peer(engine, f"{engine}, 1/100", *peer["curves"]["energy"])
    case.plot(plot)
    case.table(["", "speed after / before", "largest gain in a step", "most above the start"], rows)
    case.theory = (
        "The rod reaches the wall with the angular speed sqrt(2 m g l / I) and leaves it with e times that speed. The"
        " hinge takes its part of the impulse and does no work: the energy never grows, and with e = 0 the impact takes"
        " all kinetic energy."
    )
    case.setup = (
        f"A rod of {ROD:g} m on a hinge to the world, released in a horizontal line; a static wall meets its lower part"
        " when the rod hangs. Gains as a part of the energy released by the swing."
    )
    case.limits = (
        "The rod meets the wall along 0.3 m of its length. The speed before the impact is theory's, not that of the"
        " run."
    )
    return case


# ---- Newton's cradle

BALLS, RADIUS, STRING, GAP = 5, 0.1, 1.0, 0.002


def cradle_scene(restitution, gap=GAP, lift=30.0):
    """Balls on hinges side by side; the first is lifted."""
    bodies, joints = [], []
    for i in range(BALLS):
        x = i * (2 * RADIUS + gap)
        a = math.radians(lift) if i == 0 else 0.0
        bodies.append(
            {
                "name": f"ball{i + 1}",
                "shape": "sphere",
                "radius": RADIUS,
                "rotation": {"axis": [0, 1, 0], "radians": a},
                "position": [x - STRING * math.sin(a), 0, -STRING * math.cos(a)],
            }
        )
        joints.append({"type": "hinge", "bodies": [f"ball{i + 1}"], "point": [x, 0, 0], "axis": [0, 1, 0]})
    return bouncing({"bodies": bodies, "joints": joints}, restitution)


def lifts(run, i):
    """Height of a ball above its lowest position, over the height from which the first was released."""
    full = run.body("ball1").p[0][2] + STRING
    return [(p[2] + STRING) / full for p in run.body(f"ball{i + 1}").p]


def cradle_figures(run):
    """From 0.6 s to 1.4 s, after the first pass: heights of the last ball and of the highest other; energy above the start."""
    part = [k for k, t in enumerate(run.time) if 0.6 <= t <= 1.4]
    last = max(lifts(run, BALLS - 1)[k] for k in part)
    others = max(lifts(run, i)[k] for i in range(BALLS - 1) for k in part)
    energies = run.energies()
    fall = run.body("ball1").mass * G * STRING * (1 - math.cos(math.radians(30)))
    return last, others, (max(energies) - energies[0]) / fall


def cradle(lab):
    case = Case("cradle", "Newton's cradle")
    time = 1.5 if lab.quick else 8
    steps = (1 / 100,) if lab.quick else (1 / 50, 1 / 100, 1 / 1000)
    plot = Plot(
        "Newton's cradle, e = 1, dt 1/1000: height of each ball",
        "time [s]",
        "height / height of release",
        ylim=(-0.05, 1.1),
        xlim=(0, min(time, 4)),
    )
    rows = []
    for gap, name in ((GAP, f"gaps of {1000 * GAP:g} mm"), (2e-4, "gaps of 0.2 mm")):
        low = high = gain = None
        for dt in steps:
            if not tried(lab, 1):
                rows.append([f"abd, {name}, {step(dt)}", "not supported", "", ""])
                continue
            run = lab.run(cradle_scene(1, gap), dt, time)
            last, others, above = cradle_figures(run)
            if dt <= 1 / 100:
                low, high = max(low or 0.0, 1 - last), max(high or 0.0, others)
            gain = max(gain or 0.0, above)
            rows.append([f"abd, {name}, {step(dt)}", percent(last, 3), percent(others), percent(above)])
            if gap == GAP and dt == steps[-1]:
                plot.title = f"Newton's cradle, e = 1, dt {step(dt)}: height of each ball"
                for i in range(BALLS):
                    plot.line(f"abd, ball {i + 1}", run.time, lifts(run, i), SHADES[i])
        case.check(f"{name}: height that the last ball lacks after the first pass, dt 1/100 and 1/1000", low, 0.05, "%")
        case.check(f"{name}: height of the other balls after the first pass, dt 1/100 and 1/1000", high, 0.02, "%")
        case.check(f"{name}: energy above that of the start, all steps", gain, 1e-3, "%")

    def measure(module):
        out = {"figures": {}, "curves": {}}
        for dt in (1 / 100, 1 / 1000):
            run = module.bounce(cradle_scene(0), lab.run(cradle_scene(0), dt, dt), dt, 4, 1)
            out["figures"][step(dt)] = cradle_figures(run)
            out["curves"][step(dt)] = [run.time, lifts(run, BALLS - 1)]
        return out

    for engine in ENGINES:
        peer = lab.peer("cradle", engine, measure)
        if peer:
            for dt, (last, others, above) in peer["figures"].items():
                rows.append(
                    [f"{engine}, gaps of {1000 * GAP:g} mm, {dt}", percent(last, 3), percent(others), percent(above)]
                )
            plot.peer(engine, f"{engine}, ball 5", *peer["curves"]["1/1000"])
    if plot.curves:
        case.plot(plot)
    case.table(
        ["after the first pass", "height of the last ball", "highest other ball", "energy above the start"], rows
    )
    case.theory = (
        "The first ball strikes with the speed of its fall; equal balls with e = 1 exchange their velocities one after"
        " another, so the last one rises to the same height and the others stay."
    )
    case.setup = (
        f"{BALLS} balls of radius {RADIUS} m on hinges {STRING:g} m above their centres, the first lifted by 30"
        " degrees; e = 1, no friction. Heights between 0.6 s and 1.4 s over the height of release."
    )
    case.limits = (
        "Touching balls are a simultaneous impact, which Newton's law alone does not decide; gaps make it a sequence of"
        " impacts, several of them within one step. Only the first pass is checked; later ones are in the plot."
    )
    return case
