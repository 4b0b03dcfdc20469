#!/bin/bash
# What the README tells newcomers to type works as it stands there: the scene to save, the commands after it, the meshes
# dropped on a ground; the scene at the head of docs/scene.md; and no link of the documents points nowhere.
#   readme.sh SOURCE ABD
set -euo pipefail
source=$(realpath "$1") abd=$(realpath "$2")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
mkdir build
ln -s "$abd" build/abd

first_json() { awk '/^```json$/ { on = 1; next } /^```$/ { if (on) exit } on' "$1"; }

first_json "$source/README.md" >first.json
count=0
while read -r line; do
  echo "== $line"
  $line
  count=$((count + 1))
done < <(sed -nE 's/^(build\/abd [a-z]+( [^ ]+)*)   +.*/\1/p' "$source/README.md")
[ "$count" -eq 4 ] || { echo "$count commands in the README's first scene, expected 4"; exit 1; }
[ "$(sqlite3 first.abd 'SELECT min(converged) FROM report')" = 1 ] || { echo "a step of the first scene did not converge"; exit 1; }
[ -s first.png ] || { echo "no picture"; exit 1; }

echo "== meshes dropped on a ground"
printf 'v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n' >gear.obj
printf 'v 0 0 3\nv 2 0 3\nv 0 2 3\nv 0 0 5\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n' >bunny.obj
build/abd run bunny.obj gear.obj -o mine.abd --steps 100 --strict --quiet
build/abd verify mine.abd

echo "== docs/scene.md"
first_json "$source/docs/scene.md" >second.json
build/abd check second.json

wrong=0
while IFS=: read -r file link; do
  [ -e "$(dirname "$file")/${link%%#*}" ] || { echo "$file: nothing at $link"; wrong=1; }
done < <(cd "$source" && grep -oHE '\]\([^)#]+' README.md CONTRIBUTING.md CHANGELOG.md docs/*.md | sed 's/:](/:/' | grep -v ':http' |
         sed "s|^|$source/|")
exit $wrong
