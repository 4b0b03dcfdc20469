#!/bin/bash
# When it stops, and when it will be slow: who, where, why, a mesh of the place and a command that shows it.
#   trouble.sh ABD SOURCE
. "$(dirname "$0")/expect.sh"

# a start that crosses
sed 's/0.25\]/0.19]/' scene.json >cross.json
expect 2 "triangle [0-9]+ of 'ground' \(body 1\) and triangle [0-9]+ of 'low' \(body 2\), which touch or cross near \(" "$abd" run cross.json
grep -q 'its mesh:  cross-start.obj' out.txt || wrong "no mesh named: $(cat out.txt)"
[ "$(grep '^o ' cross-start.obj | tr '\n' ' ')" = "o ground o low " ] || wrong "objects: $(grep '^o ' cross-start.obj)"
[ ! -e cross.abd ] || wrong "a run of a scene that crosses"
rm cross-start.obj
expect 2 'touch or cross' "$abd" run cross.json --quiet
[ ! -e cross-start.obj ] || wrong "--quiet left a mesh"

# steps that do not converge: the first with its place, and the command works
expect 3 "step [0-9]+ did not converge: .* after 1 iterations" "$abd" run scene.json -o short.abd --set solver.max_iterations=1 --strict
step=$(sed -n 's/^step \([0-9]*\) did not converge.*/\1/p' out.txt | head -1)
grep -Eq "where: +triangle [0-9]+ of '[a-z]+' .* m apart, pressed with [0-9.e+]+ N near \(" out.txt || wrong "no place: $(cat out.txt)"
grep -q 'why:  ' out.txt || wrong "no reason: $(cat out.txt)"
[ "$(grep -c 'where:' out.txt)" -eq 1 ] || wrong "more than one place"
[ -s "short-step$step.obj" ] || wrong "no mesh: $(ls)"
expect 1 'open' "$abd" check "short-step$step.obj"
"$abd" run scene.json -o short.abd --force --set solver.max_iterations=1 >out.txt 2>&1
look=$(sed -n "s/^ *look: *abd export \(.*\)/\1/p" out.txt | sed 's/place.png/place.ppm/')
[ -n "$look" ] || wrong "nothing to look with: $(cat out.txt)"
# shellcheck disable=SC2086 # a list of words
expect 0 '' "$abd" export $look --size 64x48
[ -s place.ppm ] || wrong "no picture of the place"

# slow scenes: said by check and by run, not by a quiet one, and no problem
cat >slow.json <<'JSON'
{ "version": 1, "dt": 0.01, "steps": 2, "contact": { "range": 0.05 },
  "bodies": [
    { "name": "floor", "shape": "ground" },
    { "name": "low", "shape": "box", "size": [1, 1, 1], "position": [0, 0, 0.5001] },
    { "name": "high", "shape": "box", "size": [1, 1, 1], "position": [0, 0, 1.5003], "density": 1e6 },
    { "name": "pea", "shape": "sphere", "radius": 0.02, "position": [0.9, 0, 0.6], "density": 1 }
  ] }
JSON
expect 0 "warning: '(low|floor)' and '(low|floor)' start nearer than 0.001 m, as does 1 more pair: .* leave a gap" "$abd" check slow.json
grep -q "warning: contact.range, 0.05 m, is larger than the edges of mesh 'sphere'" out.txt || wrong "no word of edges: $(cat out.txt)"
grep -q "warning: 'high' weighs 1e+06 kg, 'pea' 3.3.e-05 kg" out.txt || wrong "no word of masses: $(cat out.txt)"
expect 0 "warning: contact.range" "$abd" run slow.json -o slow.abd
expect 0 '' "$abd" run slow.json -o slow.abd --force --quiet
[ ! -s out.txt ] || wrong "--quiet printed: $(cat out.txt)"
expect 0 'scene.json: no problem' "$abd" check scene.json
! grep -q warning out.txt || wrong "warnings of a harmless scene: $(cat out.txt)"
echo good
