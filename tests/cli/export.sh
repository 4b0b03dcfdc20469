#!/bin/bash
# export: every format, read back by readers that are not abd's where they are installed; which frames; the camera; films.
#   export.sh ABD SOURCE
. "$(dirname "$0")/expect.sh"
python=$(command -v /usr/bin/python3 || command -v python3 || true)
export PYTHONDONTWRITEBYTECODE=1
"$abd" run scene.json -o a.abd --contacts --quiet

skip() { echo "skipped: $*"; }
# back KIND RUN FILE...: tests/cli/export.py compares with the run file
back() {
  local code=0
  [ -n "$python" ] || { skip "$1 is not read back: no python3"; return; }
  "$python" "$source/tests/cli/export.py" "$@" >back.txt 2>&1 || code=$?
  [ $code -ne 77 ] || { skip "$1 is not read back: $(cat back.txt)"; return; }
  [ $code -eq 0 ] || { cat back.txt; wrong "export.py $*"; }
}

# which frames
expect 0 '' "$abd" export a.abd -o f_%02d.obj --frames 10:20:5
[ "$(ls f_*.obj | tr '\n' ' ')" = "f_10.obj f_15.obj f_20.obj " ] || wrong "10:20:5 gave $(ls f_*.obj)"
expect 0 '' "$abd" export a.abd -o g.ply --frames 38:
[ "$(ls g_*.ply | tr '\n' ' ')" = "g_00038.ply g_00039.ply g_00040.ply " ] || wrong "38: gave $(ls g_*.ply)"
expect 0 '' "$abd" export a.abd -o h.csv --frames :3
[ "$(wc -l <h.csv)" -eq $((1 + 4 * 4)) ] || wrong "rows of :3: $(wc -l <h.csv)"
expect 2 'expected A:B or A:B:K' "$abd" export a.abd -o x.obj --frames 5
expect 2 'expected A:B or A:B:K' "$abd" export a.abd -o x.obj --frames 9:3
expect 2 'expected A:B or A:B:K' "$abd" export a.abd -o x.obj --frames 1:9:0
expect 2 'no frame in 50:60; its frames are of steps 0 to 40' "$abd" export a.abd -o x.obj --frames 50:60
expect 2 'exclude each other' "$abd" export a.abd -o x.obj --frames 1:3 --frame 2
expect 2 'exclude each other' "$abd" export a.abd -o x.obj --all --frame 2
expect 2 'this one file holds all frames' "$abd" export a.abd -o x_%d.glb

# geometry
expect 0 '' "$abd" export a.abd -o b_%d.vtp --every 20
expect 0 '' "$abd" export a.abd -o b_%d.vtk --every 20
back vtk a.abd b_[0-9]*.vtp b_[0-9]*.vtk
back contacts a.abd b_contacts_*.vtp b_contacts_*.vtk
back ply a.abd g_00039.ply
mkdir series
expect 0 '' "$abd" export a.abd -o series/a.pvd --every 10
[ "$(grep -c 'part="0"' series/a.pvd)" -eq 5 ] || wrong "bodies in a.pvd: $(grep -c 'part="0"' series/a.pvd)"
contacts=$(sqlite3 a.abd 'SELECT count(DISTINCT step) FROM contact WHERE step % 10 = 0')
[ "$(grep -c 'part="1"' series/a.pvd)" -eq "$contacts" ] || wrong "contacts in a.pvd: $(grep -c 'part="1"' series/a.pvd), expected $contacts"
for file in $(sed -n 's/.*file="\([^"]*\)".*/\1/p' series/a.pvd); do [ -s "series/$file" ] || wrong "a.pvd names $file"; done
back vtk a.abd series/a_000*.vtp

# animations
expect 0 '' "$abd" export a.abd -o a.glb
back glb a.abd a.glb
expect 0 '' "$abd" export a.abd -o a.usda
grep -q 'upAxis = "Z"' a.usda && grep -q 'metersPerUnit = 1' a.usda && grep -q 'timeCodesPerSecond = 100$' a.usda ||
  wrong "head of a.usda: $(head -15 a.usda)"
back usda a.abd a.usda
sed 's/"dt": 0.01,/"dt": 0.01, "gravity": [0, -9.81, 0],/' scene.json >sideways.json
expect 0 '' "$abd" run sideways.json -o y.abd --steps 3 --quiet
expect 0 '' "$abd" export y.abd -o y.usda
grep -q 'upAxis = "Y"' y.usda || wrong "up of y.usda: $(grep upAxis y.usda)"
expect 0 '' "$abd" export y.abd -o y.glb
back glb y.abd y.glb
expect 0 '' "$abd" export a.abd -o still.glb --frame 7

# the validator of the glTF consortium, from npm
if command -v node >node.txt && command -v npm >>node.txt; then
  npm_folder=$(dirname "$abd")/gltf-validator
  [ -d "$npm_folder/node_modules/gltf-validator" ] ||
    timeout 60 npm install --silent --no-fund --no-audit --prefix "$npm_folder" gltf-validator >npm.txt 2>&1 || true
  cat >validate.js <<'JS'
const fs = require('fs');
require('gltf-validator').validateBytes(new Uint8Array(fs.readFileSync(process.argv[2])), { maxIssues: 20 }).then(report => {
  console.log(JSON.stringify(report.issues));
  process.exit(report.issues.numErrors || report.issues.numWarnings ? 1 : 0);
});
JS
  if [ -d "$npm_folder/node_modules/gltf-validator" ]; then
    for file in a.glb y.glb still.glb; do NODE_PATH="$npm_folder/node_modules" expect 0 '"numErrors":0' node validate.js $file; done
  else
    skip "glTF is not validated: npm could not get gltf-validator"
  fi
else
  skip "glTF is not validated: no node"
fi
if command -v assimp >assimp.txt; then expect 0 'Meshes: +[1-9]' assimp info a.glb; else skip "glTF is not read by assimp"; fi

# tables
expect 0 '' "$abd" export a.abd -o r.csv --table report
head -1 r.csv | grep -q 'kinetic,gravity,elastic,contact,friction' || wrong "no energies: $(head -1 r.csv)"
expect 0 '' "$abd" export a.abd -o c.csv --table contacts --frames 40:
[ "$(wc -l <c.csv)" -eq $((1 + $(sqlite3 a.abd 'SELECT count(*) FROM contact WHERE step = 40'))) ] || wrong "rows of contacts: $(wc -l <c.csv)"
head -1 c.csv | grep -q '^step,time,body_a,name_a,body_b,name_b,kind' || wrong "columns: $(head -1 c.csv)"
expect 2 'no joints' "$abd" export a.abd -o j.csv --table joints
[ ! -e j.csv ] || wrong "an empty table of joints was left"
"$abd" run "$source/scenes/pendulum.json" -o swing.abd --steps 3 --quiet
expect 0 '' "$abd" export swing.abd -o j.csv --table joints --frames 1:
[ "$(wc -l <j.csv)" -eq $((1 + $(sqlite3 swing.abd 'SELECT count(*) FROM joint WHERE step > 0'))) ] || wrong "rows of joints: $(wc -l <j.csv)"
head -1 j.csv | grep -q '^step,time,joint,name,kind,coordinate,position,rate,force,torque,effort,residual' || wrong "columns: $(head -1 j.csv)"
"$abd" run scene.json -o bare.abd --steps 2 --quiet
expect 2 'abd run --contacts' "$abd" export bare.abd -o c.csv --table contacts
expect 2 'expected poses, vertices, report, contacts, joints or events.*did you mean contacts' "$abd" export a.abd -o c.csv --table contact
expect 2 'into a .csv' "$abd" export a.abd -o c.obj --table poses

# pictures: the same bits for any number of threads; a body named fills more of it
expect 0 '' taskset -c "$(taskset -cp $$ | grep -o '[0-9]*$')" "$abd" export a.abd -o one.ppm --size 160x90
expect 0 '' "$abd" export a.abd -o all.ppm --size 160x90
cmp one.ppm all.ppm || wrong "pictures depend on the number of threads"
expect 0 '' "$abd" export a.abd -o near.ppm --size 160x90 --body side
! cmp -s one.ppm near.ppm || wrong "--body changes nothing"
expect 0 '' "$abd" export a.abd -o at.ppm --size 160x90 --look-at 0,0,0.2,0.5
expect 2 "no body 'sid'; did you mean 'side'" "$abd" export a.abd -o near.ppm --body sid
expect 2 'expected X,Y,Z,RADIUS' "$abd" export a.abd -o near.ppm --look-at 1,2,3

# the camera shows scripted bodies that move, also in a frame in which they rest, and none that never move
cat >drum.json <<'JSON'
{ "version": 1, "dt": 0.01, "steps": 12, "bodies": [
  { "name": "floor", "shape": "box", "size": [100, 100, 1], "position": [0, 0, -3], "motion": "kinematic" },
  { "name": "drum", "shape": "box", "size": [2, 1, 0.05], "position": [0, 0, -1], "motion": "kinematic",
    "angular_velocity": [0, 2, 0], "motion_end": 0.1 },
  { "name": "ball", "shape": "sphere", "radius": 0.1, "position": [0, 0, -0.8] }] }
JSON
"$abd" run drum.json --quiet
expect 0 '' "$abd" export drum.abd -o drum.ppm --size 160x90
expect 0 '' "$abd" export drum.abd -o named.ppm --size 160x90 --body drum --body ball
cmp drum.ppm named.ppm || wrong "the picture does not show the drum and the ball"
sed 's/"angular_velocity": \[0, 2, 0\], "motion_end": 0.1/"friction": 0/' drum.json >rest.json
"$abd" run rest.json --quiet
expect 0 '' "$abd" export rest.abd -o rest.ppm --size 160x90
expect 0 '' "$abd" export rest.abd -o named.ppm --size 160x90 --body ball
cmp rest.ppm named.ppm || wrong "the picture shows more than the ball"

# films
expect 2 'fps is for films' "$abd" export a.abd -o a.glb --fps 25
expect 4 'needs the program ffmpeg, which is not installed' env PATH=/nowhere "$abd" export a.abd -o a.mp4 --size 64x48
[ ! -e a.mp4 ] || wrong "a film without ffmpeg"
if command -v ffmpeg >ffmpeg.txt; then
  expect 0 'a.mp4: 21 pictures, 0.42 s at 50 a second' "$abd" export a.abd -o a.mp4 --size 65x49
  expect 0 'b.mp4: 21 pictures, 0.84 s at 25 a second' "$abd" export a.abd -o b.mp4 --size 64x48 --fps 25 --speed 0.5
  [ "$(ffprobe -v error -count_frames -show_entries stream=nb_read_frames,width -of csv=p=0 b.mp4)" = 64,21 ] ||
    wrong "b.mp4: $(ffprobe -v error -count_frames -show_entries stream=nb_read_frames,width -of csv=p=0 b.mp4)"
  expect 4 'ffmpeg' "$abd" export a.abd -o no/such/folder/a.mp4 --size 64x48
else
  skip "films: no ffmpeg"
fi
echo good
