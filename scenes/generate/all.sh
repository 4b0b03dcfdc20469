#!/bin/bash
# Writes every scene that is made by a script into a folder, scenes/ unless another is named.
#   scenes/generate/all.sh [FOLDER]
set -euo pipefail
here=$(dirname "$(realpath "$0")")
to=${1:-$here/..}
mkdir -p "$to/meshes"
"$here/card-house.sh" 3 >"$to/card-house-3.json"
"$here/card-house.sh" 10 >"$to/card-house-10.json"
"$here/arch.sh" 25 >"$to/arch.json"
"$here/demo.sh" >"$to/demo.json"
"$here/wrecking-ball.sh" 0.12 0.03 0.35 >"$to/meshes/wrecking-ball.obj"
