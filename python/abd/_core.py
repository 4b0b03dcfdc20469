"""C structures, statuses and enumerations as Python sees them."""

from __future__ import annotations

import difflib
import math
import operator
from typing import Any, Iterable, NoReturn

import numpy as np

from abd._abd import ffi, lib

OK = lib.ABD_OK


class Error(Exception):
    """A failure of abd. Its text is the library's sentence; ``status`` is the kind: "argument", "mesh", ..."""

    def __init__(self, sentence: str, status: str = "argument") -> None:
        super().__init__(sentence)
        self.status = status

    def __reduce__(self) -> tuple:
        return type(self), (str(self), self.status)


class ArgumentError(Error, ValueError):
    """A value that cannot be used: wrong shape or type, NaN, an unknown name, an impossible joint."""


class MeshError(Error, ValueError):
    """A mesh that cannot be simulated."""


class CrossingError(Error):
    """Two surfaces touch or cross at the start or after a change. The sentence names bodies, triangles and place."""


class StateError(Error):
    """Not possible now: a closed world, a world in use by another thread, a foreign snapshot."""


class SceneError(Error, ValueError):
    """A scene or mesh file that is missing or malformed. The sentence has file, line, key and value."""


class FileError(Error, OSError):
    """A run file that cannot be read or written."""


class Interrupted(Error):
    """``World.interrupt`` stopped a step; the world is as before it."""


_KIND = {
    lib.ABD_ERROR_ARGUMENT: ArgumentError,
    lib.ABD_ERROR_JOINT: ArgumentError,
    lib.ABD_ERROR_MESH: MeshError,
    lib.ABD_ERROR_CROSSING: CrossingError,
    lib.ABD_ERROR_STATE: StateError,
    lib.ABD_ERROR_SCENE: SceneError,
    lib.ABD_ERROR_FILE: FileError,
    lib.ABD_ERROR_DISK: FileError,
    lib.ABD_INTERRUPTED: Interrupted,
}


def text(pointer: Any) -> str:
    """A C string; "" for NULL."""
    return ffi.string(pointer).decode("utf-8", "replace") if pointer != ffi.NULL else ""


def failure(status: int, sentence: str) -> Exception:
    if status == lib.ABD_ERROR_MEMORY:
        return MemoryError(sentence)
    name = text(lib.abd_status_name(status))
    return _KIND.get(status, Error)(sentence or name, name)


def fail(error: Any) -> NoReturn:
    """Raises what an AbdError says."""
    raise failure(error.status, text(error.text))


def new_error() -> Any:
    return ffi.new("AbdError *")


# ---- Enumerations ----

_ENUM = {
    "AbdIntegrator": lib.ABD_ENUM_INTEGRATOR,
    "AbdLinear": lib.ABD_ENUM_LINEAR,
    "AbdDetection": lib.ABD_ENUM_DETECTION,
    "AbdSubsteps": lib.ABD_ENUM_SUBSTEPS,
    "AbdRanks": lib.ABD_ENUM_RANKS,
    "AbdRanksLinear": lib.ABD_ENUM_RANKS_LINEAR,
    "AbdMotion": lib.ABD_ENUM_MOTION,
    "AbdElasticity": lib.ABD_ENUM_ELASTICITY,
    "AbdSoftModel": lib.ABD_ENUM_SOFT_MODEL,
    "AbdJointKind": lib.ABD_ENUM_JOINT_KIND,
    "AbdCoordinate": lib.ABD_ENUM_COORDINATE,
    "AbdDriveKind": lib.ABD_ENUM_DRIVE_KIND,
    "AbdStage": lib.ABD_ENUM_STAGE,
    "AbdTerm": lib.ABD_ENUM_TERM,
    "AbdOutcome": lib.ABD_ENUM_OUTCOME,
    "AbdEventKind": lib.ABD_ENUM_EVENT_KIND,
    "AbdDevice": lib.ABD_ENUM_DEVICE,
}


def _names(which: int) -> list[str]:
    names: list[str] = []
    table = lib.abd_enum_names(which)
    while table[len(names)] != ffi.NULL:
        names.append(text(table[len(names)]))
    return names


NAMES = {name: _names(which) for name, which in _ENUM.items()}
"""The names of each enumeration's values: NAMES["AbdMotion"] is ["dynamic", "static", "kinematic"]."""
FIXED = _names(lib.ABD_ENUM_FIX)
WORK = [text(lib.abd_work_name(k)) for k in range(lib.ABD_WORK_COUNT)]


def _plain(ctype: Any) -> str:
    return ctype.cname.removeprefix("enum ")


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


def enum_value(kind: str, name: Any, what: str) -> int:
    names = NAMES[kind]
    if isinstance(name, str) and name in names:
        return names.index(name)
    raise ArgumentError(f"{what}: expected one of {_listed(names)}, got {name!r}")


def enum_name(kind: str, value: int) -> str:
    names = NAMES[kind]
    return names[value] if 0 <= value < len(names) else "unknown"


# ---- Numbers ----


def number(value: Any, what: str) -> float:
    try:
        result = math.nan if isinstance(value, (str, bytes)) else float(value)
    except (TypeError, ValueError):
        result = math.nan
    if math.isnan(result):
        raise ArgumentError(f"{what}: expected a number, got {value!r}")
    return result


def whole(value: Any, what: str, least: int = 0) -> int:
    """An integer of Python or NumPy that is not below the least one."""
    try:
        result = operator.index(value)
    except TypeError:
        result = least - 1
    if result < least:
        raise ArgumentError(f"{what}: expected an integer >= {least}, got {value!r}")
    return result


def vector(value: Any, count: int, what: str) -> list[float]:
    """So many finite numbers."""
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ArgumentError(f"{what}: expected {count} numbers, got {value!r}") from None
    if array.shape != (count,):
        raise ArgumentError(f"{what}: expected {count} numbers, got an array of shape {array.shape}")
    if not np.isfinite(array).all():
        raise ArgumentError(f"{what}: expected finite numbers, got {array.tolist()}")
    return array.tolist()


def points(value: Any, what: str) -> np.ndarray:
    """An (n, 3) array of finite numbers, contiguous."""
    try:
        array = np.ascontiguousarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ArgumentError(f"{what}: expected an array of shape (n, 3), got {type(value).__name__}") from None
    if array.ndim != 2 or array.shape[1] != 3:
        raise ArgumentError(f"{what}: expected an array of shape (n, 3), got {array.shape}")
    bad = ~np.isfinite(array)
    if bad.any():
        row = int(np.argwhere(bad)[0][0])
        raise ArgumentError(f"{what}: row {row} is {array[row].tolist()}, expected finite numbers")
    return array


def indices(value: Any, width: int, limit: int, what: str) -> np.ndarray:
    """An (n, width) array of vertex numbers below limit, contiguous uint32."""
    array = np.asarray(value)
    if array.size == 0:
        return np.zeros((0, width), np.uint32)
    if array.dtype.kind not in "iu":
        raise ArgumentError(f"{what}: expected integers, got {array.dtype}")
    if array.ndim != 2 or array.shape[1] != width:
        raise ArgumentError(f"{what}: expected an array of shape (n, {width}), got {array.shape}")
    if array.min() < 0 or array.max() >= limit:
        row = int(np.argwhere((array < 0) | (array >= limit))[0][0])
        raise ArgumentError(f"{what}: row {row} is {array[row].tolist()}, expected vertices 0 to {limit - 1}")
    return np.ascontiguousarray(array, dtype=np.uint32)


def doubles(array: np.ndarray) -> Any:
    """A pointer to a contiguous float64 array, valid while the returned object lives."""
    return ffi.from_buffer("double[]", array)


def uints(array: np.ndarray) -> Any:
    return ffi.from_buffer("uint32_t[]", array)


# ---- Structures ----

_PRIMITIVE = {
    "double": "f8",
    "int": "i4",
    "int32_t": "i4",
    "uint32_t": "u4",
    "int64_t": "i8",
    "uint64_t": "u8",
    "size_t": "u8",
    "_Bool": "?",
    "unsigned char": "u1",
}


def _is_id(ctype: Any) -> bool:
    return ctype.kind == "struct" and [name for name, _ in ctype.fields] == ["id"]


def _numpy_type(ctype: Any) -> Any:
    if ctype.kind == "array":
        base = _numpy_type(ctype.item)
        return (base, (ctype.length,)) if not isinstance(base, tuple) else (base[0], (ctype.length, *base[1]))
    if ctype.kind == "enum" or _is_id(ctype):
        return "u4"
    return dtype_of(ctype.cname) if ctype.kind == "struct" else _PRIMITIVE[ctype.cname]


_DTYPE: dict[str, np.dtype] = {}


def dtype_of(name: str) -> np.dtype:
    """The structured dtype with the layout of a C structure. Ids and enumerations are numbers."""
    if name not in _DTYPE:
        fields = ffi.typeof(name).fields
        _DTYPE[name] = np.dtype(
            {
                "names": [key for key, _ in fields],
                "formats": [_numpy_type(field.type) for _, field in fields],
                "offsets": [field.offset for _, field in fields],
                "itemsize": ffi.sizeof(name),
            }
        )
    return _DTYPE[name]


def fields_of(name: str) -> tuple[str, ...]:
    """The names of a structure's fields."""
    return dtype_of(name).names or ()


def records(name: str, count: int) -> tuple[np.ndarray, Any]:
    """A new structured array and the pointer for C to fill it."""
    array = np.zeros(count, dtype_of(name))
    return array, ffi.cast(f"{name} *", array.ctypes.data)


def copy_records(name: str, pointer: Any, count: int) -> np.ndarray:
    """A structured array with the values of a C array."""
    if not count:
        return np.zeros(0, dtype_of(name))
    return np.frombuffer(ffi.buffer(pointer, count * ffi.sizeof(name)), dtype_of(name)).copy()


class View:
    """Memory of C as an array without a copy; the array keeps its owner alive."""

    def __init__(self, pointer: Any, shape: tuple[int, ...], kind: str, owner: Any) -> None:
        self.owner = owner
        self.__array_interface__ = {
            "version": 3,
            "shape": shape,
            "typestr": np.dtype(kind).str,
            "data": (int(ffi.cast("uintptr_t", pointer)), True),
        }


def view(pointer: Any, shape: tuple[int, ...], kind: str, owner: Any) -> np.ndarray:
    if pointer == ffi.NULL or 0 in shape:
        return np.zeros(shape, kind)
    return np.asarray(View(pointer, shape, kind, owner))


class Fields:
    """Writes keyword arguments into the fields of a def; keeps what its pointers point to."""

    def __init__(self, struct: Any, what: str, hidden: Iterable[str] = ()) -> None:
        self.struct = struct
        self.what = what
        self.keep: list[Any] = []
        self.fields = {name: field.type for name, field in ffi.typeof(struct).item.fields if name not in hidden}

    def set(self, **values: Any) -> None:
        for name, value in values.items():
            if name not in self.fields:
                near = difflib.get_close_matches(name, self.fields, 1)
                raise ArgumentError(
                    f"{self.what}: unknown key {name!r}" + (f"; did you mean {near[0]!r}?" if near else "")
                )
            if value is not None:
                self.write(name, self.fields[name], value)

    def write(self, name: str, ctype: Any, value: Any) -> None:
        what = f"{self.what}: {name}"
        if ctype.kind == "enum":
            setattr(self.struct, name, enum_value(_plain(ctype), value, what))
        elif ctype.kind == "array":
            setattr(self.struct, name, self.numbers(value, ctype.length, what))
        elif ctype.kind == "pointer" and ctype.item.cname == "char":
            if not isinstance(value, str):
                raise ArgumentError(f"{what}: expected a text, got {value!r}")
            if "\0" in value:
                raise ArgumentError(f"{what}: a text must not contain the character 0, got {value!r}")
            self.keep.append(ffi.new("char[]", value.encode()))
            setattr(self.struct, name, self.keep[-1])
        elif _is_id(ctype):
            getattr(self.struct, name).id = int(getattr(value, "id", value))
        elif ctype.kind == "struct":
            inner = Fields(ffi.addressof(self.struct, name), what)
            inner.set(**_mapping(value, what))
            self.keep += inner.keep
        elif ctype.cname == "_Bool":
            setattr(self.struct, name, bool(value))
        elif ctype.cname == "double":
            setattr(self.struct, name, number(value, what))
        else:
            try:
                setattr(self.struct, name, value)
            except (TypeError, OverflowError):
                raise ArgumentError(f"{what}: expected an integer, got {value!r}") from None

    @staticmethod
    def numbers(value: Any, count: int, what: str) -> list[float]:
        array = np.asarray(value, dtype=np.float64) if np.ndim(value) == 1 else np.zeros(0)
        if array.shape != (count,):
            raise ArgumentError(f"{what}: expected {count} numbers, got {value!r}")
        if np.isnan(array).any():
            raise ArgumentError(f"{what}: expected {count} numbers, got {array.tolist()}")
        return array.tolist()


def _mapping(value: Any, what: str) -> dict[str, Any]:
    try:
        return dict(value)
    except (TypeError, ValueError):
        raise ArgumentError(f"{what}: expected a dictionary, got {value!r}") from None


def as_dict(struct: Any) -> dict[str, Any]:
    """A C structure as a dictionary; enumerations by name, ids as numbers, arrays as lists."""
    result: dict[str, Any] = {}
    for name, field in ffi.typeof(struct).fields:
        value, kind = getattr(struct, name), field.type
        if kind.kind == "enum":
            value = enum_name(_plain(kind), value)
        elif kind.kind == "array":
            value = [item.id for item in value] if _is_id(kind.item) else list(value)
        elif _is_id(kind):
            value = value.id
        elif kind.kind == "struct":
            value = as_dict(value)
        elif kind.kind == "pointer":
            value = text(value) if kind.item.cname == "char" else None
        result[name] = value
    return result


def fixed_bits(value: Any) -> int:
    """The ABD_FIX_* bits of names of coordinates, or of a number."""
    if isinstance(value, int):
        return value
    bits = 0
    for name in [value] if isinstance(value, str) else value:
        if name not in FIXED:
            raise ArgumentError(f"fixed: expected one of {_listed(FIXED)}, got {name!r}")
        bits |= 1 << FIXED.index(name)
    return bits


def steps_of(seconds: Any, dt: float, what: str) -> int:
    time = number(seconds, what) if seconds == seconds else math.inf
    if not 0 <= time < math.inf:
        raise ArgumentError(f"{what}: expected a time >= 0, got {seconds!r}")
    return math.ceil(time / dt - 1e-6)
