"""A body that flies: a thrown ball against the parabola."""

from case import Case, number, peer_name, percent, step
from lab import ENGINES, energy_error, separation
from plot import SHADES, Plot
from theory import G

SPEED = (8.0, 0.0, 8.0)
TIME = 1.6


def flight_scene(integrator="rigid"):
    ball = {
        "name": "ball",
        "shape": "sphere",
        "radius": 0.1,
        "subdivisions": 1,
        "velocity": list(SPEED),
        "angular_velocity": [0, 20, 5],
    }
    return {"integrator": integrator, "bodies": [ball]}


def flight_figures(run):
    """Largest distance from the parabola; largest error of the energy over the kinetic energy at the start."""
    track = run.body("ball")
    start = track.p[0]
    exact = [(start[0] + SPEED[0] * t, start[1], start[2] + SPEED[2] * t - 0.5 * G * t * t) for t in run.time]
    return max(separation(a, b) for a, b in zip(track.p, exact)), energy_error(run.energies(), track.kinetic(0))


def flight(lab):
    case = Case("flight", "Free flight")
    steps = (1 / 100,) if lab.quick else (1 / 25, 1 / 50, 1 / 100, 1 / 1000)
    plot = Plot("Thrown ball: energy", "time [s]", "energy / kinetic energy at the start", ylim=(0.9, 1.05))
    plot.theory([0, TIME], [1, 1])
    rows = []
    for dt, color in zip(steps, SHADES):
        run = lab.run(flight_scene(), dt, TIME)
        off, energy = flight_figures(run)
        rows.append([f"abd, rigid, {step(dt)}", number(off), percent(energy)])
        first = run.body("ball").kinetic(0)
        plot.line(f"abd, {step(dt)}", run.time, [e / first for e in run.energies()], color)
        if dt == 1 / 100:
            case.check("distance from the parabola, dt 1/100", off, 0.01, "m")
            case.check(f"energy over {TIME} s, dt 1/100", energy, 1e-3, "%")
    for integrator in ("bdf2", "euler"):
        if lab.supports(integrator):
            off, energy = flight_figures(lab.run(flight_scene(integrator), 0.01, TIME))
            rows.append([f"abd, {integrator}, 1/100", number(off), percent(energy)])

    def measure(module):
        out = {"figures": {}, "curves": {}}
        for integrator in module.SMOOTH:
            run = module.run(flight_scene(), lab.run(flight_scene(), 0.01, 0.01), 0.01, TIME, integrator)
            out["figures"][integrator] = flight_figures(run)
        return out

    for engine in ENGINES:
        peer = lab.peer("flight", engine, measure)
        if peer:
            for integrator, (off, energy) in peer["figures"].items():
                rows.append([f"{peer_name(engine, integrator)}, 1/100", number(off), percent(energy)])
    case.plot(plot)
    case.table(["", "distance from the parabola [m]", "energy error"], rows)
    case.theory = "A thrown body's centre of mass follows a parabola; its energy is constant."
    case.setup = (
        f"A spinning ball thrown with {SPEED[0]:g} m/s along x and up, {TIME} s, nothing in its way. Largest distance"
        " from the parabola; energy: largest error as a part of the kinetic energy at the start."
    )
    case.limits = (
        "MuJoCo's default and Bullet step p + h v + h^2 g. Such a scheme is off the parabola by g h t / 2 and loses g^2"
        " h t / 2 of energy for each kilogram in every flight, which also lowers rebounds."
    )
    return case
