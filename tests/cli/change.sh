#!/bin/bash
# Scenes with bodies that come and go, from the command line: run, kill, resume, verify, every export.
#   change.sh ABD
set -euo pipefail
abd=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
wrong() { echo "WRONG: $*"; exit 1; }

cat >chute.json <<'END'
{ "version": 1, "name": "chute", "dt": 0.01, "duration": 3, "contact": { "friction": 0.15 },
  "bodies": [
    { "name": "chute", "shape": "box", "size": [2, 0.6, 0.05], "position": [0, 0, 1], "euler_degrees": [0, 25, 0], "motion": "static" },
    { "name": "floor", "shape": "box", "size": [6, 3, 0.1], "position": [2, 0, -0.05], "motion": "static" },
    { "name": "part", "shape": "box", "size": [0.2, 0.2, 0.2], "position": [-0.7, 0, 1.6], "until": 1.5, "color": "#ff8800",
      "copies": { "count": 5, "every": 0.5 } },
    { "name": "jelly", "shape": "box", "size": [0.2, 0.2, 0.2], "cells": [1, 1, 1], "position": [1.5, 0.8, 0.6], "from": 1, "until": 2,
      "soft": { "young": 1e5 } },
    { "name": "arm", "shape": "box", "size": [0.4, 0.1, 0.1], "position": [2.5, -0.9, 0.5], "from": 0.7, "until": 2.2 } ],
  "joints": [ { "name": "pin", "type": "hinge", "bodies": ["arm"], "point": [2.4, -0.9, 0.5], "axis": [0, 1, 0] } ] }
END
facts() { "$abd" export "$1" -o "$1.csv" --table poses -q && "$abd" export "$1" -o "$1.e.csv" --table events -q &&
  "$abd" export "$1" -o "$1.j.csv" --table joints -q && cat "$1.csv" "$1.e.csv" "$1.j.csv" | cksum; }

"$abd" run chute.json -o whole.abd -q
"$abd" verify whole.abd | grep -q 'no two surfaces cross' || wrong "verify"
whole=$(facts whole.abd)
[ "$(grep -c 'body added' whole.abd.e.csv)" = 6 ] || wrong "bodies added: $(grep -c 'body added' whole.abd.e.csv)"
grep -q 'joint removed' whole.abd.e.csv || wrong "the joint does not go with its body"

# Killed at any moment and resumed: the same numbers. A part at a time, too.
for seconds in 0.02 0.05 0.1; do
  rm -f killed.abd*
  "$abd" run chute.json -o killed.abd -q & pid=$!
  sleep "$seconds"
  kill -9 "$pid" 2>/dev/null || true
  wait "$pid" 2>/dev/null || true
  "$abd" run chute.json -o killed.abd --resume -q
  [ "$(facts killed.abd)" = "$whole" ] || wrong "killed after $seconds s and resumed, the run differs"
done
rm -f parts.abd
for steps in 50 51 100 149 150 151 200 300; do "$abd" run chute.json -o parts.abd --resume --steps $steps -q; done
[ "$(facts parts.abd)" = "$whole" ] || wrong "resumed in parts, the run differs"

# A joint that broke is not in the scene's world when the run goes on.
cat >thread.json <<'END'
{ "version": 1, "steps": 40, "bodies": [{ "name": "weight", "shape": "box", "position": [0, 0, 1] }],
  "joints": [{ "name": "thread", "type": "hinge", "bodies": ["weight"], "point": [0, 0, 1.5], "axis": [0, 1, 0], "break_force": 1 }] }
END
"$abd" run thread.json -o thread.abd -q
"$abd" run thread.json -o again.abd -q --steps 20
"$abd" run again.abd --resume -q --steps 40 2>said.txt || wrong "a run whose joint broke is not resumed: $(cat said.txt)"
[ "$(facts thread.abd)" = "$(facts again.abd)" ] || wrong "resumed after a joint broke, the run differs"

# Exports of frames and of the whole; no number is missing.
for name in f.obj f.ply f.vtp f.vtk f.ppm; do "$abd" export whole.abd -o "$name" --frame 120 -q; done
for name in s.glb s.usda s.pvd; do "$abd" export whole.abd -o "$name" -q; done
[ "$(grep -c '^o ' f.obj)" = 7 ] || wrong "f.obj has $(grep -c '^o ' f.obj) bodies at step 120"
! grep -qi 'nan' f.obj s.usda whole.abd.csv || wrong "a number is missing in an export"
grep -q 'token visibility.timeSamples' s.usda || wrong "USD: bodies stay visible"
grep -aq '"path":"scale"' s.glb || wrong "glTF: bodies stay visible"

# A place that is taken ends the run with both names, and the file holds all steps before.
sed 's/"position": \[-0.7, 0, 1.6\]/"position": [2, 0, 0.2]/; s/"until": 1.5/"until": 2.9/' chute.json >taken.json
if "$abd" run taken.json -o taken.abd -q 2>message; then wrong "parts in one place"; fi
grep -q 'part-1.*part-2' message || wrong "$(cat message)"
"$abd" verify taken.abd | grep -q '51 frames' || wrong "the run that ended early"
echo good
