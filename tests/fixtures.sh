#!/bin/bash
# The scenes of rigid-IPC as they are, where they lie beside the repository: each takes its first steps, every one of them
# converged, and no frame crosses. Exit code 77, skipped, where they do not.
#   fixtures.sh ABD FOLDER STEPS
set -euo pipefail
abd=$(realpath "$1") folder=$2 steps=$3
[ -d "$folder" ] || { echo "skipped: no scenes at $folder"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

count=0 wrong=0
while read -r scene; do
  count=$((count + 1))
  code=0
  { timeout 300 "$abd" run "$scene" -o "$work/run.abd" --steps "$steps" --strict --quiet --force &&
    timeout 300 "$abd" verify "$work/run.abd"; } >"$work/out.txt" 2>&1 || code=$?
  [ $code -eq 0 ] && continue
  wrong=$((wrong + 1))
  echo "${scene#"$folder"/}: exit code $code"
  tail -n 5 "$work/out.txt"
done < <(find "$folder" -name '*.json' | sort)
echo "$count scenes, $steps steps each: $wrong failed"
[ "$count" -gt 0 ] && [ "$wrong" -eq 0 ]
