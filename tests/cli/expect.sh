# shellcheck shell=bash disable=SC2034
# Read by the scripts beside it: a scratch folder, and expectations that name the command when they fail.
#   expect CODE WORDS COMMAND...   the exit code, and words (extended regular expression) in what it prints; '' = any
set -euo pipefail
abd=$(realpath "$1") source=$(realpath "$2")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"

wrong() {
  echo "WRONG: $*"
  exit 1
}

expect() {
  local code=$1 words=$2 got=0
  shift 2
  "$@" >out.txt 2>&1 || got=$?
  [ "$got" -eq "$code" ] || { cat out.txt; wrong "exit code $got instead of $code: $*"; }
  [ -z "$words" ] || grep -Eq -- "$words" out.txt || { cat out.txt; wrong "nothing like '$words' from: $*"; }
}

hashes() { sqlite3 "$1" "SELECT step, hash FROM report ORDER BY step"; }
poses() { sqlite3 "$1" "SELECT step, hex(node) FROM frame ORDER BY step"; }
# same A B WHAT: two runs that wrote every frame have the same bits, by their hashes and by their poses.
same() {
  diff <(hashes "$1") <(hashes "$2") || wrong "$3: other hashes"
  diff -q <(poses "$1") <(poses "$2") || wrong "$3: other poses"
  [ "$(hashes "$1" | cut -d'|' -f2 | sort -u | wc -l)" -eq "$(hashes "$1" | wc -l)" ] || wrong "$3: states that move share hashes"
}

# Two boxes that fall on a third, and a ground.
cat >scene.json <<'JSON'
{ "version": 1, "dt": 0.01, "steps": 40, "contact": { "friction": 0.5 },
  "bodies": [
    { "name": "ground", "shape": "ground" },
    { "name": "low", "shape": "box", "size": [1, 1, 0.4], "position": [0, 0, 0.25] },
    { "name": "high", "shape": "box", "size": [0.5, 0.5, 0.5], "position": [0.1, 0, 0.95], "euler_degrees": [10, 20, 0] },
    { "name": "side", "shape": "box", "size": [0.5, 0.5, 0.5], "position": [-0.2, 0.55, 1.7], "euler_degrees": [40, 0, 30] }
  ] }
JSON

# Forty-eight boxes in three layers, each turned differently.
pile() {
  local i comma=,
  printf '{ "version": 1, "dt": 0.01, "contact": { "friction": 0.4 }, "bodies": [\n  { "shape": "ground" },\n'
  for ((i = 0; i < 48; i++)); do
    [ $i -lt 47 ] || comma=
    printf '  { "shape": "box", "size": [0.16, 0.13, 0.09], "position": [0.%02d, 0.%02d, 0.%03d], "velocity": [0, 0, -1], ' \
           $((24 * (i % 4) + i / 16 * 3)) $((24 * (i / 4 % 4))) $((140 + 240 * (i / 16)))
    printf '"euler_degrees": [%d, %d, %d] }%s\n' $((i * 37 % 90)) $((i * 53 % 90)) $((i * 71 % 90)) $comma
  done
  printf '] }\n'
}
