#!/bin/bash
# validation.sh SOURCE ABD: bench/validation/run works with this command on the quick part of all cases, and without its peers'
# packages. Exit 77 (skipped) without Python 3.
set -euo pipefail
if ! command -v python3 >/dev/null; then
  echo "skipped: python3 is not installed: apt-get install python3"
  exit 77
fi
python3 "$1/bench/validation/run" --quick --check --no-peers --abd "$2"
