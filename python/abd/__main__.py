"""The command: ``python -m abd run scene.json`` is ``abd run scene.json``."""

import os
import sys
from pathlib import Path


def main() -> None:
    program = Path(__file__).parent / "bin" / "abd"
    if not program.exists():
        sys.exit(f"abd: the command was not installed with the module: {program} is missing")
    os.execv(program, ["abd", *sys.argv[1:]])


if __name__ == "__main__":
    main()
