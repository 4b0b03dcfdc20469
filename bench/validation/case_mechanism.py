"""Closed loops: a four-bar linkage and a slider-crank, each with one degree of freedom."""

import math

from case import Case, number, peer_name, percent, step
from lab import ENGINES, energy_error, sampled
from plot import SHADES, Plot
from theory import OneFreedom, dot, unwrap

BAR = 0.05  # width of the bars


def moment(body, size):
    """Moment about the y axis through the centre of a box."""
    return body.mass * (size[0] ** 2 + size[2] ** 2) / 12


def bar(name, length, pose, slopes, speed):
    """A box from pose (x, z, angle), angle from +x towards +z, with its velocities."""
    (x, z, a), (dx, dz, da) = pose, slopes
    return {
        "name": name,
        "shape": "box",
        "size": [length, BAR, BAR],
        "position": [x, 0, z],
        "rotation": {"axis": [0, 1, 0], "radians": -a},
        "velocity": [dx * speed, 0, dz * speed],
        "angular_velocity": [0, -da * speed, 0],
        "group": 0,
    }


def angle(track, first):
    """The turning of a body in the x, z plane, unwrapped, from `first` at the start; from +x towards +z."""
    c = track.axes
    start = (1.0, 0.0, 0.0)
    fixed = tuple(dot(start, e) for e in c[0])
    now = [tuple(sum(f * e[i] for f, e in zip(fixed, axes)) for i in range(3)) for axes in c]
    return [first + a for a in unwrap([math.atan2(v[2], v[0]) for v in now])]


# ---- four-bar

CRANK, COUPLER, ROCKER, GROUND = 0.3, 0.9, 0.7, 1.0
BAR_START, BAR_SPEED = 0.5, 12.0


def four_bar_pose(q):
    """Crank from (0, 0), rocker from (GROUND, 0), coupler between their ends, open branch."""
    ax, az = CRANK * math.cos(q), CRANK * math.sin(q)
    dx, dz = GROUND - ax, -az
    d = math.hypot(dx, dz)
    along = (COUPLER**2 - ROCKER**2 + d * d) / (2 * d)
    up = math.sqrt(COUPLER**2 - along**2)
    bx, bz = ax + (along * dx - up * dz) / d, az + (along * dz + up * dx) / d
    return [
        (0.5 * ax, 0.5 * az, q),
        (0.5 * (ax + bx), 0.5 * (az + bz), math.atan2(bz - az, bx - ax)),
        (0.5 * (GROUND + bx), 0.5 * bz, math.atan2(bz, bx - GROUND)),
    ]


def four_bar_scene(integrator="rigid"):
    mechanism = OneFreedom(four_bar_pose, (1, 1, 1), (1, 1, 1))
    pose, slopes = four_bar_pose(BAR_START), mechanism.slopes(BAR_START)
    lengths = (("crank", CRANK), ("coupler", COUPLER), ("rocker", ROCKER))
    bodies = [bar(name, length, p, s, BAR_SPEED) for (name, length), p, s in zip(lengths, pose, slopes)]
    a = [2 * pose[0][0], 0, 2 * pose[0][1]]
    b = [2 * pose[2][0] - GROUND, 0, 2 * pose[2][1]]
    axis = [0, 1, 0]
    joints = [
        {"type": "hinge", "bodies": ["crank"], "point": [0, 0, 0], "axis": axis},
        {"type": "hinge", "bodies": ["coupler", "crank"], "point": a, "axis": axis},
        {"type": "hinge", "bodies": ["rocker"], "point": [GROUND, 0, 0], "axis": axis},
        {"type": "hinge", "bodies": ["rocker", "coupler"], "point": b, "axis": axis},
    ]
    return {"integrator": integrator, "bodies": bodies, "joints": joints}


def four_bar(lab):
    case = Case("four-bar", "Four-bar linkage")
    time = 3 if lab.quick else 10
    steps = (1 / 100,) if lab.quick else (1 / 50, 1 / 100, 1 / 200, 1 / 1000)
    runs = {dt: lab.run(four_bar_scene(), dt, time, every=max(1, round(0.01 / dt))) for dt in steps}
    tracks = [runs[1 / 100].body(n) for n in ("crank", "coupler", "rocker")]
    sizes = [(length, BAR, BAR) for length in (CRANK, COUPLER, ROCKER)]
    mechanism = OneFreedom(four_bar_pose, [t.mass for t in tracks], [moment(t, s) for t, s in zip(tracks, sizes)])
    times, exact = mechanism.motion(BAR_START, BAR_SPEED, time, 1e-3, 0.01)
    turns = (exact[-1] - exact[0]) / (2 * math.pi)
    plot = Plot("Four-bar: error of the crank's angle", "time [s]", "[turns]")
    plot.theory([0, time], [0, 0], "exact")
    energy_plot = Plot("Four-bar: energy", "time [s]", "energy / kinetic energy at the start", ylim=(0, 1.2))
    energy_plot.theory([0, time], [1, 1], "exact")
    rows = []

    def figures(run):
        own, skip = sampled(run, angle(run.body("crank"), BAR_START), 0.01)
        off = [(a - b) / (2 * math.pi) for a, b in zip(own, exact[::skip])]
        return abs(off[-1]) / turns, energy_error(run.energies(), run.kinetics()[0]), off

    for dt, color in zip(steps, (SHADES[3], SHADES[0], SHADES[1], SHADES[2]) if len(steps) > 1 else SHADES):
        lag, energy, off = figures(runs[dt])
        rows.append([f"abd, rigid, {step(dt)}", percent(lag), percent(energy)])
        if dt == 1 / 100:
            case.check(f"energy over {time} s, dt 1/100", energy, 0.01, "%")
            case.check(f"turns of the crank in {time} s against the exact motion, dt 1/100", lag, 0.01, "%")
        if dt in (1 / 100, 1 / 1000):
            plot.line(f"abd, {step(dt)}", runs[dt].time, off, color)
            energies, kinetic = runs[dt].energies(), runs[dt].kinetics()[0]
            energy_plot.line(
                f"abd, {step(dt)}", runs[dt].time, [1 + (e - energies[0]) / kinetic for e in energies], color
            )
    for integrator in ("bdf2", "euler"):
        if lab.supports(integrator):
            lag, energy, _ = figures(lab.run(four_bar_scene(integrator), 0.01, time))
            rows.append([f"abd, {integrator}, 1/100", percent(lag), percent(energy)])

    def measure(module):
        out = {"figures": {}, "curves": {}}
        for integrator in module.SMOOTH:
            run = module.run(four_bar_scene(), runs[1 / 100], 0.01, time, integrator)
            lag, energy, off = figures(run)
            out["figures"][integrator] = [lag, energy]
            energies, kinetic = run.energies(), run.kinetics()[0]
            out["curves"][integrator] = [run.time[: len(off)], off]
            out["curves"][integrator + " energy"] = [run.time, [1 + (e - energies[0]) / kinetic for e in energies]]
        return out

    for engine in ENGINES:
        peer = lab.peer("four-bar", engine, measure)
        if peer:
            for integrator, (lag, energy) in peer["figures"].items():
                rows.append([f"{peer_name(engine, integrator)}, 1/100", percent(lag), percent(energy)])
            default = next(iter(peer["figures"]))
            plot.peer(engine, f"{engine}, 1/100", *peer["curves"][default])
            energy_plot.peer(engine, f"{engine}, 1/100", *peer["curves"][default + " energy"])
    case.plot(plot)
    case.plot(energy_plot)
    case.table(["", "turns of the crank, error", "energy error"], rows)
    case.theory = (
        "One degree of freedom: the crank's speed follows from its angle and the constant energy, integrated with"
        f" Runge-Kutta steps of 1 ms. It makes {turns:.3f} turns in {time} s."
    )
    case.setup = (
        f"Crank {CRANK} m, coupler {COUPLER} m, rocker {ROCKER} m, ground {GROUND} m; four hinges with parallel axes, a"
        f" closed loop; gravity acts, no friction. The crank starts with {BAR_SPEED:g} rad/s. Energy: largest error as"
        " a part of the kinetic energy at the start."
    )
    case.limits = (
        "The hinges of abd's loop hold to rounding, so its errors are those of time integration. The peers close the"
        " loop by a soft constraint with its own damping."
    )
    return case


# ---- slider-crank

PIN, ROD = 0.2, 0.6
SLIDER_START, SLIDER_SPEED = 0.3, 10.0
PISTON = (0.16, 0.1, 0.1)


def slider(q):
    """Closed form of the piston's place."""
    return PIN * math.cos(q) + math.sqrt(ROD**2 - (PIN * math.sin(q)) ** 2)


def slider_pose(q):
    ax, az, x = PIN * math.cos(q), PIN * math.sin(q), slider(q)
    return [(0.0, 0.0, q), (0.5 * (ax + x), 0.5 * az, math.atan2(-az, x - ax)), (x, 0.0, 0.0)]


def slider_scene(integrator="rigid"):
    mechanism = OneFreedom(slider_pose, (1, 1, 1), (1, 1, 1))
    pose, slopes = slider_pose(SLIDER_START), mechanism.slopes(SLIDER_START)
    crank = bar("crank", 2 * PIN, pose[0], slopes[0], SLIDER_SPEED)
    rod = bar("rod", ROD, pose[1], slopes[1], SLIDER_SPEED)
    piston = dict(bar("piston", 0, pose[2], slopes[2], SLIDER_SPEED), size=list(PISTON))
    axis = [0, 1, 0]
    a = [PIN * math.cos(SLIDER_START), 0, PIN * math.sin(SLIDER_START)]
    at = [slider(SLIDER_START), 0, 0]
    joints = [
        {"type": "hinge", "bodies": ["crank"], "point": [0, 0, 0], "axis": axis},
        {"type": "slider", "bodies": ["piston"], "point": at, "axis": [1, 0, 0]},
        {"type": "hinge", "bodies": ["rod", "crank"], "point": a, "axis": axis},
        {"type": "hinge", "bodies": ["rod", "piston"], "point": at, "axis": axis},
    ]
    return {"integrator": integrator, "gravity": [0, 0, 0], "bodies": [crank, rod, piston], "joints": joints}


def slider_crank(lab):
    case = Case("slider-crank", "Slider-crank")
    time = 3 if lab.quick else 10
    steps = (1 / 100,) if lab.quick else (1 / 50, 1 / 100, 1 / 200, 1 / 1000)
    runs = {dt: lab.run(slider_scene(), dt, time, every=max(1, round(0.01 / dt))) for dt in steps}
    tracks = [runs[1 / 100].body(n) for n in ("crank", "rod", "piston")]
    sizes = [(2 * PIN, BAR, BAR), (ROD, BAR, BAR), PISTON]
    mechanism = OneFreedom(
        slider_pose, [t.mass for t in tracks], [moment(t, s) for t, s in zip(tracks, sizes)], gravity=0.0
    )
    times, exact = mechanism.motion(SLIDER_START, SLIDER_SPEED, time, 1e-3, 0.01)
    turns = (exact[-1] - exact[0]) / (2 * math.pi)
    plot = Plot("Slider-crank: place of the piston, dt 1/100", "time [s]", "[m]")
    last = [k for k, t in enumerate(times) if t >= time - 2]
    plot.theory([times[k] for k in last], [slider(exact[k]) for k in last], "exact")
    form = Plot("Slider-crank: piston over crank angle, dt 1/100", "crank angle [degrees]", "[m]")
    form.theory(range(0, 361, 3), [slider(math.radians(d)) for d in range(0, 361, 3)], "closed form")
    rows = []

    def figures(run):
        q, x = angle(run.body("crank"), SLIDER_START), [p[0] for p in run.body("piston").p]
        form_error = max(abs(slider(a) - b) for a, b in zip(q, x))
        lag = abs(q[-1] - exact[-1]) / (2 * math.pi * turns)
        return form_error, lag, energy_error(run.energies(), run.kinetics()[0])

    for dt in steps:
        run = runs[dt]
        shape, lag, energy = figures(run)
        rows.append([f"abd, rigid, {step(dt)}", number(shape), percent(lag), percent(energy)])
        if dt == 1 / 100:
            case.check("piston against its closed form x(crank angle), dt 1/100", shape, 1e-6, "m")
            case.check(f"turns of the crank in {time} s against the exact motion, dt 1/100", lag, 0.01, "%")
            case.check(f"energy over {time} s, dt 1/100", energy, 0.01, "%")
            x = [p[0] for p in run.body("piston").p]
            plot.line("abd", run.time[last[0] :], x[last[0] :])
            q = angle(run.body("crank"), SLIDER_START)
            some = range(0, 200, 3)
            form.marks("abd", [math.degrees(q[k]) % 360 for k in some], [x[k] for k in some])
    for integrator in ("bdf2", "euler"):
        if lab.supports(integrator):
            shape, lag, energy = figures(lab.run(slider_scene(integrator), 0.01, time))
            rows.append([f"abd, {integrator}, 1/100", number(shape), percent(lag), percent(energy)])

    def measure(module):
        out = {"figures": {}, "curves": {}}
        for integrator in module.SMOOTH:
            run = module.run(slider_scene(), runs[1 / 100], 0.01, time, integrator)
            out["figures"][integrator] = figures(run)
            out["curves"][integrator] = [run.time[last[0] :], [p[0] for p in run.body("piston").p][last[0] :]]
        return out

    for engine in ENGINES:
        peer = lab.peer("slider-crank", engine, measure)
        if peer:
            for integrator, (shape, lag, energy) in peer["figures"].items():
                rows.append([f"{peer_name(engine, integrator)}, 1/100", number(shape), percent(lag), percent(energy)])
            plot.peer(engine, f"{engine}", *peer["curves"][next(iter(peer["figures"]))])
    case.plot(form)
    case.plot(plot)
    case.table(["", "x(crank angle) off [m]", "turns of the crank, error", "energy error"], rows)
    case.theory = (
        "The piston is at x = r cos q + sqrt(l^2 - r^2 sin^2 q). Without gravity and friction the kinetic energy is"
        f" constant and gives the crank's speed for each angle; integrated, the crank makes {turns:.3f} turns in"
        f" {time} s."
    )
    case.setup = (
        f"Crank pin at r = {PIN} m on a bar balanced about its shaft, rod l = {ROD} m, piston on a `slider` to the"
        f" world; three hinges close the loop. The crank starts with {SLIDER_SPEED:g} rad/s."
    )
    case.limits = (
        "The closed form tests the joints, the turns and the energy test the integrator. The peers close the loop by a"
        " soft constraint."
    )
    return case
