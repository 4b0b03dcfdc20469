"""Writes docs/python-reference.md from the docstrings: python docs/python-reference.py > docs/python-reference.md"""

import inspect
import re
import textwrap

import abd
from abd import options
from abd.run import Page, RunMesh, Viewer

CLASSES = [abd.World, abd.Body, abd.SoftBody, abd.MeshView, abd.Joint, abd.Report, abd.Snapshot, abd.Mesh, abd.Scene,
           abd.Batch, abd.Run, abd.Frame, RunMesh, abd.Recorder, Page, Viewer, abd.Study, abd.MemberResult,
           abd.SweepResult]  # fmt: skip
FUNCTIONS = [abd.load, abd.run, abd.sweep, abd.gallery, abd.shape, abd.box, abd.sphere, abd.cylinder, abd.torus,
             abd.ground]  # fmt: skip
ERRORS = [abd.Error, abd.ArgumentError, abd.MeshError, abd.CrossingError, abd.StateError, abd.SceneError, abd.FileError,
          abd.Interrupted, abd.BatchError]  # fmt: skip
OPTIONS = [options.BodyOptions, options.SoftOptions, options.JointOptions, options.DriveOptions, options.ContactOptions,
           options.SolverOptions]  # fmt: skip


def doc(item: object) -> str:
    text = inspect.getdoc(item) or ""
    return re.sub(r"``(.*?)``", r"`\1`", textwrap.dedent(text)).strip()


def signature(function: object) -> str:
    text = str(inspect.signature(function)).replace("'", "")
    text = re.sub(r"\((self|cls)(, )?", "(", text)
    return text.replace("os.PathLike[str]", "PathLike").replace("np.ndarray", "array").replace("abd.", "")


def members(kind: type) -> list[tuple[str, object]]:
    return [(name, value) for name, value in vars(kind).items() if not name.startswith("_")]


def write_class(kind: type) -> None:
    print(f"\n### {kind.__name__}\n\n{doc(kind)}\n")
    if "__init__" in vars(kind) and kind in (abd.World, abd.Mesh, abd.Batch, abd.Run):
        print(f"`{kind.__name__}{signature(kind.__init__).split(' -> ')[0]}`\n")
    rows = []
    for name, value in members(kind):
        target = value.__func__ if isinstance(value, (staticmethod, classmethod)) else value
        if isinstance(value, property):
            rows.append((f"`{name}`", doc(value)))
        elif inspect.isfunction(target):
            rows.append((f"`{name}{signature(target)}`", doc(target)))
    if rows:
        print("| | |\n|---|---|")
    for left, right in rows:
        right = " ".join(right.split()).replace("|", "\\|")
        print(f"| {left.replace('|', chr(92) + '|')} | {right} |")


def main() -> None:
    print("# The Python module: reference\n")
    print("Made by [python-reference.py](python-reference.py) from the docstrings. [python.md](python.md) is the guide.")
    print("\n## Functions\n\n| | |\n|---|---|")
    for function in FUNCTIONS:
        left = f"`abd.{function.__name__}{signature(function)}`".replace("|", "\\|")
        print(f"| {left} | {' '.join(doc(function).split())} |")
    print("\n## Classes")
    for kind in CLASSES:
        write_class(kind)
    print("\n## Options\n\nKeyword arguments; [abd.h](../include/abd/abd.h) explains each field and its default.\n")
    print("| | |\n|---|---|")
    for kind in OPTIONS:
        names = ", ".join(f"`{name}`" for name in kind.__annotations__)
        print(f"| {kind.__name__}: {doc(kind).rstrip('.')} | {names} |")
    print("\n## Exceptions\n\n| | |\n|---|---|")
    for kind in ERRORS:
        base = ", ".join(b.__name__ for b in kind.__bases__)
        print(f"| `abd.{kind.__name__}({base})` | {' '.join(doc(kind).split())} |")


if __name__ == "__main__":
    main()
