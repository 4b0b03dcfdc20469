#!/bin/bash
# Every scene of the gallery takes its first steps: all converge, nothing crosses at the end, and no step multiplies the
# kinetic energy beyond what gravity, drives and scripts did in it and what soft bodies and springs stored before.
#   gallery_steps.sh ABD STEPS
set -euo pipefail
abd=$(realpath "$1") steps=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
scenes=$("$abd" scene | LC_ALL=C awk '/^  [a-z]/ { print $1 }')
count=0
for name in $scenes; do
  "$abd" scene "$name" -o "$work/scene.json" >/dev/null
  "$abd" run "$work/scene.json" -o "$work/run.abd" --steps "$steps" --every "$steps" --strict --quiet --force
  "$abd" verify "$work/run.abd" >/dev/null
  "$abd" export "$work/run.abd" -o "$work/report.csv" --reports >/dev/null
  LC_ALL=C awk -F, -v name="$name" '
    function size(x) { return x < 0 ? -x : x }
    NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
    {
      kinetic = $column["kinetic"]
      given = size($column["work_gravity"]) + size($column["work_drives"]) + size($column["work_scripts"])
      if (NR > 2 && kinetic > 3 * (before + given) + 1e-6) {
        printf "%s: step %d: %g J instead of %g\n", name, $column["step"], kinetic, before
        exit 1
      }
      before = kinetic + size($column["soft"]) + size($column["joint"]) + size($column["elastic"])
    }' "$work/report.csv"
  count=$((count + 1))
done
[ "$count" -ge 20 ] || { echo "$count scenes, expected at least 20"; exit 1; }
echo "$count scenes, $steps steps each"
