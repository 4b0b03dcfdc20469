"""Writes docs/validation.md from the measured cases. The page is generated: change the cases, not the page."""

import textwrap

from case import unit_value

HEAD = """# Validation

What theory predicts and what abd does, case by case. One command makes this page, its plots and its numbers:

```sh
bench/validation/run                   # all cases, a minute or two; writes this page and its plots
bench/validation/run --case top        # one case; its section and plots are replaced
bench/validation/run --quick --check   # a part of the cases, in less than a minute; exit code 1 if a bound is broken
```

Each case is a scene in abd's format, which the command `abd` runs with its default settings unless the case says otherwise. The
tool reads the run file and computes angles, energies and rebounds from poses and velocities, without the solver's own sums.
Energy is kinetic energy and gravity's potential; what a barrier or the elasticity of a body stores is not counted, so it shows as
lost and then as gained. The exact motion is a closed form or a Runge-Kutta integration of the equations of motion with steps so
small that its error is far below the figures shown. A check passes if the measured error is at most its bound. In all plots the
wide grey line is theory.

{binary}

{peers}
"""

PEERS = """Other engines step the same case if their Python package is installed (`pip install mujoco`, `pip install
pybullet`), with the same masses, moments, poses and velocities at the start. Their joints form a tree of reduced coordinates,
closing joints are constraints, and shapes are exact: a ball is a ball, not a mesh. Settings are their defaults, except that
Bullet's damping, motors and limit on joint speeds are off, and that `RK4` is a choice of MuJoCo. If neither contact nor a closed
loop acts, Bullet and MuJoCo's default are the same scheme, semi-implicit Euler in reduced coordinates, and give the same
figures. {found}"""


def cell(check):
    if check["value"] is None:
        return "not supported by this binary"
    return unit_value(check["value"], check["unit"])


def verdict(check):
    if check["value"] is None:
        return "-"
    return "pass" if check["value"] <= check["bound"] else "**fail**"


def table(heads, rows):
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def paragraph(text):
    return textwrap.fill(text, 128, break_long_words=False, break_on_hyphens=False) + "\n"


def section(case):
    out = [f"## {case.title}\n"]
    names = [f"![](images/validation/{case.name}-{i + 1}.svg)" for i in range(len(case.plots))]
    out.append(table([""] * len(names), [names]) if len(names) > 1 else "".join(names) + "\n")
    out.append(paragraph(f"**Theory.** {case.theory}"))
    out.append(paragraph(f"**Setup.** {case.setup}"))
    checks = [[c["what"], cell(c), unit_value(c["bound"], c["unit"]), verdict(c)] for c in case.checks]
    out.append(table(["check", "measured", "bound", ""], checks))
    out += [table(heads, rows) for heads, rows in case.tables]
    out += [paragraph(note) for note in case.notes]
    out.append(paragraph(f"**Limits.** {case.limits}"))
    return "\n".join(out)


def summary(cases):
    """One row a case: how many of its checks pass."""
    rows = []
    for name, entry in cases.items():
        checks = entry["checks"]
        passed = sum(verdict(c) == "pass" for c in checks)
        failed = sum(verdict(c) == "**fail**" for c in checks)
        skipped = len(checks) - passed - failed
        anchor = "".join(ch for ch in entry["title"].lower().replace(" ", "-") if ch.isalnum() or ch == "-")
        rows.append(
            [
                f"[{entry['title']}](#{anchor})",
                str(passed),
                f"**{failed}**" if failed else "0",
                str(skipped) if skipped else "0",
            ]
        )
    return "## Summary\n\n" + table(["case", "checks that pass", "fail", "not supported by this binary"], rows)


def found(peers, measured):
    engines = {}
    for entries in peers.values():
        for engine, entry in sorted(entries.items(), reverse=True):
            engines.setdefault(engine, entry["version"])
    if not engines:
        return "None was installed for this page."
    parts = []
    for engine, version in engines.items():
        parts.append(
            f"{version}"
            f" ({'measured with this page' if engine in measured else 'figures stored by an earlier measurement'})"
        )
    missing = [e for e in ("MuJoCo", "Bullet") if e not in engines]
    text = "Here: " + ", ".join(parts) + "."
    return text + (f" {' and '.join(missing)} was not installed." if missing else "")


def page(store, order, measured):
    cases = {name: store["cases"][name] for name in order if name in store["cases"]}
    binaries = {}
    for entry in cases.values():
        binaries.setdefault(entry["binary"], []).append(entry["title"])
    binary = paragraph(
        "Measured with "
        + (
            next(iter(binaries))
            if len(binaries) == 1
            else "; ".join(f"{name} ({', '.join(titles)})" for name, titles in binaries.items())
        )
        + "."
    ).strip()
    head = HEAD.format(binary=binary, peers=paragraph(PEERS.format(found=found(store["peers"], measured))).strip())
    return (
        "<!-- made by bench/validation/run: do not edit -->\n"
        + head
        + "\n"
        + "\n".join([summary(cases)] + [entry["section"] for entry in cases.values()])
    )
