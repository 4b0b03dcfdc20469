"""The extension module that cffi makes of the public headers (python/src/cdef.py)."""

from typing import Any

ffi: Any
lib: Any
