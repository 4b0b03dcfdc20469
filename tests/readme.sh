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
cp "$source"/docs/tutorial/*.stl .
read -ra drop <<<"$(sed -nE 's/.*`(build\/abd run [^`]+\.stl [^`]*)`.*/\1/p' "$source/README.md")"
[ "${#drop[@]}" -gt 4 ] || { echo "no meshes are dropped in the README"; exit 1; }
"${drop[@]}" --steps 100 --strict --quiet
build/abd verify mine.abd

echo "== a mechanism: the README's joint and drive between the tutorial's parts"
printf '{ "version": 1, "steps": 50, "bodies": [\n' >turning.json
printf '  { "name": "%s", "mesh": "%s.stl", "scale": 0.001, "motion": "%s" }%s\n' bracket bracket static , wheel wheel dynamic '],' >>turning.json
awk '/^```json$/ { n++; next } /^```$/ { if (n == 2) exit } n == 2' "$source/README.md" >>turning.json
echo '}' >>turning.json
build/abd run turning.json --strict --quiet
rate=$(sqlite3 turning.abd 'SELECT rate FROM joint ORDER BY step DESC LIMIT 1')
awk -v rate="$rate" 'BEGIN { exit !(rate > 6.2 && rate < 6.4) }' || { echo "the wheel turns at $rate, expected 6.28"; exit 1; }

echo "== docs/scene.md"
first_json "$source/docs/scene.md" >second.json
build/abd check second.json

wrong=0
while IFS=: read -r file link; do
  [ -e "$(dirname "$file")/${link%%#*}" ] || { echo "$file: nothing at $link"; wrong=1; }
done < <(cd "$source" && grep -oHE '\]\([^)#]+' README.md CONTRIBUTING.md CHANGELOG.md docs/*.md | sed 's/:](/:/' | grep -v ':http' |
         sed "s|^|$source/|")
exit $wrong
