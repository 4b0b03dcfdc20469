"""Pendulums: period against the elliptic integral, the double pendulum against Lagrange's equations."""

import math

from case import Case, number, peer_name, percent, step
from lab import ENGINES, energy_error, sampled, separation
from plot import ABD, SHADES, Plot
from theory import G, crossings, double_pendulum as exact_double, norm, pendulum_period, rk4

LENGTH, SIDE = 1.0, 0.04
AMPLITUDES = (10, 45, 90, 135, 170)


def rod_scene(degrees, integrator="rigid"):
    """A rod that hangs on a hinge at the origin, released at an angle from the vertical."""
    a = math.radians(degrees)
    rod = {
        "name": "bob",
        "shape": "box",
        "size": [SIDE, SIDE, LENGTH],
        "rotation": {"axis": [0, 1, 0], "radians": -a},
        "position": [0.5 * LENGTH * math.sin(a), 0, -0.5 * LENGTH * math.cos(a)],
    }
    return {
        "integrator": integrator,
        "bodies": [rod],
        "joints": [{"type": "hinge", "bodies": ["bob"], "point": [0, 0, 0], "axis": [0, 1, 0]}],
    }


def ball_scene(degrees, integrator="rigid"):
    """A ball whose centre keeps its distance from the origin."""
    a = math.radians(degrees)
    at = [LENGTH * math.sin(a), 0, -LENGTH * math.cos(a)]
    ball = {"name": "bob", "shape": "sphere", "radius": 0.05, "subdivisions": 2, "position": at}
    joint = {"type": "distance", "bodies": ["bob"], "point": at, "point_b": [0, 0, 0]}
    return {"integrator": integrator, "bodies": [ball], "joints": [joint]}


def angles(run):
    return [math.atan2(p[0], -p[2]) for p in run.body("bob").p]


def exact_period(run, degrees):
    """From the masses of the run; the rod's moment is about its hinge, the ball does not turn."""
    t = run.body("bob")
    arm = norm(t.p[0])
    own = 0.0 if arm > 0.9 * LENGTH else t.mass * (LENGTH**2 + SIDE**2) / 12
    return pendulum_period(math.radians(degrees), t.mass, own + t.mass * arm * arm, arm)


def period_error(run, degrees):
    at = crossings(run.time, angles(run))
    if len(at) < 3:
        return None
    even = (len(at) - 1) // 2 * 2
    return (at[even] - at[0]) / (even / 2) / exact_period(run, degrees) - 1


def released(run):
    """Energy that the start has above the lowest position."""
    t = run.body("bob")
    return t.mass * G * (t.p[0][2] + norm(t.p[0]))


def exact_rod(run, degrees, time):
    k = 1.5 * G / LENGTH / (1 + (SIDE / LENGTH) ** 2 / 4)
    out = [
        (i * 1e-3, math.degrees(y[0]))
        for i, y in rk4(
            lambda y: [y[1], -k * math.sin(y[0])], [math.radians(degrees), 0.0], 1e-3, round(time * 1e3), 10
        )
    ]
    return zip(*out)


def pendulum(lab):
    case = Case("pendulum", "Simple and physical pendulum")
    time = 10 if lab.quick else 20
    amplitudes = (90,) if lab.quick else AMPLITUDES
    swing = Plot("Rod on a hinge, released at 170 degrees, dt 1/100", "time [s]", "angle [degrees]", ylim=(-200, 200))
    periods = Plot("Period over amplitude, dt 1/100", "amplitude [degrees]", "period [s]", ylim=(1, 5.2))
    rows = []
    for name, scene, color, mark in (
        ("rod on a hinge", rod_scene, ABD, "o"),
        ("ball at a distance", ball_scene, SHADES[1], "s"),
    ):
        found, errors, energies, exact = [], [], [], None
        for degrees in amplitudes:
            run = lab.run(scene(degrees), 0.01, time)
            exact = exact_period(run, degrees)
            error, energy = period_error(run, degrees), energy_error(run.energies(), released(run))
            rows.append([f"abd, {name}, {degrees} degrees, 1/100", number(exact, 5), percent(error), percent(energy)])
            errors.append(abs(error) if error is not None else math.inf)
            energies.append(energy)
            found.append((1 + (error or 0)) * exact)
            if degrees == 170 and scene is rod_scene:
                swing.theory(*exact_rod(run, degrees, 10), "exact")
                swing.line("abd", run.time[:1001], [math.degrees(a) for a in angles(run)][:1001])
        curve = [(d, exact_period(run, d)) for d in range(1, 176)]
        periods.theory(*zip(*curve), "elliptic integral" if scene is rod_scene else "")
        periods.marks(f"abd, {name}", amplitudes, found, color, mark)
        case.check(f"{name}: period, all amplitudes, dt 1/100", max(errors), 0.005, "%")
        case.check(f"{name}: energy over {time} s, all amplitudes, dt 1/100", max(energies), 0.01, "%")
    for dt in () if lab.quick else (1 / 50, 1 / 1000):
        run = lab.run(rod_scene(90), dt, time)
        rows.append(
            [
                f"abd, rod on a hinge, 90 degrees, {step(dt)}",
                number(exact_period(run, 90), 5),
                percent(period_error(run, 90)),
                percent(energy_error(run.energies(), released(run))),
            ]
        )

    def measure(module):
        out = {"figures": {}, "curves": {}}
        for degrees in (10, 90, 170):
            start = lab.run(rod_scene(degrees), 0.01, 0.01)
            run = module.run(rod_scene(degrees), start, 0.01, time)
            out["figures"][f"{degrees}"] = [period_error(run, degrees), energy_error(run.energies(), released(run))]
            if degrees == 170:
                out["curves"]["swing"] = [run.time[:1001], [math.degrees(a) for a in angles(run)][:1001]]
        return out

    for engine in ENGINES:
        peer = lab.peer("pendulum", engine, measure)
        if peer:
            swing.peer(engine, engine, *peer["curves"]["swing"])
            for degrees, (period, energy) in peer["figures"].items():
                rows.append(
                    [f"{engine}, rod on a hinge, {degrees} degrees, 1/100", "", percent(period), percent(energy)]
                )
    if not lab.quick:
        case.plot(swing)
    case.plot(periods)
    case.table(["", "exact period [s]", "period error", "energy error"], rows)
    case.theory = (
        "The period is 4 sqrt(I / (m g l)) K(sin(a/2)): a the amplitude, I the moment about the hinge, l the distance"
        " of the centre of mass, K the complete elliptic integral of the first kind. The energy is constant."
    )
    case.setup = (
        f"A rod of {LENGTH:g} m on a hinge (physical pendulum), and a ball whose centre a `distance` joint keeps"
        f" {LENGTH:g} m from a fixed point (simple pendulum: the ball does not turn). Mean period of all swings in"
        f" {time} s, from the zeros of the angle. Energy: largest error as a part of the energy above the lowest"
        " position."
    )
    less = pendulum_period(math.acos(1 - 0.99 * (1 - math.cos(math.radians(170)))), 1, 1, 1) / pendulum_period(
        math.radians(170), 1, 1, 1
    )
    case.limits = (
        f"At 170 degrees the period is most sensitive: one per cent less energy shortens it by {percent(1 - less)}."
    )
    return case


# ---- double pendulum

ARM = 0.5


def double_scene(integrator="rigid"):
    """Two rods in a horizontal line, hinged to the world at the origin and to each other."""
    turn = {"axis": [0, 1, 0], "degrees": -90}
    rods = [
        {"name": name, "shape": "box", "size": [SIDE, SIDE, ARM], "rotation": turn, "position": [x, 0, 0], "group": 0}
        for name, x in (("upper", 0.5 * ARM), ("lower", 1.5 * ARM))
    ]
    joints = [
        {"type": "hinge", "bodies": ["upper"], "point": [0, 0, 0], "axis": [0, 1, 0]},
        {"type": "hinge", "bodies": ["lower", "upper"], "point": [ARM, 0, 0], "axis": [0, 1, 0]},
    ]
    return {"integrator": integrator, "bodies": rods, "joints": joints}


def tips(run):
    """The free end of the lower rod: twice its centre's distance from the hinge between the rods."""
    out = []
    for upper, lower in zip(run.body("upper").p, run.body("lower").p):
        hinge = (2 * upper[0], 0, 2 * upper[2])
        out.append((2 * lower[0] - hinge[0], 0, 2 * lower[2] - hinge[2]))
    return out


def double_pendulum(lab):
    case = Case("double-pendulum", "Double pendulum")
    span = 3.0
    steps = (1 / 100,) if lab.quick else (1 / 50, 1 / 100, 1 / 200, 1 / 1000)
    runs = {dt: lab.run(double_scene(), dt, 20, every=max(1, round(0.01 / dt))) for dt in steps}
    first = runs[1 / 100].body("upper")
    part = (first.mass, first.mass * (ARM**2 + SIDE**2) / 12, 0.5 * ARM, ARM)
    times, t1, t2 = exact_double(part, part, (0.5 * math.pi, 0.5 * math.pi), span, 5e-4, 0.01)
    exact = [(ARM * (math.sin(a) + math.sin(b)), 0, -ARM * (math.cos(a) + math.cos(b))) for a, b in zip(t1, t2)]
    whole = first.mass * G * (0.5 * ARM + 1.5 * ARM)
    path = Plot("Double pendulum: height of the free end", "time [s]", "[m]")
    path.theory(times, [p[2] for p in exact], "exact")
    energy_plot = Plot("Double pendulum: energy", "time [s]", "change / energy released", ylim=(-1, 0.3))
    energy_plot.theory([0, 20], [0, 0], "exact")
    rows = []

    def figures(run):
        own, skip = sampled(run, tips(run), 0.01)
        off = max(separation(a, b) for a, b in zip(own, exact[:201:skip]))
        return off, energy_error(run.energies(), whole)

    for color, dt in zip((SHADES[3], SHADES[0], SHADES[1], SHADES[2]) if len(steps) > 1 else SHADES, steps):
        off, energy = figures(runs[dt])
        rows.append([f"abd, rigid, {step(dt)}, 20 s", number(off), percent(energy)])
        if dt == 1 / 100:
            case.check("energy over 20 s, default integrator, dt 1/100", energy, 0.01, "%")
        if dt == 1 / 1000:
            case.check("free end against the exact motion, first 2 s, dt 1/1000", off, 0.01, "m")
        if dt in (1 / 100, 1 / 1000):
            count = round(span / 0.01) + 1
            path.line(f"abd, {step(dt)}", runs[dt].time[:count], [p[2] for p in tips(runs[dt])][:count], color)
            energies = runs[dt].energies()
            energy_plot.line(f"abd, {step(dt)}", runs[dt].time, [(e - energies[0]) / whole for e in energies], color)
    for integrator, time in (("rigid", 20 if lab.quick else 100), ("bdf2", 20), ("euler", 20)):
        value = None
        if lab.supports(integrator):
            run = lab.run(double_scene(integrator), 0.01, time)
            off, value = figures(run)
            rows.append([f"abd, {integrator}, 1/100, {time} s", number(off), percent(value)])
        if integrator == "rigid":
            case.check(f"energy over {time} s, dt 1/100", value, 0.01, "%")

    def measure(module):
        out = {"figures": {}, "curves": {}}
        for integrator in module.SMOOTH:
            run = module.run(double_scene(), runs[1 / 100], 0.01, 20, integrator)
            out["figures"][integrator] = figures(run)
            energies = run.energies()
            out["curves"][integrator] = [run.time[:301], [p[2] for p in tips(run)][:301]]
            out["curves"][integrator + " energy"] = [run.time, [(e - energies[0]) / whole for e in energies]]
        return out

    for engine in ENGINES:
        peer = lab.peer("double-pendulum", engine, measure)
        if peer:
            for integrator, (off, energy) in peer["figures"].items():
                rows.append([f"{peer_name(engine, integrator)}, 1/100, 20 s", number(off), percent(energy)])
            default = next(iter(peer["figures"]))
            path.peer(engine, f"{engine}, 1/100", *peer["curves"][default])
            energy_plot.peer(engine, f"{engine}, 1/100", *peer["curves"][default + " energy"])
    case.plot(path)
    case.plot(energy_plot)
    case.table(["", "free end off, first 2 s [m]", "energy error"], rows)
    case.theory = (
        "Lagrange's equations of two hinged rods, integrated with Runge-Kutta steps of 0.5 ms. The energy is constant."
        " The motion is chaotic: two solutions are compared for the first seconds only, later the energy alone."
    )
    case.setup = (
        f"Two rods of {ARM} m on hinges with parallel axes, released in a horizontal line. Free end: largest distance"
        " from the exact one in the first 2 s. Energy: largest error as a part of what is released from the start to"
        " the lowest position."
    )
    case.limits = (
        "No figure here says where the pendulum is after 20 s; no integrator with errors above rounding could."
    )
    return case
