#!/bin/bash
# Exports read by programs that are not abd's: where do assimp, Blender, three.js and TinyUSDZ find every vertex of every body,
# stiff or soft, in every frame? Within 1e-6 of where the run file has it. VTK reads .vtp; more of it is in ../cli/export.sh.
# Each reader that is missing is named after the word "skipped"; exit code 77 where none is there.
#   readers.sh ABD SOURCE BUILD
build=$(realpath "$3")
. "$(dirname "$0")/../cli/expect.sh"
here=$source/tests/reader
python=$(command -v /usr/bin/python3 || command -v python3 || true)
export PYTHONDONTWRITEBYTECODE=1
[ -n "$python" ] || { echo "skipped: no python3: apt-get install python3"; exit 77; }
readers=0

cat >all.json <<'JSON'
{ "version": 1, "dt": 0.01, "steps": 30, "contact": { "friction": 0.5 },
  "bodies": [
    { "name": "ground", "shape": "ground" },
    { "name": "a box", "shape": "box", "size": [1, 1, 0.4], "position": [0, 0, 0.25] },
    { "name": "twin", "shape": "box", "size": [0.3, 0.2, 0.3], "position": [0.9, 0.4, 0.4], "euler_degrees": [10, 30, 20],
      "copies": { "count": 2, "offset": [0.1, 0.1, 0.5] } },
    { "name": "ring", "shape": "torus", "radius": 0.25, "tube": 0.08, "position": [0.1, 0, 0.9], "euler_degrees": [70, 20, 0],
      "angular_velocity": [9, 4, 2] },
    { "name": "post", "shape": "cylinder", "radius": 0.1, "height": 1, "position": [1.6, 0, 0.6], "motion": "static" },
    { "name": "jelly", "shape": "box", "size": [0.5, 0.5, 0.5], "cells": 2, "position": [-1, 0.3, 0.3], "velocity": [0.5, 0, -2],
      "soft": { "young": 3e4 } }
  ] }
JSON
# Meshes of very many triangles are referenced in a .usda, not copied.
cat >many.json <<'JSON'
{ "version": 1, "dt": 0.01, "steps": 2,
  "bodies": [{ "name": "ball", "shape": "sphere", "radius": 0.3, "subdivisions": 5, "position": [0, 0, 1],
               "copies": { "count": 2, "offset": [0, 0, 1] } }] }
JSON
"$abd" run all.json -o all.abd --quiet
"$abd" run many.json -o many.abd --quiet
for file in all.glb all.usda many.usda; do "$abd" export "${file%.*}.abd" -o $file; done
for step in 0 17 30; do "$abd" export all.abd -o still_$step.usda --frame $step; done
"$abd" export all.abd -o all.ply --frame 30
read -ra times <<<"$("$python" "$here/points.py" times all.abd)"
[ "$(grep -c 'references = </meshes/' many.usda)" -eq 2 ] || wrong "no references in many.usda"
! grep -q 'references =' all.usda || wrong "references in all.usda"

# agree WHAT UP POINTS [STEP] [RUN]
agree() {
  "$python" "$here/points.py" compare "${5:-all.abd}" "$2" "$3" ${4:+"$4"} >said.txt 2>&1 || { cat said.txt; wrong "$1"; }
  echo "$1: $(cat said.txt)"
}
reader() { readers=$((readers + 1)); }

if [ -x "$build/tests/assimp_points" ]; then
  reader
  "$build/tests/assimp_points" all.glb "${times[@]}" >points.json
  agree "assimp, .glb" y points.json
  "$build/tests/assimp_points" all.ply 0 >points.json
  agree "assimp, .ply" as points.json 30
else
  echo "skipped: assimp (libassimp-dev)"
fi

if command -v blender >/dev/null; then
  reader
  for file in all.glb all.ply; do
    blender -b --factory-startup --python-exit-code 1 -P "$here/blender_points.py" -- $file points-$file.json "${times[@]}" >said.txt 2>&1 ||
      { tail -20 said.txt; wrong "Blender cannot read $file"; }
  done
  agree "Blender, .glb" as points-all.glb.json
  agree "Blender, .ply" as points-all.ply.json 30
else
  echo "skipped: Blender"
fi

if command -v node >/dev/null && [ -e "$source/viewer/node_modules/three/examples/jsm/loaders/USDLoader.js" ]; then
  reader
  for file in all.glb all.usda; do
    node "$here/three_points.mjs" "$source/viewer" $file "${times[@]}" >points.json
    agree "three.js, .${file#*.}" y points.json
  done
  node "$here/three_points.mjs" "$source/viewer" all.ply 0 >points.json
  agree "three.js, .ply" as points.json 30
else
  echo "skipped: three.js (node, and npm ci in viewer/)"
fi

if command -v node >/dev/null && command -v npm >/dev/null; then
  folder=$build/usd-reader
  [ -e "$folder/node_modules/tinyusdz" ] ||
    timeout 60 npm install --silent --no-fund --no-audit --prefix "$folder" tinyusdz@0.9.0-rc10 >npm.txt 2>&1 || true
  if [ -e "$folder/node_modules/tinyusdz" ]; then
    reader
    for step in 0 17 30; do
      node "$here/tinyusdz_points.mjs" "$folder" still_$step.usda >points.json
      agree "TinyUSDZ, .usda of step $step" as points.json $step
    done
    node "$here/tinyusdz_points.mjs" "$folder" many.usda >points.json
    agree "TinyUSDZ, .usda with references" as points.json 0 many.abd
  else
    echo "skipped: TinyUSDZ, which npm could not get"
  fi
else
  echo "skipped: TinyUSDZ (node, npm)"
fi

"$abd" export all.abd -o surface_%d.vtp --every 10
code=0
"$python" "$source/tests/cli/export.py" vtk all.abd surface_*.vtp >said.txt 2>&1 || code=$?
case $code in
  0) reader; echo "VTK, .vtp: $(cat said.txt)" ;;
  77) echo "skipped: VTK (python3-vtk9)" ;;
  *) cat said.txt; wrong "VTK, .vtp" ;;
esac

[ $readers -gt 0 ] || exit 77
echo "good: $readers readers"
