"""Bodies that turn: a flywheel, a heavy top, a T-handle that flips."""

import math

from case import Case, number, peer_name, percent, step
from lab import ENGINES, energy_error
from plot import SHADES, Plot
from scene import extrude
from theory import G, add, along, combine, cross, crossings, dot, mul, norm, sub, turning_body, unwrap

# ---- flywheel


def flywheel_scene(speed, integrator="rigid"):
    wheel = {
        "name": "wheel",
        "shape": "cylinder",
        "radius": 0.3,
        "height": 0.1,
        "rotation": {"axis": [0, 1, 0], "degrees": 90},
        "angular_velocity": [speed, 0, 0],
    }
    return {
        "integrator": integrator,
        "bodies": [wheel],
        "joints": [{"type": "hinge", "bodies": ["wheel"], "point": [0, 0, 0], "axis": [1, 0, 0]}],
    }


def speeds(run, name):
    return [norm(w) for w in run.body(name).w]


def speed_error(run, speed):
    return max(abs(w / speed - 1) for w in speeds(run, "wheel"))


def flywheel(lab):
    case = Case("flywheel", "Flywheel")
    time = 2 if lab.quick else 10
    rates = (10, 60, 200, 1000)
    steps = (1 / 50, 1 / 1000) if lab.quick else (1 / 50, 1 / 100, 1 / 200, 1 / 1000)
    plot = case.plot(
        Plot(f"Flywheel: error of the speed after {time} s", "time step [s]", "|w/w0 - 1|", ("x", "y"), ylim=(1e-16, 2))
    )
    rows, worst = [], 0.0
    for color, rate in zip(SHADES, rates):
        errors = [speed_error(lab.run(flywheel_scene(rate), dt, time, every=10), rate) for dt in steps]
        worst = max([worst] + errors)
        plot.marks(f"abd, {rate} rad/s", steps, [max(e, 1e-16) for e in errors], color, joined=True)
        rows.append([f"{rate}"] + [number(e) for e in errors])
    plot.level("bound", 1e-6)
    case.check(f"largest error of the speed over {time} s, all speeds and steps", worst, 1e-6)

    heads = ["rad/s"] + [f"abd, {step(dt)}" for dt in steps]
    for engine in ENGINES:
        peer = lab.peer(
            "flywheel",
            engine,
            lambda module: {
                "figures": {
                    f"{rate}": speed_error(
                        module.run(
                            flywheel_scene(rate), lab.run(flywheel_scene(rate), 0.01, 0.01), 0.01, time, every=10
                        ),
                        rate,
                    )
                    for rate in rates
                }
            },
        )
        if peer:
            heads.append(f"{engine}, 1/100")
            for row, rate in zip(rows, rates):
                row.append(number(peer["figures"][f"{rate}"]))
    case.table(heads, rows)

    choices = Plot("Flywheel at 60 rad/s, dt 1/100, by integrator", "time [s]", "speed [rad/s]", ylim=(0, 66))
    choices.theory([0, time], [60, 60])
    for color, integrator in zip(SHADES, ("rigid", "bdf2", "euler")):
        if lab.supports(integrator):
            run = lab.run(flywheel_scene(60, integrator), 0.01, time, every=5)
            choices.line(integrator, run.time, speeds(run, "wheel"), color)
    case.plot(choices)
    case.theory = "A wheel on an axis through its centre of mass, without load and friction, keeps its speed for ever."
    case.setup = (
        "Cylinder, radius 0.3 m, height 0.1 m, on a hinge to the world; the axis is horizontal. Largest error of the"
        f" angular speed over {time} s, as a part of the speed at the start."
    )
    case.limits = (
        "The speed is read from the velocities of the run file. At 1000 rad/s and 1/50 s the wheel makes three turns in"
        " a step: the speed is right, pictures of it are not."
    )
    return case


# ---- heavy top

ARM = 0.5


def top_scene(speed=60):
    disc = {
        "name": "disc",
        "shape": "cylinder",
        "radius": 0.3,
        "height": 0.1,
        "rotation": {"axis": [0, 1, 0], "degrees": 90},
        "position": [ARM, 0, 0],
        "angular_velocity": [speed, 0, 0],
    }
    return {"bodies": [disc], "joints": [{"type": "ball", "bodies": ["disc"], "point": [0, 0, 0]}]}


def azimuth(points):
    return unwrap([math.atan2(p[1], p[0]) for p in points])


def elevation(points):
    return [math.degrees(math.asin(max(-1, min(1, p[2] / ARM)))) for p in points]


def top_exact(track, time):
    """Euler's equations about the ball joint: the centre of mass over time."""
    arm = along(track.axes[0], track.p[0])
    inertia = tuple(i + track.mass * (dot(arm, arm) - a * a) for i, a in zip(track.inertia, arm))
    weight = lambda columns: cross(arm, along(columns, (0, 0, -track.mass * G)))
    times, _, axes = turning_body(inertia, track.axes[0], track.w[0], time, 2.5e-4, 0.01, weight)
    return times, [combine(c, arm) for c in axes]


def nods(times, values):
    """Minima per second."""
    low = [times[k] for k in range(1, len(values) - 1) if values[k - 1] > values[k] <= values[k + 1]]
    return (len(low) - 1) / (low[-1] - low[0])


def top(lab):
    case = Case("top", "Heavy top")
    time = 2 if lab.quick else 10
    steps = (1 / 200,) if lab.quick else (1 / 50, 1 / 100, 1 / 200, 1 / 500, 1 / 1000)
    runs = {dt: lab.run(top_scene(), dt, time) for dt in steps}
    track = runs[1 / 200].body("disc")
    times, points = top_exact(track, time)
    exact = azimuth(points)[-1]
    kinetic = track.kinetic(0)
    rows = []

    def figures(run):
        if run.unstable:
            return None, None
        angle = azimuth(run.body("disc").p)[-1]
        return angle / exact - 1, energy_error(run.energies(), kinetic)

    for dt in steps:
        precession, energy = figures(runs[dt])
        rows.append(
            [f"abd, {step(dt)}", number((1 + precession) * exact / time, 4), percent(precession), percent(energy)]
        )
        if dt == 1 / 200:
            case.check(f"precession over {time} s against the exact motion, dt 1/200", abs(precession), 0.01, "%")
            case.check(f"energy over {time} s, dt 1/200", energy, 0.005, "%")
    trace = Plot(
        "Heavy top: path of the disc's centre, first 1.5 s",
        "azimuth [degrees]",
        "elevation [degrees]",
        xlim=(0, 200),
        ylim=(-50, 5),
    )
    part = [k for k, t in enumerate(times) if t <= 1.5]
    trace.theory([math.degrees(a) for a in azimuth(points)][: len(part)], elevation(points)[: len(part)], "exact")
    energy_plot = Plot("Heavy top: energy", "time [s]", "energy / kinetic energy at the start", ylim=(0, 1.1))
    energy_plot.theory([0, time], [1, 1], "exact")
    for color, dt in zip(SHADES, [1 / 100, 1 / 200, 1 / 1000]):
        if dt in runs:
            run = runs[dt]
            count = round(1.5 / dt) + 1
            p = run.body("disc").p
            trace.line(f"abd, {step(dt)}", [math.degrees(a) for a in azimuth(p)][:count], elevation(p)[:count], color)
            energy_plot.line(f"abd, {step(dt)}", run.time, [e / kinetic for e in run.energies()], color)

    def measure(module):
        out = {"figures": {}, "curves": {}}
        for integrator in module.SMOOTH:
            run = module.run(top_scene(), runs[1 / 200], 1 / 200, time, integrator)
            out["figures"][integrator] = figures(run)
            count = 301
            p = run.body("disc").p
            out["curves"][integrator] = [[math.degrees(a) for a in azimuth(p)][:count], elevation(p)[:count]]
            out["curves"][integrator + " energy"] = [run.time, [e / kinetic for e in run.energies()]]
        return out

    for engine in ENGINES:
        peer = lab.peer("top", engine, measure)
        if peer:
            for integrator, (precession, energy) in peer["figures"].items():
                rows.append(
                    [f"{peer_name(engine, integrator)}, 1/200"]
                    + (
                        ["unstable", "", ""]
                        if energy is None
                        else [number((1 + precession) * exact / time, 4), percent(precession), percent(energy)]
                    )
                )
            first = next(
                (name for name, figure in peer["figures"].items() if figure[1] is not None and figure[1] < 1), None
            )
            if first is None:
                continue
            trace.peer(engine, f"{peer_name(engine, first)}, 1/200", *peer["curves"][first])
            energy_plot.peer(engine, f"{peer_name(engine, first)}, 1/200", *peer["curves"][first + " energy"])
    case.plot(trace)
    case.plot(energy_plot)
    case.table(["", "precession [rad/s]", "error", "energy error"], rows)
    case.theory = (
        "Euler's equations about the joint, integrated with Runge-Kutta steps of 0.25 ms: the disc precesses at"
        f" {exact / time:.4f} rad/s in the mean over {time} s and nods as it goes; the energy is constant. (The"
        f" fast-top formula m g l / (I w) gives {G * ARM * track.mass / (max(track.inertia) * 60):.3f} rad/s.)"
    )
    case.setup = (
        "Disc of radius 0.3 m and height 0.1 m, its centre 0.5 m from a ball joint to the world. The axis is horizontal"
        " at the start, the centre at rest, the spin 60 rad/s. Precession: azimuth of the centre at the end over time."
        " Energy: largest error as a part of the kinetic energy at the start."
    )
    case.limits = (
        f"Released at rest, the top nods: its centre sinks by up to {-min(elevation(points)):.1f} degrees and comes"
        f" back, {nods(times, elevation(points)):.2f} times a second. A step of 1/50 s turns the disc by 69 degrees."
    )
    return case


# ---- T-handle

BAR, STEM, SIDE = 0.5, 0.35, 0.08
SPIN = 8.0


def handle_bodies():
    """Two boxes that form a T in the x, y plane, about their common centre of mass; and the moments of the whole."""
    stem = STEM * SIDE * SIDE * 1000
    bar = BAR * SIDE * SIDE * 1000
    y = stem * 0.5 * (SIDE + STEM) / (stem + bar)  # from the centre of mass down to the bar's centre
    parts = [("bar", (BAR, SIDE, SIDE), -y, bar), ("stem", (SIDE, STEM, SIDE), 0.5 * (SIDE + STEM) - y, stem)]
    inertia = [0.0, 0.0, 0.0]
    for _, (a, b, c), at, m in parts:
        own = (m * (b * b + c * c) / 12 + m * at * at, m * (a * a + c * c) / 12, m * (a * a + b * b) / 12 + m * at * at)
        inertia = [i + o for i, o in zip(inertia, own)]
    return parts, tuple(inertia)


def handle_scene(kind, inertia):
    parts, _ = handle_bodies()
    middle = sorted(range(3), key=lambda i: inertia[i])[1]
    w = [0.0, 0.0, 0.0]
    w[middle], w[(middle + 1) % 3] = SPIN, 0.1 * SPIN
    if kind == "welded":
        bodies = [
            {
                "name": name,
                "shape": "box",
                "size": list(size),
                "position": [0, at, 0],
                "angular_velocity": w,
                "velocity": list(cross(w, (0, at, 0))),
            }
            for name, size, at, _ in parts
        ]
        return {"gravity": [0, 0, 0], "bodies": bodies, "joints": [{"type": "weld", "bodies": ["bar", "stem"]}]}
    low = parts[0][2] - 0.5 * SIDE
    mid, high = low + SIDE, low + SIDE + STEM
    b, s = 0.5 * BAR, 0.5 * SIDE
    outline = [(-b, low), (b, low), (b, mid), (s, mid), (s, high), (-s, high), (-s, mid), (-b, mid)]
    faces = [(0, 1, 2), (0, 2, 3), (0, 3, 6), (0, 6, 7), (6, 3, 4), (6, 4, 5)]
    body = {"name": "bar", **extrude(outline, faces, -0.5 * SIDE, 0.5 * SIDE), "angular_velocity": w}
    scene = {"gravity": [0, 0, 0], "bodies": [body]}
    if kind == "ball joint":
        scene["joints"] = [{"type": "ball", "bodies": ["bar"], "point": [0, 0, 0]}]
    return scene


def handle_spin(run, axis):
    """Angular velocity along a direction that is fixed in the body and is a world axis at the start."""
    track = run.body("bar")
    fixed = along(track.axes[0], tuple(1.0 if i == axis else 0.0 for i in range(3)))
    return [dot(w, combine(c, fixed)) for w, c in zip(track.w, track.axes)]


def momentum_error(run):
    def total(k):
        out = (0.0, 0.0, 0.0)
        for t in run.tracks:
            out = add(out, mul(t.mass, cross(t.p[k], t.v[k])))
            out = add(out, combine(t.axes[k], tuple(i * w for i, w in zip(t.inertia, along(t.axes[k], t.w[k])))))
        return out

    first = total(0)
    return max(norm(sub(total(k), first)) for k in range(0, len(run.time), 5)) / norm(first)


def dzhanibekov(lab):
    case = Case("dzhanibekov", "Dzhanibekov's T-handle")
    time = 12 if lab.quick else 20
    parts, inertia = handle_bodies()
    middle = sorted(range(3), key=lambda i: inertia[i])[1]
    identity = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
    w0 = tuple(handle_scene("free", inertia)["bodies"][0]["angular_velocity"])
    times, spins, _ = turning_body(inertia, identity, w0, time, 1e-3, 0.01)
    exact = [s[middle] for s in spins]
    flips = crossings(times, exact)
    period = (flips[-1] - flips[0]) / (len(flips) - 1)
    plot = Plot(
        "T-handle: spin along the body's middle axis, dt 1/100", "time [s]", "[rad/s]", ylim=(-1.5 * SPIN, 1.5 * SPIN)
    )
    plot.theory(times, exact, "exact")
    energy_plot = Plot("T-handle: energy, dt 1/100", "time [s]", "energy / energy at the start", ylim=(0.85, 1.15))
    energy_plot.theory([0, time], [1, 1], "exact")
    rows = []

    def figures(run):
        at = crossings(run.time, handle_spin(run, middle))
        flip = (at[-1] - at[0]) / (len(at) - 1) / period - 1 if len(at) > 1 else math.inf
        late = abs(at[len(flips) - 1] - flips[-1]) if len(at) >= len(flips) else math.inf
        return flip, late, energy_error(run.energies(), run.energies()[0]), momentum_error(run)

    for color, kind in zip(SHADES, ("free", "ball joint", "welded")):
        for dt in ((1 / 100,) if lab.quick else (1 / 50, 1 / 100, 1 / 1000)):
            run = lab.run(handle_scene(kind, inertia), dt, time, every=max(1, round(0.01 / dt)))
            flip, late, energy, momentum = figures(run)
            rows.append([f"abd, {kind}, {step(dt)}", percent(flip), number(late), number(energy), number(momentum)])
            if dt == 1 / 100:
                case.check(f"{kind}: time between flips, dt 1/100", abs(flip), 0.01, "%")
                case.check(f"{kind}: energy over {time} s, dt 1/100", energy, 1e-3, "%")
                plot.line(
                    f"abd, {kind}",
                    run.time,
                    handle_spin(run, middle),
                    color,
                    {"ball joint": "7 3", "welded": "2 3"}.get(kind),
                )
                energies = run.energies()
                energy_plot.line(
                    f"abd, {kind}",
                    run.time,
                    [e / energies[0] for e in energies],
                    color,
                    {"ball joint": "7 3", "welded": "2 3"}.get(kind),
                )

    def measure(module):
        out = {"figures": {}, "curves": {}}
        for integrator in module.SMOOTH:
            start = lab.run(handle_scene("free", inertia), 0.01, 0.01)
            run = module.run(handle_scene("free", inertia), start, 0.01, time, integrator)
            out["figures"][integrator] = figures(run)
            energies = run.energies()
            out["curves"][integrator] = [run.time, [e / energies[0] for e in energies]]
        return out

    for engine in ENGINES:
        peer = lab.peer("dzhanibekov", engine, measure)
        if peer:
            for integrator, (flip, late, energy, momentum) in peer["figures"].items():
                rows.append(
                    [
                        f"{peer_name(engine, integrator)}, free, 1/100",
                        percent(flip),
                        number(late),
                        number(energy),
                        number(momentum),
                    ]
                )
            energy_plot.peer(engine, f"{engine}, free", *peer["curves"][next(iter(peer["figures"]))])
    case.plot(plot)
    case.plot(energy_plot)
    case.table(
        ["", "time between flips", f"last flip in {time} s, off by [s]", "energy error", "angular momentum error"], rows
    )
    case.theory = (
        "Rotation about the middle principal axis is unstable. Euler's equations, integrated with steps of 1 ms: the"
        f" handle flips every {period:.4f} s, and keeps its energy and angular momentum. A joint at the centre of mass"
        " and a cut through the body change nothing."
    )
    case.setup = (
        f"A T of two bars ({BAR} m and {STEM} m, {SIDE} m thick) without gravity, {SPIN:g} rad/s about its middle axis"
        " and a tenth of it about another: as one free mesh, as the same mesh on a ball joint at its centre of mass,"
        " and as two boxes with a weld."
    )
    case.limits = (
        "Steady rotation about the middle axis is a separatrix: the smaller the disturbance, the more a small error of"
        " the energy changes the time between flips. The disturbance of this case has about a hundredth of the energy."
    )
    return case
