"""Rolling: ball and cylinder on an incline, Euler's disc."""

import math

from case import Case, number, percent, step
from lab import ENGINES
from plot import ABD, ENGINE, SHADES, Plot
from theory import G, add, cross, disc_rate, dot, mul, norm, slope, unwrap

INCLINE = math.radians(20)
RADIUS = 0.1
DOWN = (math.cos(INCLINE), 0.0, -math.sin(INCLINE))
NORMAL = (math.sin(INCLINE), 0.0, math.cos(INCLINE))
START = 1e-4  # gap at the start


def incline_scene(kind, segments=512):
    plane = {"name": "plane", "shape": "half_space", "normal": list(NORMAL)}
    body = {"name": "body", "position": list(mul(RADIUS + START, NORMAL)), "radius": RADIUS}
    if kind == "ball":
        body.update(shape="sphere", subdivisions=5)
    else:
        body.update(shape="cylinder", height=0.2, segments=segments, rotation={"axis": [1, 0, 0], "degrees": 90})
    return {"contact": {"friction": 0.8}, "bodies": [plane, body]}


def speeds(run):
    return [dot(v, DOWN) for v in run.body("body").v]


def exact_acceleration(run, kind):
    """g sin / (1 + I / (m r^2)), with the mesh's moment about the axis of rolling."""
    track = run.body("body")
    inertia = (
        track.inertia[0] if kind == "ball" else min(track.inertia, key=lambda i: abs(i - 0.5 * track.mass * RADIUS**2))
    )
    return G * math.sin(INCLINE) / (1 + inertia / (track.mass * RADIUS**2))


def behind(run, kind):
    """The speed less that of theory."""
    return [v - exact_acceleration(run, kind) * t for t, v in zip(run.time, speeds(run))]


def rolling_figures(run, kind):
    """Acceleration over theory's, less 1; largest slip of the touching point over the speed at the end."""
    track, exact = run.body("body"), exact_acceleration(run, kind)
    part = [k for k, t in enumerate(run.time) if t >= 0.2]
    found = slope([run.time[k] for k in part], [speeds(run)[k] for k in part])
    slip = max(abs(dot(DOWN, add(track.v[k], cross(track.w[k], mul(-RADIUS, NORMAL))))) for k in part)
    return found / exact - 1, slip / speeds(run)[-1]


def rolling(lab):
    case = Case("rolling", "Rolling without slipping")
    steps = (1 / 100,) if lab.quick else (1 / 50, 1 / 100, 1 / 200)
    rows = []
    plot = Plot("Rolling down 20 degrees, dt 1/100", "time [s]", "speed less theory's [m/s]", ylim=(-0.15, 0.05))
    plot.theory([0, 1], [0, 0])
    for kind, color, factor in (("ball", ABD, 5 / 7), ("cylinder", SHADES[1], 2 / 3)):
        ideal = factor * G * math.sin(INCLINE)
        for dt in steps:
            run = lab.run(incline_scene(kind), dt, 1)
            error, slip = rolling_figures(run, kind)
            rows.append([f"abd, {kind}, {step(dt)}", number(ideal, 4), percent(error), percent(slip)])
            if dt == 1 / 100:
                case.check(f"{kind}: acceleration, dt 1/100", abs(error), 0.02, "%")  # bodies of facets
                case.check(f"{kind}: slip over speed, dt 1/100", slip, 0.02, "%")
                plot.line(f"abd, {kind}", run.time, behind(run, kind), color)

        def measure(module):
            run = module.run(incline_scene(kind), lab.run(incline_scene(kind), 0.01, 0.01), 0.01, 1, contact=True)
            return {
                "figures": {"1/100": rolling_figures(run, kind)},
                "curves": {"speed": [run.time, behind(run, kind)]},
            }

        for engine in ENGINES:
            peer = lab.peer(f"rolling-{kind}", engine, measure)
            if peer:
                error, slip = peer["figures"]["1/100"]
                rows.append([f"{engine}, {kind}, 1/100", number(ideal, 4), percent(error), percent(slip)])
                plot.line(
                    f"{engine}, {kind}",
                    *peer["curves"]["speed"],
                    ENGINE[engine],
                    "2 3" if kind == "cylinder" else "7 4",
                )
    coarse, _ = rolling_figures(lab.run(incline_scene("cylinder", 32), 1 / 200, 1), "cylinder")
    case.plot(plot)
    case.table(["", "theory [m/s^2]", "acceleration error", "largest slip / speed at the end"], rows)
    case.theory = (
        "A body that rolls without slipping accelerates by g sin / (1 + I / (m r^2)): 5/7 g sin for a ball, 2/3 g sin"
        " for a cylinder. The error is against this formula with the moment of the mesh."
    )
    case.setup = (
        f"A ball (mesh of 20480 triangles) and a cylinder (512 segments), radius {RADIUS} m, on an incline of 20"
        " degrees with friction 0.8, released at rest. Acceleration: line of least squares through the speed from 0.2"
        " s to 1 s."
    )
    case.limits = (
        "abd's bodies are polyhedra, and each edge that they roll over is a small impact that takes energy; the peers"
        " roll exact balls and cylinders. A cylinder of 32 segments, abd's default, has an acceleration error of"
        f" {percent(coarse)} at 1/200 s: it is a polygon."
    )
    return case


# ---- Euler's disc

DISC, THICK = 0.1, 0.01


def disc_start(tilt):
    """Height and angular velocity of a disc that rolls in place, its axis tilted towards +x, its lowest rim point at +x."""
    d, e = (math.cos(tilt), 0.0, -math.sin(tilt)), (math.sin(tilt), 0.0, math.cos(tilt))
    mass = 1.0
    rate = disc_rate(tilt, DISC, THICK, mass, mass * (DISC**2 / 4 + THICK**2 / 12), mass * DISC**2 / 2)
    lever = add(mul(DISC, d), mul(-0.5 * THICK, e))
    w = mul(-rate * math.sin(tilt) / DISC, lever)
    return -lever[2], w


def disc_scene(degrees, segments=256):
    tilt = math.radians(degrees)
    height, w = disc_start(tilt)
    disc = {
        "name": "disc",
        "shape": "cylinder",
        "radius": DISC,
        "height": THICK,
        "segments": segments,
        "position": [0, 0, height + 5e-5],
        "rotation": {"axis": [0, 1, 0], "degrees": degrees},
        "angular_velocity": list(w),
    }
    return {"contact": {"friction": 1.0}, "bodies": [{"name": "ground", "shape": "ground"}, disc]}


def disc_axis(track):
    """The disc's own axis over time: the principal axis that is upright at the start."""
    which = max(range(3), key=lambda i: track.inertia[i])
    sign = math.copysign(1.0, track.axes[0][which][2])
    return [mul(sign / norm(c[which]), c[which]) for c in track.axes]


def disc_curves(run):
    """Times, tilts [rad] and rates of precession [rad/s], in windows of a quarter turn and more."""
    axis = disc_axis(run.body("disc"))
    tilts = [math.acos(max(-1, min(1, a[2]))) for a in axis]
    turn = unwrap([math.atan2(a[1], a[0]) for a in axis])
    window = max(2, round(0.1 / (run.time[1] - run.time[0])))
    out = []
    for k in range(0, len(axis) - window, window):
        rate = abs(turn[k + window] - turn[k]) / (run.time[k + window] - run.time[k])
        out.append((run.time[k + window // 2], sum(tilts[k : k + window + 1]) / (window + 1), rate))
    return [list(c) for c in zip(*out)]


def tilt_at(run, time):
    """Tilt [degrees] at a time."""
    k = min(range(len(run.time)), key=lambda k: abs(run.time[k] - time))
    return math.degrees(math.acos(max(-1, min(1, disc_axis(run.body("disc"))[k][2]))))


def exact_rate(track, tilt):
    across, axial = min(track.inertia), max(track.inertia)
    return disc_rate(tilt, DISC, THICK, track.mass, across, axial)


def disc_figures(run):
    """Mean error of the rate against the law while the tilt is above 5 degrees; when it falls below (None: never)."""
    track = run.body("disc")
    times, tilts, rates = disc_curves(run)
    good = [(a, r) for a, r in zip(tilts, rates) if a > math.radians(5)]
    error = sum(abs(r / exact_rate(track, a) - 1) for a, r in good) / len(good) if good else math.inf
    return error, next((t for t, a in zip(times, tilts) if a < math.radians(5)), None)


def euler_disc(lab):
    case = Case("euler-disc", "Euler's disc")
    time = 1 if lab.quick else 3
    steps = (1 / 500,) if lab.quick else (1 / 200, 1 / 500, 1 / 1000)
    law = Plot("Euler's disc: rate of precession over tilt", "tilt [degrees]", "[rad/s]", ylim=(0, 100), xlim=(0, 40))
    fall = Plot("Euler's disc: tilt over time", "time [s]", "tilt [degrees]", ylim=(0, 60))
    rows = []
    for i, dt in enumerate(steps):
        run = lab.run(disc_scene(30), dt, time)
        error, left = disc_figures(run)
        times, tilts, rates = disc_curves(run)
        if i == 0:
            track = run.body("disc")
            law.theory(
                [0.1 * k for k in range(15, 400)], [exact_rate(track, math.radians(0.1 * k)) for k in range(15, 400)]
            )
            fall.theory([0, time], [30, 30], "no loss")
        law.marks(f"abd, {step(dt)}", [math.degrees(a) for a in tilts], rates, SHADES[i], "osx"[i])
        fall.line(f"abd, {step(dt)}", times, [math.degrees(a) for a in tilts], SHADES[i])
        rows.append([f"abd, {step(dt)}", percent(error), percent(tilt_at(run, 0.3) / 30 - 1), number(left)])
        if dt == 1 / 500:
            case.check(
                f"rate of precession against the law of steady rolling, mean over {time} s, dt 1/500", error, 0.03, "%"
            )

    def measure(module):
        out = {"figures": {}, "curves": {}}
        for dt in (1 / 500,):
            run = module.run(disc_scene(30), lab.run(disc_scene(30), dt, dt), dt, time, contact=True)
            times, tilts, rates = disc_curves(run)
            out["figures"][step(dt)] = disc_figures(run) + (tilt_at(run, 0.3) / 30 - 1,)
            out["curves"]["law"] = [[math.degrees(a) for a in tilts], rates]
            out["curves"]["fall"] = [times, [math.degrees(a) for a in tilts]]
        return out

    for engine in ENGINES:
        peer = lab.peer("euler-disc", engine, measure)
        if peer:
            for dt, (error, left, change) in peer["figures"].items():
                rows.append([f"{engine}, {dt}", percent(error), percent(change), number(left)])
            law.marks(f"{engine}, 1/500", *peer["curves"]["law"], ENGINE[engine], "s")
            fall.peer(engine, f"{engine}, 1/500", *peer["curves"]["fall"])
    case.plot(law)
    case.plot(fall)
    case.table(["", "rate against the law", "change of the tilt in 0.3 s", "tilt below 5 degrees after [s]"], rows)
    case.theory = (
        "A thin disc that rolls in place, its centre at rest, precesses at sqrt(4 g / (r sin a)), a its tilt: ever"
        " faster as it sinks. Without loss it never sinks. The formula that is used here includes the disc's thickness:"
        " W^2 sin a (I cos a - I3 t/2r sin a) = m g (r cos a - t/2 sin a)."
    )
    case.setup = (
        f"Disc of radius {DISC} m, thickness {THICK} m and 256 segments, tilted by 30 degrees, friction 1, released"
        " with the exact velocities of steady rolling. Rates are means over 0.1 s, compared with the law at the mean"
        " tilt of the same 0.1 s."
    )
    coarse = disc_figures(lab.run(disc_scene(30, 64), steps[-1], time))[1]
    fine = disc_figures(lab.run(disc_scene(30), steps[-1], time))[1]
    when = lambda t: f"after {number(t)} s" if t else f"later than {time} s"
    case.limits = (
        "The law of the rate is checked, the time to rest is not: it depends on losses, for which theory has no closed"
        f" form. abd's loss depends on the step. The disc is a polygon, too: at {step(steps[-1])} s its tilt falls"
        f" below 5 degrees {when(fine)} with 256 segments, {when(coarse)} with 64."
    )
    return case
