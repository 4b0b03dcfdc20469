#!/bin/bash
# The scenes that come with abd: those made by scripts are what their scripts make, and each one checks clean, takes its
# first steps with every step converged, and crosses nothing.
#   scenes.sh SOURCE ABD
set -euo pipefail
source=$(realpath "$1") abd=$(realpath "$2")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$source/scenes/generate/all.sh" "$work/made"
while read -r file; do
  diff -q "$work/made/$file" "$source/scenes/$file" ||
    { echo "scenes/$file is not what its script makes: run scenes/generate/all.sh"; exit 1; }
done < <(cd "$work/made" && find . -type f -printf '%P\n')

for scene in "$source"/scenes/*.json; do
  name=$(basename "$scene" .json)
  echo "== $name"
  "$abd" check "$scene"
  "$abd" run "$scene" -o "$work/$name.abd" --steps 5 --strict --quiet
  "$abd" verify "$work/$name.abd"
done
