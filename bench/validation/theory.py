"""The exact solutions: closed forms, and fine Runge-Kutta integrations of the equations of motion.

Vectors are tuples of three numbers. Nothing here uses abd.
"""

import math

G = 9.81


def add(a, b):
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2])


def sub(a, b):
    return (a[0] - b[0], a[1] - b[1], a[2] - b[2])


def mul(s, a):
    return (s * a[0], s * a[1], s * a[2])


def dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def cross(a, b):
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


def norm(a):
    return math.sqrt(dot(a, a))


def combine(columns, a):
    """columns * a: the vector with coordinates a along the three columns."""
    (x, y, z), (a0, a1, a2) = columns, a
    return (a0 * x[0] + a1 * y[0] + a2 * z[0], a0 * x[1] + a1 * y[1] + a2 * z[1], a0 * x[2] + a1 * y[2] + a2 * z[2])


def along(columns, a):
    """Transpose of columns, times a: the coordinates of a along the three columns."""
    return (dot(columns[0], a), dot(columns[1], a), dot(columns[2], a))


def rk4(f, y, h, steps, every=1):
    """Integrates y' = f(y), y a list; yields (step, y) at the start and after every so many steps of length h."""
    yield 0, y
    for step in range(1, steps + 1):
        k1 = f(y)
        k2 = f([a + 0.5 * h * b for a, b in zip(y, k1)])
        k3 = f([a + 0.5 * h * b for a, b in zip(y, k2)])
        k4 = f([a + h * b for a, b in zip(y, k3)])
        y = [a + h / 6 * (b + 2 * c + 2 * d + e) for a, b, c, d, e in zip(y, k1, k2, k3, k4)]
        if step % every == 0:
            yield step, y


def elliptic_k(k):
    """Complete elliptic integral of the first kind, modulus k, by the arithmetic-geometric mean."""
    a, b = 1.0, math.sqrt(1 - k * k)
    while abs(a - b) > 1e-15:
        a, b = 0.5 * (a + b), math.sqrt(a * b)
    return math.pi / (2 * a)


def pendulum_period(amplitude, mass, inertia, arm, g=G):
    """Period of a body that swings about a fixed axis; inertia about it, arm from it to the centre of mass."""
    return 4 * math.sqrt(inertia / (mass * g * arm)) * elliptic_k(math.sin(amplitude / 2))


def euler_equations(inertia, torque=None):
    """y' of a rigid body that turns about a fixed point: y = w in the body's axes, then the three axes as columns.

    inertia: moments about the point along the body's axes. torque(columns): in the body's axes.
    """
    i1, i2, i3 = inertia

    def f(y):
        wx, wy, wz = y[0], y[1], y[2]
        columns = ((y[3], y[4], y[5]), (y[6], y[7], y[8]), (y[9], y[10], y[11]))
        t = torque(columns) if torque else (0.0, 0.0, 0.0)
        w = combine(columns, (wx, wy, wz))
        rate = [((i2 - i3) * wy * wz + t[0]) / i1, ((i3 - i1) * wz * wx + t[1]) / i2, ((i1 - i2) * wx * wy + t[2]) / i3]
        for c in columns:
            rate += cross(w, c)
        return rate

    return f


def turning_body(inertia, columns, w_world, time, h, sample, torque=None):
    """Integrates a rigid body about a fixed point; returns times, spins in body axes and columns, every `sample` s."""
    start = list(along(columns, w_world)) + [x for c in columns for x in c]
    times, spins, axes = [], [], []
    for step, y in rk4(euler_equations(inertia, torque), start, h, round(time / h), round(sample / h)):
        times.append(step * h)
        spins.append(tuple(y[0:3]))
        axes.append((tuple(y[3:6]), tuple(y[6:9]), tuple(y[9:12])))
    return times, spins, axes


def double_pendulum(first, second, angles, time, h, sample, g=G):
    """Angles from the vertical of two hinged bodies, from Lagrange's equations.

    first, second: (mass, moment about the centre of mass, distance of the centre from the upper hinge, length).
    """
    (m1, j1, a1, l1), (m2, j2, a2, _) = first, second
    i1, i2, c = j1 + m1 * a1 * a1 + m2 * l1 * l1, j2 + m2 * a2 * a2, m2 * l1 * a2
    g1, g2 = (m1 * a1 + m2 * l1) * g, m2 * a2 * g

    def f(y):
        t1, t2, w1, w2 = y
        s, k = math.sin(t1 - t2), c * math.cos(t1 - t2)
        r1, r2 = -c * s * w2 * w2 - g1 * math.sin(t1), c * s * w1 * w1 - g2 * math.sin(t2)
        det = i1 * i2 - k * k
        return [w1, w2, (i2 * r1 - k * r2) / det, (i1 * r2 - k * r1) / det]

    out = [
        (step * h, y[0], y[1])
        for step, y in rk4(f, [angles[0], angles[1], 0.0, 0.0], h, round(time / h), round(sample / h))
    ]
    return [list(column) for column in zip(*out)]


class OneFreedom:
    """A mechanism with one degree of freedom: its crank's angle over time, from the balance of energy.

    pose(q) returns for each body (x, z, angle) in the plane of motion. The effective inertia is the sum of
    m |dx/dq|^2 + J (da/dq)^2; the energy 1/2 inertia q'^2 + potential is constant, so q' is a function of q. For motion
    that never stops.
    """

    def __init__(self, pose, masses, moments, gravity=G):
        self.pose, self.masses, self.moments, self.gravity = pose, masses, moments, gravity

    def slopes(self, q, h=1e-3):
        """d(x, z, angle)/dq of each body by a central difference of fourth order."""
        far, near = (self.pose(q - 2 * h), self.pose(q + 2 * h)), (self.pose(q - h), self.pose(q + h))
        return [
            tuple((8 * (near[1][b][i] - near[0][b][i]) - (far[1][b][i] - far[0][b][i])) / (12 * h) for i in range(3))
            for b in range(len(self.masses))
        ]

    def inertia(self, q):
        return sum(
            m * (x * x + z * z) + j * a * a for m, j, (x, z, a) in zip(self.masses, self.moments, self.slopes(q))
        )

    def potential(self, q):
        return sum(m * self.gravity * z for m, (_, z, _) in zip(self.masses, self.pose(q)))

    def motion(self, q, speed, time, h, sample):
        energy = 0.5 * self.inertia(q) * speed * speed + self.potential(q)
        sign = math.copysign(1.0, speed)
        f = lambda y: [sign * math.sqrt(2 * (energy - self.potential(y[0])) / self.inertia(y[0]))]
        out = [(step * h, y[0]) for step, y in rk4(f, [q], h, round(time / h), round(sample / h))]
        return [list(column) for column in zip(*out)]


def impact_speeds(mass, inertia, columns, arm, v, w, restitution, normal=(0, 0, 1)):
    """Newton's law at one point without friction: velocities after the impact with a fixed plane. arm: centre to point."""
    lever = along(columns, cross(arm, normal))
    turned = tuple(l / i for l, i in zip(lever, inertia))
    speed = dot(normal, add(v, cross(w, arm)))
    impulse = -(1 + restitution) * speed / (1 / mass + dot(lever, turned))
    return add(v, mul(impulse / mass, normal)), add(w, mul(impulse, combine(columns, turned)))


def disc_rate(tilt, radius, thickness, mass, across, axial, g=G):
    """Rate of precession of a disc that rolls in place on its rim, centre of mass at rest (see the page)."""
    s, c, half = math.sin(tilt), math.cos(tilt), 0.5 * thickness
    return math.sqrt(mass * g * (radius * c - half * s) / (s * (across * c - axial * half / radius * s)))


def crossings(times, values):
    """Times at which the values change sign, by linear interpolation."""
    out = []
    for k in range(1, len(values)):
        a, b = values[k - 1], values[k]
        if (a < 0) != (b < 0):
            out.append(times[k - 1] + (times[k] - times[k - 1]) * a / (a - b))
    return out


def unwrap(angles):
    """Adds turns so that an angle never jumps by more than half a turn."""
    out, turn = [], 0.0
    for k, a in enumerate(angles):
        if k and a + turn - out[-1] > math.pi:
            turn -= 2 * math.pi
        elif k and a + turn - out[-1] < -math.pi:
            turn += 2 * math.pi
        out.append(a + turn)
    return out


def slope(times, values):
    """Slope of the straight line of least squares."""
    n = len(times)
    mt, mv = sum(times) / n, sum(values) / n
    return sum((t - mt) * (v - mv) for t, v in zip(times, values)) / sum((t - mt) ** 2 for t in times)
