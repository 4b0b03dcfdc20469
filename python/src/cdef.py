"""Makes the C source of the extension module from the public headers: cdef.py ROOT OUT.

cffi reads the declarations of include/abd/*.h and of glue.h, so the module has every function, structure and constant of
them, and the compiler checks each against the headers.
"""

import re
import sys
from pathlib import Path

HEADERS = ("abd", "query", "scene", "record", "export", "sweep")


def declarations(text: str) -> str:
    """A header without comments and preprocessor lines."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    text = re.sub(r'#ifdef __cplusplus\s*(extern "C" \{|\})\s*#endif', "", text)
    return "\n".join(line for line in text.splitlines() if not line.startswith("#")).replace("ABD_API ", "")


def main(root: Path, out: str) -> None:
    from cffi import FFI

    ffi = FFI()
    for name in HEADERS:
        ffi.cdef(declarations((root / "include/abd" / f"{name}.h").read_text()))
    for name in ("glue", "batch"):
        ffi.cdef(declarations((root / f"python/src/{name}.h").read_text()))
    ffi.cdef('extern "Python" void glue_progress(void *user, size_t done, size_t total);')
    ffi.set_source("abd._abd", '#include "batch.h"\n')
    ffi.emit_c_code(out)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
