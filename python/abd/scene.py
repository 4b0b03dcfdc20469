"""Scenes: files, text, robots, meshes, and scenes that abd makes itself."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, Sequence

from abd._core import ArgumentError, Fields, fail, ffi, lib, new_error, text

if TYPE_CHECKING:
    from abd.world import World


class Scene:
    """A scene file, a robot or mesh files, read, checked and resolved. ``build`` makes worlds of it."""

    def __init__(self, c: Any) -> None:
        self._c = ffi.gc(c, lib.abd_scene_destroy)

    @staticmethod
    def load(
        path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | dict[str, Any],
        *,
        set: dict[str, Any] | None = None,
        scale: float = 0.0,
        mesh_dir: str | os.PathLike[str] | None = None,
        geometry: str | None = None,
        base: str | None = None,
        keyframe: str | None = None,
        hold: bool = False,
    ) -> Scene:
        """See ``abd.load``."""
        if isinstance(path, dict):
            options = dict(set=set, scale=scale, mesh_dir=mesh_dir, geometry=geometry, base=base, keyframe=keyframe)
            return Scene.parse(path, hold=hold, **options)
        if not isinstance(path, (str, os.PathLike, list, tuple)):
            raise ArgumentError(f"expected the name of a file, a list of names or a dictionary, got {path!r}")
        paths = [path] if isinstance(path, (str, os.PathLike)) else list(path)
        definition, keep = _scene_def(set, scale, mesh_dir, geometry, base, keyframe, hold)
        names = [ffi.new("char[]", os.fsencode(name)) for name in paths]
        error = new_error()
        c = lib.abd_scene_load(ffi.new("char *[]", names), len(names), definition, error)
        del keep
        if c == ffi.NULL:
            fail(error)
        return Scene(c)

    @staticmethod
    def parse(text: str | bytes | dict, name: str = "scene", **options: Any) -> Scene:
        """A scene as text in the format of scene files, or as a dictionary, which may have NumPy's numbers and arrays.

        The folder of ``name`` is used for meshes.
        """
        if isinstance(text, dict):
            text = json.dumps(text, default=_plain)
        data = text.encode() if isinstance(text, str) else text
        definition, keep = _scene_def(
            *[
                options.pop(k, d)
                for k, d in (
                    ("set", None),
                    ("scale", 0.0),
                    ("mesh_dir", None),
                    ("geometry", None),
                    ("base", None),
                    ("keyframe", None),
                    ("hold", False),
                )
            ]
        )
        if options:
            raise ArgumentError(f"unknown option {next(iter(options))!r} of a scene")
        error = new_error()
        c = lib.abd_scene_parse(data, len(data), name.encode(), definition, error)
        del keep
        if c == ffi.NULL:
            fail(error)
        return Scene(c)

    @staticmethod
    def gallery(name: str, **keys: Any) -> Scene:
        """A scene that abd makes itself: ``Scene.gallery("cards", levels=5)``; ``abd.gallery()`` has the names."""
        error, length = new_error(), ffi.new("size_t *")
        words = [ffi.new("char[]", f"{key}={value}".encode()) for key, value in keys.items()]
        made = lib.abd_gallery_text(name.encode(), ffi.new("char *[]", words), len(words), length, error)
        if made == ffi.NULL:
            fail(error)
        try:
            return Scene.parse(ffi.buffer(made, length[0])[:], name)
        finally:
            lib.abd_text_free(made)

    def build(self, threads: int = 0) -> World:
        """A new world."""
        from abd.world import World

        return World._of(self, threads)

    @property
    def name(self) -> str:
        return text(lib.abd_scene_name(self._c))

    @property
    def dt(self) -> float:
        return lib.abd_scene_dt(self._c)

    @property
    def steps(self) -> int:
        """As the file says."""
        return lib.abd_scene_steps(self._c)

    @property
    def body_count(self) -> int:
        return lib.abd_scene_body_count(self._c)

    @property
    def notes(self) -> list[str]:
        """Remarks that are no errors: keys without effect, triangles dropped, overlapping links of a robot."""
        return [text(lib.abd_scene_note(self._c, k)) for k in range(lib.abd_scene_note_count(self._c))]

    @property
    def text(self) -> str:
        """The scene as self-contained text: every setting resolved, geometry packed into it."""
        written = lib.abd_scene_text(self._c, ffi.NULL)
        if written == ffi.NULL:
            raise MemoryError("out of memory for the scene's text")
        return ffi.string(written).decode()

    def __reduce__(self) -> tuple:
        return Scene.parse, (self.text, self.name)

    def __repr__(self) -> str:
        return f"<abd.Scene {self.name!r}: {self.body_count} bodies, {self.steps} steps of {self.dt:g} s>"


def _plain(value: Any) -> Any:
    """NumPy's numbers and arrays for JSON."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise ArgumentError(f"a scene has numbers, texts, lists and dictionaries, got {value!r}")


def _scene_def(
    set: dict[str, Any] | None,
    scale: float,
    mesh_dir: Any,
    geometry: str | None,
    base: str | None,
    keyframe: str | None,
    hold: bool,
) -> tuple[Any, list]:
    definition = ffi.new("AbdSceneDef *", lib.abd_default_scene_def())
    words = []
    for key, value in (set or {}).items():
        value = value.tolist() if hasattr(value, "tolist") else value
        words.append(ffi.new("char[]", f"{key}={value if isinstance(value, str) else json.dumps(value)}".encode()))
    fields = Fields(definition, "scene", hidden=("set", "set_count"))
    fields.set(
        mesh_dir=os.fspath(mesh_dir) if mesh_dir is not None else None,
        mesh_scale=scale,
        geometry=geometry,
        base=base,
        keyframe=keyframe,
        hold=hold,
    )
    keep = [*fields.keep, *words, ffi.new("char *[]", words)]
    definition.set, definition.set_count = keep[-1], len(words)
    return definition, keep


def load(
    path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | dict[str, Any],
    *,
    threads: int = 0,
    set: dict[str, Any] | None = None,
    scale: float = 0.0,
    mesh_dir: str | os.PathLike[str] | None = None,
    geometry: str | None = None,
    base: str | None = None,
    keyframe: str | None = None,
    hold: bool = False,
) -> World:
    """A World of a file: a scene (.json), a robot (.urdf, .xml of MJCF), or one or more meshes dropped on a ground.

    A dictionary is a scene as in a file; meshes are then searched from the current folder.
    ``set`` changes settings by their names in scene files: ``{"contact.friction": 0.5}``. ``scale`` is for meshes given
    alone: 0.001 for millimetres. Of robots: ``geometry`` "collision" or "visual", ``base`` "fixed" or "free",
    ``keyframe`` where they start, ``hold``: servos hold the joints without a drive. ``world.scene.notes`` has remarks.
    """
    scene = Scene.load(
        path, set=set, scale=scale, mesh_dir=mesh_dir, geometry=geometry, base=base, keyframe=keyframe, hold=hold
    )
    return scene.build(threads)


def gallery() -> list[str]:
    """Names of the scenes that abd makes itself, for ``Scene.gallery``."""
    names: list[str] = []
    table = lib.abd_gallery_names()
    while table[len(names)] != ffi.NULL:
        names.append(text(table[len(names)]))
    return names
