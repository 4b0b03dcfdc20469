#!/bin/bash
# The scenes that come with abd: those made by a command are what it makes, and each one checks clean, takes its
# first steps with every step converged, and crosses nothing.
#   scenes.sh SOURCE ABD
set -euo pipefail
source=$(realpath "$1") abd=$(realpath "$2")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

made=0
for file in "$source"/scenes/*.json; do
  read -ra command < <(sed -nE 's/^ *"# made by": "abd (scene .*)",$/\1/p' "$file") || continue
  "$abd" "${command[@]}" -o "$work/made.json"
  diff -q "$work/made.json" "$file" || { echo "$file is not what its command makes: abd ${command[*]} -o $file"; exit 1; }
  made=$((made + 1))
done
[ "$made" -eq 4 ] || { echo "$made scenes are made by commands, expected 4"; exit 1; }

for scene in "$source"/scenes/*.json; do
  name=$(basename "$scene" .json)
  echo "== $name"
  "$abd" check "$scene"
  "$abd" run "$scene" -o "$work/$name.abd" --steps 5 --strict --quiet
  "$abd" verify "$work/$name.abd"
done
