"""Small line plots as SVG, all in one style. Standard Python only, so that the same figures give the same bytes."""

import math

WIDTH = 460
LEFT, RIGHT, BOTTOM = 62, 14, 42
THEORY, ABD = "#222222", "#1f6fb4"
MUJOCO, BULLET = "#e08a1e", "#6f9a1d"
ENGINE = {"MuJoCo": MUJOCO, "Bullet": BULLET}
DASH = {"MuJoCo": "7 4", "Bullet": "2 4"}
SHADES = [ABD, "#8e5bb5", "#c23b4e", "#2a9d8f", "#7f8fa6"]


class Plot:
    """Curves in one frame. `x`, `y`: labels; log axes by name; limits (low, high) or None."""

    def __init__(self, title, x, y, log=(), xlim=None, ylim=None):
        self.title, self.x, self.y, self.log, self.xlim, self.ylim = title, x, y, log, xlim, ylim
        self.curves = []

    def line(self, label, xs, ys, color=ABD, dash=None, width=1.6):
        self.curves.append(dict(label=label, xs=list(xs), ys=list(ys), color=color, dash=dash, width=width, mark=None))

    def theory(self, xs, ys, label="theory"):
        self.line(label, xs, ys, THEORY, None, 3.2)
        self.curves[-1]["opacity"] = 0.35

    def peer(self, engine, label, xs, ys):
        self.line(label, xs, ys, ENGINE[engine], DASH[engine])

    def marks(self, label, xs, ys, color=ABD, mark="o", joined=False):
        self.curves.append(
            dict(label=label, xs=list(xs), ys=list(ys), color=color, dash=None, width=1.2 if joined else 0, mark=mark)
        )

    def level(self, label, value):
        """A horizontal line over the whole width."""
        self.curves.append(dict(label=label, xs=None, ys=[value], color="#888888", dash="5 4", width=1.2, mark=None))

    def svg(self):
        xs = [v for c in self.curves if c["xs"] for v in c["xs"]]
        ys = [v for c in self.curves for v in c["ys"]]
        rows = self.legend_rows()
        top, height = 30 + 16 * len(rows), 270 + 16 * len(rows)
        low = height - BOTTOM
        fx = Axis(xs, self.xlim, "x" in self.log, LEFT, WIDTH - RIGHT, 0.0)
        fy = Axis(ys, self.ylim, "y" in self.log, low, top, 0.05)
        out = [
            (
                f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}"'
                f' height="{height}" font-family="Helvetica, Arial, sans-serif" font-size="11" fill="#222">'
            ),
            f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>',
            (
                f'<clipPath id="c"><rect x="{LEFT - 4}" y="{top - 2}" width="{WIDTH - LEFT - RIGHT + 8}"'
                f' height="{low - top + 4}"/></clipPath>'
            ),
            f'<text x="{LEFT}" y="18" font-size="13" font-weight="bold">{escape(self.title)}</text>',
        ]
        out += self.grid(fx, fy, top, low)
        out.append('<g clip-path="url(#c)" fill="none" stroke-linejoin="round">')
        for c in self.curves:
            out += curve(c, fx, fy)
        out.append("</g>")
        out += self.legend(rows)
        out.append("</svg>")
        return "\n".join(out) + "\n"

    def grid(self, fx, fy, top, low):
        out = []
        for v, text in fx.ticks(6):
            out.append(f'<path d="M{fx(v):.1f} {top}V{low}" stroke="#e4e4e4"/>')
            out.append(f'<text x="{fx(v):.1f}" y="{low + 15}" text-anchor="middle">{text}</text>')
        for v, text in fy.ticks(5):
            out.append(f'<path d="M{LEFT} {fy(v):.1f}H{WIDTH - RIGHT}" stroke="#e4e4e4"/>')
            out.append(f'<text x="{LEFT - 6}" y="{fy(v) + 4:.1f}" text-anchor="end">{text}</text>')
        out.append(
            f'<rect x="{LEFT}" y="{top}" width="{WIDTH - LEFT - RIGHT}" height="{low - top}" fill="none"'
            ' stroke="#999"/>'
        )
        out.append(
            f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{low + 34}" text-anchor="middle">{escape(self.x)}</text>'
        )
        out.append(
            f'<text transform="translate(14 {(top + low) / 2}) rotate(-90)"'
            f' text-anchor="middle">{escape(self.y)}</text>'
        )
        return out

    def legend(self, rows):
        """Samples and labels in rows between the title and the frame, so that they cover nothing."""
        out = []
        for i, row in enumerate(rows):
            x, y = LEFT, 33 + 16 * i
            for c, width in row:
                out += sample(c, x, y)
                out.append(f'<text x="{x + 24:.1f}" y="{y + 4:.1f}">{escape(c["label"])}</text>')
                x += width
        return out

    def legend_rows(self):
        rows, used = [[]], LEFT
        for c in self.curves:
            if c["label"]:
                width = 36 + 6.2 * len(c["label"])
                if rows[-1] and used + width > WIDTH:
                    rows.append([])
                    used = LEFT
                rows[-1].append((c, width))
                used += width
        return [row for row in rows if row]


class Axis:
    def __init__(self, values, limits, log, a, b, margin):
        self.log, self.a, self.b = log, a, b
        values = [v for v in values if math.isfinite(v) and (not log or v > 0)] or [1.0]
        low, high = limits if limits else (min(values), max(values))
        if log:
            low, high = math.log10(low), math.log10(high)
            if not limits:
                low, high = low - 0.1, high + 0.1
        elif not limits:
            pad = margin * (high - low)
            low, high = low - pad, high + pad
        if high - low < 1e-12 * max(1.0, abs(high)):
            low, high = low - 0.5 * max(1e-3, abs(low)), high + 0.5 * max(1e-3, abs(high))
        self.low, self.high = low, high

    def __call__(self, v):
        u = math.log10(max(v, 1e-300)) if self.log else v
        t = max(-2.0, min(3.0, (u - self.low) / (self.high - self.low)))
        return self.a + (self.b - self.a) * t

    def ticks(self, count):
        if self.log:
            stride = max(1, math.ceil((self.high - self.low) / (count + 1)))
            whole = [
                (10.0**e, power(e))
                for e in range(math.ceil(self.low - 1e-9), math.floor(self.high + 1e-9) + 1)
                if e % stride == 0
            ]
            if len(whole) > 1:
                return whole
            fine = [
                (m * 10.0**e, f"{m * 10.0 ** e:g}")
                for e in range(math.floor(self.low), math.ceil(self.high) + 1)
                for m in (1, 2, 5)
            ]
            return [(v, t) for v, t in fine if self.low <= math.log10(v) <= self.high]
        raw = (self.high - self.low) / count
        base = 10 ** math.floor(math.log10(raw))
        step = next(m * base for m in (1, 2, 2.5, 5, 10) if m * base >= raw * 0.999)
        first = math.ceil(self.low / step - 1e-9)
        digits = max(0, -math.floor(math.log10(step) + 1e-9)) + (1 if step / base == 2.5 and base < 10 else 0)
        values = [i * step for i in range(first, math.floor(self.high / step + 1e-9) + 1)]
        return [(v, f"{v + 0.0:.{digits}f}" if digits < 6 else f"{v:g}") for v in values]


def power(exponent):
    return f"{10.0 ** exponent:g}" if -2 <= exponent <= 3 else f"1e{exponent}"


def curve(c, fx, fy):
    if c["xs"] is None:
        y = fy(c["ys"][0])
        return [
            f'<path d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}" stroke="{c["color"]}" stroke-width="{c["width"]}"'
            f' stroke-dasharray="{c["dash"]}"/>'
        ]
    out = []
    points = [(fx(x), fy(y)) for x, y in zip(c["xs"], c["ys"])]
    if c["width"]:
        dash = f' stroke-dasharray="{c["dash"]}"' if c["dash"] else ""
        opacity = f' stroke-opacity="{c["opacity"]}"' if c.get("opacity") else ""
        path = simplify(points, 0.25)
        d = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in path)
        out.append(f'<path d="{d}" stroke="{c["color"]}" stroke-width="{c["width"]}"{dash}{opacity}/>')
    if c["mark"]:
        out += [mark(c["mark"], x, y, c["color"]) for x, y in points]
    return out


def sample(c, x, y):
    out = []
    if c["width"]:
        dash = f' stroke-dasharray="{c["dash"]}"' if c["dash"] else ""
        opacity = f' stroke-opacity="{c["opacity"]}"' if c.get("opacity") else ""
        out.append(f'<path d="M{x:.1f} {y:.1f}h18" stroke="{c["color"]}" stroke-width="{c["width"]}"{dash}{opacity}/>')
    if c["mark"]:
        out.append(mark(c["mark"], x + 9, y, c["color"]))
    return out


def mark(kind, x, y, color):
    if kind == "o":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{color}"/>'
    if kind == "s":
        return f'<rect x="{x - 3:.1f}" y="{y - 3:.1f}" width="6" height="6" fill="{color}"/>'
    return f'<path d="M{x - 3.5:.1f} {y - 3.5:.1f}l7 7m0 -7l-7 7" stroke="{color}" stroke-width="1.6" fill="none"/>'


def simplify(points, tolerance):
    """Douglas and Peucker: leaves out points nearer than the tolerance to the line through those that stay."""
    keep, stack = {0, len(points) - 1}, [(0, len(points) - 1)]
    while stack:
        a, b = stack.pop()
        (x0, y0), (x1, y1) = points[a], points[b]
        dx, dy = x1 - x0, y1 - y0
        length = math.hypot(dx, dy)
        worst, at = tolerance, None
        for i in range(a + 1, b):
            px, py = points[i][0] - x0, points[i][1] - y0
            d = abs(px * dy - py * dx) / length if length > 1e-9 else math.hypot(px, py)
            if length > 1e-9 and not 0 <= px * dx + py * dy <= length * length:
                d = max(d, min(math.hypot(px, py), math.hypot(px - dx, py - dy)))
            if d > worst:
                worst, at = d, i
        if at is not None:
            keep.add(at)
            stack += [(a, at), (at, b)]
    return [points[i] for i in sorted(keep)]


def escape(text):
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
