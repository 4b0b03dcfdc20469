#!/bin/bash
# info, verify, export and check: what they print, write and return.
#   look.sh ABD SOURCE
. "$(dirname "$0")/expect.sh"
"$abd" run scene.json -o a.abd --quiet

# verify: clean, remembered by info; a body pushed into another is found
expect 0 'not verified' "$abd" info a.abd
expect 0 '41 frames, 6 pairs of bodies in each: no two surfaces cross' "$abd" verify a.abd
expect 0 'intersections +0 in 41 frames' "$abd" info a.abd
expect 0 '"intersections": 0' "$abd" info a.abd --json
# bodies of one group may be in each other, and are no pairs; an excluded pair within it counts once
sed 's/"name": "\(high\|side\)",/"name": "\1", "group": 3,/; s/0.1, 0, 0.95/-0.2, 0.55, 1.7/; s/"bodies"/"exclude": [["high", "side"], ["low", "side"]], "bodies"/' \
  scene.json >group.json
expect 0 '' "$abd" run group.json --steps 3 --quiet
expect 0 '4 frames, 4 pairs of bodies in each: no two surfaces cross' "$abd" verify group.abd
expect 0 '1 frames' "$abd" verify a.abd --frame 7
expect 2 'no frame of step 99' "$abd" verify a.abd --frame 99
cp a.abd bad.abd # body 3 takes the pose of body 2 in the frame of step 9
sqlite3 bad.abd 'UPDATE frame SET node = CAST(substr(node, 1, 192) || substr(node, 97, 96) || substr(node, 289) AS BLOB)
                 WHERE step = 9'
expect 1 "step 9.*'low' \(body 2, triangle [0-9]+\) crosses 'high' \(body 3, triangle [0-9]+\) near \(" "$abd" verify bad.abd
expect 0 'intersections +[1-9][0-9]* in 41 frames' "$abd" info bad.abd

# export
expect 0 '' "$abd" export a.abd -o last.obj
[ "$(grep -c '^o ' last.obj)" -eq 4 ] || wrong "not 4 objects"
expect 0 '' "$abd" export a.abd -o last.ply
expect 0 '' "$abd" export a.abd -o p.csv
[ "$(wc -l <p.csv)" -eq $((1 + 41 * 4)) ] || wrong "rows in p.csv: $(wc -l <p.csv)"
expect 0 '' "$abd" export a.abd -o r.csv --reports
[ "$(wc -l <r.csv)" -eq 41 ] || wrong "rows in r.csv"
expect 0 '' "$abd" export a.abd -o one.obj --frame 3
head -1 one.obj | grep -q 'step 3, time 0.03' || wrong "frame 3: $(head -1 one.obj)"
expect 2 'no frame of step 41; the one before is 40' "$abd" export a.abd -o none.obj --frame 41
expect 0 '' "$abd" export a.abd -o s_%03d.obj --every 20
[ "$(ls s_*.obj | tr '\n' ' ')" = "s_000.obj s_020.obj s_040.obj " ] || wrong "sequence: $(ls s_*)"
expect 0 '' "$abd" export a.abd -o all.ppm --all --every 40 --size 64x48 --view 0,90
[ "$(ls all_*.ppm | tr '\n' ' ')" = "all_00000.ppm all_00040.ppm " ] || wrong "sequence: $(ls all_*)"
[ "$(stat -c %s all_00040.ppm)" -eq $((13 + 64 * 48 * 3)) ] || wrong "size of a picture: $(stat -c %s all_00040.ppm)"
expect 4 'cannot write' "$abd" export a.abd -o no/such/folder/x.obj

# an exported frame is a mesh again; its ground is open
expect 1 'open: 4 edges' "$abd" check last.obj

# check: a scene and meshes, good and bad
expect 0 'scene.json: no problem' "$abd" check scene.json
sed 's/0.25\]/0.19]/' scene.json >cross.json
expect 1 "bodies 'ground' \(1\) and 'low' \(2\) touch or cross at the start: triangle [0-9]+ and triangle [0-9]+ near" "$abd" check cross.json
printf 'v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n' >tet.obj
expect 0 'no problem' "$abd" check tet.obj
sed 's/f 2 3 4//' tet.obj >open.obj
expect 1 'open: 3 edges' "$abd" check open.obj
sed 's/f 2 3 4/f 3 2 4/' tet.obj >turned.obj
expect 1 'inconsistent orientation: 3 edges' "$abd" check turned.obj
# run says what a body weighs whose surface is open or not of one orientation
expect 0 "mesh 'open.obj' is an open surface: its mass is that of 1.5 m\^2 with the density as kg/m\^2" \
  "$abd" run open.obj -o open.abd --steps 1
echo '{ "version": 1, "bodies": [{ "mesh": "open.obj", "mass": 2 }, { "mesh": "open.obj", "position": [2, 0, 0], "motion": "static" }] }' \
  >weighed.json
expect 0 '' "$abd" run weighed.json --steps 1
! grep 'open surface' out.txt || wrong "a remark on the area of a mesh whose mass is given"
sed 's/f 1 3 2/f 1 2 3/; s/f 1 2 4/f 1 4 2/' tet.obj >half.obj
expect 0 "mesh 'half.obj' is not a clean closed surface: its mass is that of 0.166667 m\^3" "$abd" run half.obj -o half.abd --steps 1
sed -E 's/f ([0-9]) ([0-9]) ([0-9])/f \2 \1 \3/' tet.obj >inside.obj
expect 1 'flipped: closed, but' "$abd" check inside.obj
{ cat tet.obj; echo 'v 1 1 1'; echo 'f 1 2 5'; } >fin.obj
expect 1 'non-manifold: 1 edge' "$abd" check fin.obj
printf 'v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 5 6 7\n' >seam.obj
expect 0 'duplicate vertices: 3' "$abd" check seam.obj
{ cat tet.obj; printf 'v 0.2 0.2 -1\nv 0.3 0.2 -1\nv 0.2 0.3 -1\nv 0.2 0.2 1\nf 5 7 6\nf 5 6 8\nf 5 8 7\nf 6 7 8\n'; } >through.obj
expect 1 'self-crossing: [0-9]+ pair' "$abd" check through.obj
printf 'v 0 0 0\nv 1 0 0\nv 2 0 0\nf 1 2 3\n' >flat.obj
{ cat turned.obj; sed -n '/^f/{p;q}' turned.obj; } >dirty.obj
expect 1 'its mass is that of 0.166667 m\^3' "$abd" check dirty.obj
expect 1 'removed 1 repeated triangle and 0 unused vertices, reversed 1 triangle$' "$abd" check dirty.obj --fix clean.obj
expect 0 '4 triangles, 1 piece, closed' "$abd" check clean.obj
expect 2 'one mesh file' "$abd" check tet.obj clean.obj --fix out.obj
expect 2 'No such file' "$abd" check dirty.obj --fix nowhere/out.obj
printf 'v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n' >one.obj
expect 1 '3 vertices, 1 triangle, 1 piece, not a closed surface' "$abd" check one.obj
printf 'v %s\n' {-0.5,0.5}' '{-0.5,0.5}' '{-0.5,0.5} >winged.obj # a box, and a triangle in its side
printf 'f %s\n' '1 2 4' '1 4 3' '5 7 8' '5 8 6' '1 5 6' '1 6 2' '3 4 8' '3 8 7' '1 3 7' '1 7 5' '2 6 8' '2 8 4' >>winged.obj
printf 'v 0.5 0 0\nv 1 0 0\nv 1 0.3 0\nf 9 10 11\n' >>winged.obj
expect 1 'its mass is that of 1 m\^3, .*; the integral over its triangles alone is the same$' "$abd" check winged.obj
expect 1 '1 triangle without area' "$abd" check flat.obj
{ cat tet.obj; echo 'v 0.5 0 0'; echo 'f 1 2 5'; echo 'f 2 1 5'; } >line.obj
expect 1 '2 triangles without area' "$abd" check line.obj
sed -E 's/^v ([0-9])/v 99999999\1/' tet.obj >far.obj
expect 2 'contact.range is .* but coordinates are rounded by' "$abd" run far.obj
expect 1 'problem: contact.range is .* but coordinates are rounded by .* or bodies nearer to the origin' "$abd" check far.obj
expect 2 'No such file' "$abd" check missing.obj
expect 2 'broken.json' bash -c "echo '{' >broken.json; exec '$abd' check broken.json"
echo good
