"""What a case hands to the page: words, checks with bounds, tables and plots."""


class Case:
    def __init__(self, name, title):
        self.name, self.title = name, title
        self.theory = self.setup = self.limits = self.binary = ""
        self.checks, self.tables, self.plots, self.notes = [], [], [], []

    def check(self, what, value, bound, unit=""):
        """`value` may be at most `bound`. A value of None: the binary does not support what the check needs."""
        self.checks.append(dict(what=what, value=value, bound=bound, unit=unit))

    def table(self, heads, rows):
        self.tables.append((heads, rows))

    def plot(self, plot):
        self.plots.append(plot)
        return plot

    def passed(self):
        return all(c["value"] is None or c["value"] <= c["bound"] for c in self.checks)

    def failures(self):
        return [c for c in self.checks if c["value"] is not None and not c["value"] <= c["bound"]]

    def skipped(self):
        return [c for c in self.checks if c["value"] is None]


def number(value, digits=3):
    """A number for a table: three significant digits, powers of ten when it is very small or large."""
    if value is None:
        return "-"
    if value == 0:
        return "0"
    if 1e-3 <= abs(value) < 1e5:
        text = f"{value:.{digits}g}"
        return f"{float(text):.0f}" if "e" in text else text
    return f"{value:.{max(0, digits - 2)}e}".replace("e-0", "e-").replace("e+0", "e")


def percent(value, digits=2):
    if value is None:
        return "-"
    return number(100 * value, digits) + " %" if abs(value) < 10 else "> 1000 %"


def step(dt):
    """A time step as a fraction: 1/100."""
    return f"1/{round(1 / dt)}"


def peer_name(engine, integrator):
    """The engine, and its integrator if it has several."""
    return engine if integrator == "default" else f"{engine} {integrator}"


def unit_value(value, unit):
    if unit == "%":
        return percent(value)
    return number(value) + (f" {unit}" if unit else "")
