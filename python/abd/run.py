"""Runs: recording worlds into run files, reading, verifying, exporting and showing them."""

from __future__ import annotations

import html
import os
import shutil
import sqlite3
import sys
import tempfile
import threading
import time
import warnings
import webbrowser
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Iterator, Sequence

import numpy as np

from abd._core import (
    OK,
    ArgumentError,
    Error,
    Fields,
    FileError,
    StateError,
    as_dict,
    copy_records,
    fail,
    failure,
    ffi,
    lib,
    new_error,
    steps_of,
    text,
    whole,
)
from abd.scene import Scene

if TYPE_CHECKING:
    from abd.world import World

# ---- Writing ----


class Recorder:
    """Writes the steps of a world into a run file, see ``World.record``. A thread writes; a step only copies."""

    path: str
    _c: Any = None

    def __init__(
        self,
        world: World,
        path: str | os.PathLike[str],
        *,
        every: int = 1,
        contacts: bool = False,
        steps: int | None = None,
        replace: bool = False,
    ) -> None:
        world._open()
        if world._recorder:
            raise StateError(f"the world is recorded into {world._recorder.path} already", "state")
        self.path = os.fspath(path)
        self._world = world
        world.start()
        scene = world.to_scene()
        definition, error = ffi.new("AbdRunDef *", lib.abd_default_run_def()), new_error()
        fields = Fields(definition, "record")
        fields.set(replace=replace, steps=steps, every=whole(every, "every", 1), contacts=contacts, command="python")
        c = lib.abd_run_create(os.fsencode(self.path), definition, scene._c, world._open(), error)
        if c == ffi.NULL:
            fail(error)
        self._take(c)

    def _take(self, c: Any) -> None:
        self._c = c
        self._world._glue.run = c
        self._world._recorder = self

    @classmethod
    def _resumed(cls, world: World, path: str, c: Any) -> Recorder:
        recorder = cls.__new__(cls)
        recorder.path, recorder._world = path, world
        recorder._take(c)
        return recorder

    def close(self) -> None:
        """Ends the recording: every step is in the file, with a state to resume from."""
        c, self._c = self._c, None
        if c is None:
            return
        world = self._world
        try:
            status = lib.abd_run_finish(c, world._open())
            if status != OK:
                raise failure(status, text(lib.abd_run_error(c)))
        finally:
            world._glue.run, world._recorder = ffi.NULL, None
            lib.abd_run_close(c)

    def __enter__(self) -> Recorder:
        return self

    def __exit__(self, *exception: Any) -> None:
        self.close()

    def __del__(self) -> None:
        try:
            self.close()
        except Exception:  # the world is closed or in use: the file ends with its last state
            pass


def _bar(total: int, what: str, show: bool) -> Any:
    """A progress bar of tqdm; without tqdm one that shows nothing."""
    if show:
        try:
            from tqdm.auto import tqdm

            return tqdm(total=total, unit="step", desc=what)
        except ImportError:
            pass
    return _NoBar()


class _NoBar:
    def update(self, count: int) -> None:
        pass

    def close(self) -> None:
        pass


def run(
    scene: Any,
    out: str | os.PathLike[str] | None = None,
    *,
    steps: int | None = None,
    time: float | None = None,
    every: int = 1,
    contacts: bool = False,
    replace: bool = False,
    resume: bool = False,
    threads: int = 0,
    progress: bool = True,
    **options: Any,
) -> Run:
    """Simulates into a run file and returns it: what ``abd run`` does.

    ``scene``: a file or files (see ``abd.load``, which has the other options), a Scene, a dictionary, or a World, which goes
    on from where it is. ``out``: the run file; NAME.abd in this folder if left out. ``steps`` or ``time`` [s] in all; as
    the scene says if left out. ``resume`` goes on with an existing file. Ctrl-C leaves a file that can be resumed.
    """
    from abd.world import World

    if steps is not None and time is not None:
        raise ArgumentError("steps and time exclude each other")
    if resume and replace:
        raise ArgumentError("resume and replace exclude each other")
    world: World | None = scene if isinstance(scene, World) else None
    if world is None and not isinstance(scene, Scene):
        scene = Scene.parse(scene, **options) if isinstance(scene, dict) else Scene.load(scene, **options)
    name = (world.to_scene() if world else scene).name
    path = os.fspath(out) if out is not None else f"{name.replace('/', '_') or 'run'}.abd"
    going_on = resume and os.path.exists(path)
    if going_on:
        if world:
            raise ArgumentError("a run is resumed from its file, not from a World: give the scene")
        recorder, world, planned = _resume(path, scene, threads)
    else:
        world = world or scene.build(threads)
        planned = scene.steps if isinstance(scene, Scene) else -1
    if steps is not None:
        planned = whole(steps, "steps")
    target = steps_of(time, world.dt, "time") if time is not None else planned
    if target < 0:
        raise ArgumentError("steps or time: expected one of them, because a World has no end")
    if not going_on:
        recorder = Recorder(world, path, every=every, contacts=contacts, steps=target, replace=replace)
    with recorder:
        open_steps = _step_to(world, target, name, progress)
    if open_steps:
        warnings.warn(f"{path}: {open_steps} steps did not converge; Run.reports has their outcome", stacklevel=2)
    return Run(path)


def _step_to(world: World, target: int, name: str, progress: bool) -> int:
    """Steps to a step; returns how many did not converge."""
    left, count, open_steps = target - world.step_count, 1, 0
    bar = _bar(left, name, progress)
    try:
        while left > 0:
            begun = time.perf_counter()
            report = world.step(min(count, left))
            open_steps += report.not_converged
            left -= report.steps
            bar.update(report.steps)
            taken = time.perf_counter() - begun
            count = 2 * count if taken < 0.02 else max(1, count // 2) if taken > 0.1 else count
    finally:
        bar.close()
    return open_steps


def _resume(path: str, scene: Scene, threads: int) -> tuple[Recorder, World, int]:
    from abd.world import World

    error = new_error()
    scenes, worlds = ffi.new("AbdScene **", scene._c), ffi.new("AbdWorld **")
    c = lib.abd_run_resume(os.fsencode(path), int(threads), scenes, worlds, error)
    if c == ffi.NULL:
        if worlds[0] != ffi.NULL:
            lib.abd_world_destroy(worlds[0])
        fail(error)
    world = World._of(scene, threads, worlds[0])
    return Recorder._resumed(world, path, c), world, lib.abd_run_plan(c).steps


# ---- Reading ----


class Frame:
    """The state of all bodies after one step."""

    def __init__(self, run: Run, step: int, time: float, nodes: np.ndarray, rates: np.ndarray | None) -> None:
        self.run = run
        self.step = step
        self.time = time
        self.nodes = nodes
        self.rates = rates

    def __repr__(self) -> str:
        return f"<abd.Frame of step {self.step}, t = {self.time:.6g} s>"

    @property
    def poses(self) -> np.ndarray:
        """(n, 3, 4): [p | A] of every body, as World.poses; NaN for soft bodies and for those that are not there."""
        return self.run._stiff(self.nodes, 12).reshape(-1, 4, 3).transpose(0, 2, 1)

    @property
    def velocities(self) -> np.ndarray:
        """(n, 6): velocity and angular velocity of every body."""
        if self.rates is None:
            raise Error(f"{self.run.path} has no velocities", "file")
        return self.run._stiff(self.rates, 6, "rate").reshape(-1, 6)

    def vertices(self, body: int | str) -> np.ndarray:
        """(n, 3) positions of a body's vertices."""
        info = self.run.body(body)
        mesh = self.run.mesh(info["mesh"])
        if info["soft"]:
            return self.nodes[info["node"] : info["node"] + mesh.vertices.size].reshape(-1, 3)
        pose = self.nodes[info["node"] : info["node"] + 12].reshape(4, 3)
        return mesh.vertices @ pose[1:] + pose[0]


class RunMesh:
    """A mesh of a run, in rest coordinates: file coordinates = origin + axes @ rest."""

    def __init__(self, c: Any) -> None:
        def array(pointer: Any, count: int, width: int, kind: str) -> np.ndarray:
            if not count:
                return np.zeros((0, width), kind)
            size = count * width * np.dtype(kind).itemsize
            return np.frombuffer(ffi.buffer(pointer, size), kind).reshape(-1, width).copy()

        self.name = text(c.name)
        self.vertices = array(c.vertex, c.vertex_count, 3, "f8")
        self.triangles = array(c.triangle, c.triangle_count, 3, "u4")
        self.edges = array(c.edge, c.edge_count, 2, "u4")
        self.tets = array(c.tet, c.tet_count, 4, "u4")
        self.origin, self.axes = np.array(list(c.origin)), np.array(list(c.axes)).reshape(3, 3).T
        self.closed, self.half_space, self.soft = bool(c.closed), bool(c.half_space), bool(c.soft)


class Run(Sequence[Frame]):
    """A run file: a sequence of frames that are read when they are needed, reports, contacts, joints, events.

    A run may still be written by another process; ``refresh`` finds its new frames.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        self._lock = threading.RLock()
        self._bodies: list[dict[str, Any]] | None = None
        self._meshes: dict[int, RunMesh] = {}
        self._changes = -1
        error = new_error()
        c = lib.abd_run_open(os.fsencode(self.path), error)
        self._c: Any = None
        if c == ffi.NULL:
            fail(error)
        self._c = ffi.gc(c, lib.abd_run_close)
        self.refresh()

    def close(self) -> None:
        """Closes the file."""
        with self._lock:
            if self._c is not None:
                ffi.release(self._c)
            self._c = None

    def __enter__(self) -> Run:
        return self

    def __exit__(self, *exception: Any) -> None:
        self.close()

    def __reduce__(self) -> tuple:
        return Run, (self.path,)

    def _open(self) -> Any:
        if self._c is None:
            raise StateError(f"the run {self.path} is closed", "state")
        return self._c

    def _do(self, function: Any, *arguments: Any) -> None:
        status = function(self._open(), *arguments)
        if status != OK:
            raise failure(status, text(lib.abd_run_error(self._c)))

    def refresh(self) -> None:
        """Looks for frames that were written since, and for bodies and joints that came or went."""
        with self._lock:
            view = ffi.new("AbdRunView *")
            self._do(lib.abd_run_view, view)
            data = ffi.buffer(view.frame, 8 * view.frame_count) if view.frame_count else b""
            self._steps = np.frombuffer(data, "i8").copy()
            self._counts = {key: getattr(view, f"{key}_count") for key in ("body", "mesh", "joint", "node", "rate")}
            if view.changes != self._changes:
                self._bodies, self._meshes, self._changes = None, {}, view.changes
            self.dt = view.dt
            self.up = np.array(list(view.up))

    def __repr__(self) -> str:
        return f"<abd.Run {self.path!r}: {len(self)} frames, {self.body_count} bodies>"

    # ---- Frames ----

    @property
    def steps(self) -> np.ndarray:
        """Steps that have a frame."""
        return self._steps

    @property
    def times(self) -> np.ndarray:
        """[s] of the frames."""
        return self._steps * self.dt

    def __len__(self) -> int:
        return len(self._steps)

    def __getitem__(self, index: Any) -> Any:
        """The frame of an index, -1 the last, or a list of the frames of a slice."""
        if isinstance(index, slice):
            return [self.frame(step) for step in self._steps[index].tolist()]
        try:
            step = int(self._steps[index])
        except (IndexError, TypeError):
            if not isinstance(index, (int, np.integer)):
                raise
            raise IndexError(f"{self.path} has {len(self)} frames, there is none with index {index}") from None
        return self.frame(step)

    def frame(self, step: int) -> Frame:
        """The frame of a step."""
        with self._lock:
            c = ffi.new("AbdRunFrame *")
            self._do(lib.abd_run_frame, int(step), c)
            nodes = np.frombuffer(ffi.buffer(c.node, 8 * self._counts["node"]), "f8").copy()
            rates = None
            if c.rate != ffi.NULL:
                rates = np.frombuffer(ffi.buffer(c.rate, 8 * self._counts["rate"]), "f8").copy()
            return Frame(self, c.step, c.time, nodes, rates)

    def poses(self, frames: slice = slice(None)) -> np.ndarray:
        """(f, n, 3, 4): the poses of many frames: ``run.poses(slice(0, None, 10))`` those of every tenth."""
        steps = self._steps[frames].tolist()
        result = np.empty((len(steps), self.body_count, 3, 4))
        for k, step in enumerate(steps):
            result[k] = self.frame(step).poses
        return result

    def _stiff(self, numbers: np.ndarray, width: int, key: str = "node") -> np.ndarray:
        """The numbers of the stiff bodies, a row for every body; NaN for soft ones."""
        bodies = self.bodies
        if not any(body["soft"] for body in bodies):
            return numbers.reshape(-1, width)
        rows = np.full((len(bodies), width), np.nan)
        for k, body in enumerate(bodies):
            if not body["soft"]:
                rows[k] = numbers[body[key] : body[key] + width]
        return rows

    # ---- What there is ----

    @property
    def body_count(self) -> int:
        return self._counts["body"]

    def _list(self, count: int, function: Any, kind: str) -> list[dict[str, Any]]:
        result = []
        with self._lock:
            c = ffi.new(f"{kind} *")
            for k in range(count):
                self._do(function, [k + 1], c)
                result.append({"id": k + 1, **as_dict(c[0])})
        return result

    @property
    def bodies(self) -> list[dict[str, Any]]:
        """name, mesh, motion, mass, colour, ... of every body; its number in the list is id - 1."""
        if self._bodies is None:
            self._bodies = self._list(self.body_count, lib.abd_run_body, "AbdRunBody")
        return self._bodies

    def body(self, name: int | str) -> dict[str, Any]:
        """The body of a name or id."""
        for body in self.bodies:
            if name in (body["id"], body["name"]):
                return body
        raise ArgumentError(f"{self.path} has no body {name!r}")

    @property
    def joints(self) -> list[dict[str, Any]]:
        """name, kind, bodies and limits of every joint."""
        return self._list(self._counts["joint"], lib.abd_run_joint, "AbdRunJoint")

    def mesh(self, id: int) -> RunMesh:
        """A mesh by its id."""
        with self._lock:
            if id not in self._meshes:
                c = ffi.new("AbdRunMesh *")
                self._do(lib.abd_run_mesh, [id], c)
                self._meshes[id] = RunMesh(c)
            return self._meshes[id]

    def meta(self, key: str) -> str | None:
        """An entry of the table `meta`: "scene", "created", "command", ..."""
        with self._lock:
            value = lib.abd_run_meta(self._open(), key.encode())
            return None if value == ffi.NULL else text(value)

    @property
    def scene(self) -> Scene:
        """The scene that the run was made of."""
        return Scene.parse(self.meta("scene") or "", self.meta("scene_name") or "scene")

    @property
    def summary(self) -> dict[str, Any]:
        """What ``abd info`` prints: steps, steps that did not converge, iterations, contacts, smallest gap, times."""
        with self._lock:
            c = ffi.new("AbdRunSummary *")
            self._do(lib.abd_run_summary, c)
            return as_dict(c[0])

    # ---- Tables ----

    @property
    def reports(self) -> dict[str, np.ndarray]:
        """The numbers of every step's report by column: iterations, energies, times, ..."""
        with self._lock:
            c = ffi.new("AbdRunReports *")
            self._do(lib.abd_run_reports, -1, 2**62, c)
            names = [text(c.column[k]) for k in range(c.column_count)]
            size = 8 * c.row_count * c.column_count
            values = np.frombuffer(ffi.buffer(c.value, size) if size else b"", "f8").reshape(-1, len(names)).copy()
        return {name: values[:, k] for k, name in enumerate(names)}

    def table(self, name: str = "report") -> Any:
        """A table of the file as a pandas DataFrame: "report", "event", "contact", "joint", "joint_def", "body", ...

        Without pandas, a dictionary of columns.
        """
        self._open()
        with sqlite3.connect(f"{Path(self.path).absolute().as_uri()}?mode=ro", uri=True) as file:
            known = [row[0] for row in file.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            if name not in known:
                raise ArgumentError(f"{self.path} has no table {name!r}; it has {', '.join(sorted(known))}")
            cursor = file.execute(f'SELECT * FROM "{name}"')
            columns = [column[0] for column in cursor.description]
            rows = cursor.fetchall()
        file.close()
        try:
            import pandas
        except ImportError:
            return {column: np.array([row[k] for row in rows]) for k, column in enumerate(columns)}
        return pandas.DataFrame(rows, columns=columns)

    @property
    def events(self) -> Any:
        """All events: step, kind, body_a, body_b, joint. See ``table``."""
        return self.table("event")

    def _records(self, function: Any, step: int, kind: str) -> np.ndarray:
        with self._lock:
            pointer, count = ffi.new(f"{kind} const **"), ffi.new("size_t *")
            if step not in self._steps:
                raise FileError(f"{self.path}: there is no frame of step {step}", "file")
            self._do(function, int(step), pointer, count)
            return copy_records(kind, pointer[0], count[0])

    def contacts(self, step: int) -> np.ndarray:
        """The contacts of a frame, as World.contacts; none unless the run was made with ``contacts=True``."""
        return self._records(lib.abd_run_contacts, step, "AbdContact")

    def readings(self, step: int) -> np.ndarray:
        """The joints in a frame, as World.readings."""
        return self._records(lib.abd_run_readings, step, "AbdJointReading")

    # ---- Proof ----

    def verify(self, step: int = -1) -> dict[str, int]:
        """Tests with exact arithmetic that no two surfaces cross, in the frame of a step or in all (-1).

        Returns frames, crossings (0 if all is well) and pairs of bodies that may collide.
        """
        with self._lock:
            verdict = ffi.new("AbdRunVerdict *")
            self._do(lib.abd_run_verify, whole(step, "step", -1), ffi.NULL, ffi.NULL, ffi.NULL, verdict)
            return as_dict(verdict[0])

    # ---- Exports and pictures ----

    def export(self, path: str | os.PathLike[str], *, progress: bool = False, **options: Any) -> str:
        """Writes a film, a picture, an animation, geometry or a table by the ending of the name; returns the name.

        .mp4 .gif films, .png picture, .html the viewer in one file, .glb .usda animations, .obj .ply .vtp .pvd geometry,
        .csv tables. ``options`` are the fields of AbdExportDef: frame, first, last, every, all, speed, fps, table, width,
        height, azimuth, elevation, zoom, center, radius, strain, stress.
        """
        path = os.fspath(path)
        definition, error = ffi.new("AbdExportDef *", lib.abd_default_export_def()), new_error()
        fields = Fields(definition, "export", hidden=("progress", "user", "result", "body", "body_count"))
        fields.set(**options)
        bar = _bar(0, path, progress)
        task = _Task(bar)
        handle = ffi.new_handle(task)
        definition.progress, definition.user = lib.glue_progress, handle
        with self._lock, _ffmpeg(path):
            status = lib.abd_export(self._open(), os.fsencode(path), definition, error)
        bar.close()
        if status != OK:
            fail(error)
        if task.stopped:
            raise task.stopped
        return path

    def view(
        self, *, width: Any = "100%", height: int = 480, port: int = 0, block: bool = True, browser: bool = True
    ) -> Page | Viewer | None:
        """Shows the run: in a notebook the viewer inside it, otherwise in the browser until Ctrl-C.

        With ``block`` False it returns at once, and the viewer is served until ``Viewer.stop`` or the program's end.
        """
        if _in_notebook():
            return self.page(width=width, height=height)
        viewer = Viewer(self.path, port)
        print(viewer.url)
        if browser:
            webbrowser.open(viewer.url)
        if not block:
            return viewer
        try:
            while True:
                time.sleep(1)
        except KeyboardInterrupt:
            viewer.stop()
        return None

    def page(self, *, width: Any = "100%", height: int = 480, **options: Any) -> Page:
        """The viewer and the run for a notebook, without a server. ``options`` as of ``export``."""
        with tempfile.TemporaryDirectory() as folder:
            source = Path(self.export(Path(folder) / "run.html", **options)).read_text()
        return Page(source, width, height)


class _Task:
    """The progress of an export; keeps an interruption until the export ends."""

    def __init__(self, bar: Any) -> None:
        self.bar = bar
        self.done = 0
        self.stopped: BaseException | None = None

    def show(self, done: int, total: int) -> None:
        self.bar.total = total
        self.bar.update(done - self.done)
        self.done = done


def _stopped(kind: Any, value: Any, traceback: Any) -> None:
    frame = traceback.tb_frame if traceback else None
    if frame:
        ffi.from_handle(frame.f_locals["user"]).stopped = value


@ffi.def_extern(name="glue_progress", onerror=_stopped)
def _progress(user: Any, done: int, total: int) -> None:
    ffi.from_handle(user).show(done, total)


class Page:
    """The viewer with a run, shown by notebooks."""

    def __init__(self, source: str, width: Any, height: int) -> None:
        self.source = source
        self.width = width if isinstance(width, str) else f"{width}px"
        self.height = height

    def _repr_html_(self) -> str:
        return (
            f'<iframe srcdoc="{html.escape(self.source)}" style="width: {self.width}; height: {self.height}px; border: 0" '
            "allowfullscreen></iframe>"
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the page as an .html file."""
        Path(path).write_text(self.source)


class Viewer:
    """Serves the viewer for a run file at an address of this machine until it is stopped."""

    folder: Any = None

    def __init__(self, path: str, port: int = 0) -> None:
        error = new_error()
        c = lib.abd_viewer_start(os.fsencode(path), ffi.NULL, int(port), error)
        if c == ffi.NULL:
            fail(error)
        self._c = ffi.gc(c, lib.abd_viewer_stop)
        self.url = f"http://127.0.0.1:{lib.abd_viewer_port(c)}/"

    def stop(self) -> None:
        if self._c is not None:
            ffi.release(self._c)
        self._c = None

    def __repr__(self) -> str:
        return f"<abd.Viewer at {self.url}>" if self._c is not None else "<abd.Viewer, stopped>"


def view_world(world: World, **options: Any) -> Page | Viewer | None:
    folder = tempfile.TemporaryDirectory(prefix="abd-")
    path, error = os.path.join(folder.name, "world.abd"), new_error()
    if lib.abd_run_write_start(os.fsencode(path), world.to_scene()._c, world._open(), error) != OK:
        fail(error)
    with Run(path) as run:
        shown = run.view(**options)
    if isinstance(shown, Viewer):
        shown.folder = folder  # removed with the viewer
    return shown


def _in_notebook() -> bool:
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return shell is not None and shell.has_trait("kernel")


@contextmanager
def _ffmpeg(path: str) -> Iterator[None]:
    """Films need the program ffmpeg: that of this machine, else that of the package imageio-ffmpeg."""
    if not path.lower().endswith((".mp4", ".gif")) or shutil.which("ffmpeg"):
        yield
        return
    try:
        from imageio_ffmpeg import get_ffmpeg_exe

        program = get_ffmpeg_exe()
    except (ImportError, RuntimeError):
        yield  # the export says what is missing
        return
    before = os.environ.get("PATH", os.defpath)
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(program, os.path.join(folder, "ffmpeg"))
        os.environ["PATH"] = folder + os.pathsep + before
        try:
            yield
        finally:
            os.environ["PATH"] = before
