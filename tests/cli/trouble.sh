#!/bin/bash
# When it stops, and when it will be slow: who, where, why, a mesh of the place and a command that shows it.
#   trouble.sh ABD SOURCE
. "$(dirname "$0")/expect.sh"

# looks RUN: what was printed offers a picture and the viewer of that run's place, and both come
looks() {
  local look view
  look=$(sed -n "s/^ *look: *[^ ]*abd export \(.*\)/\1/p" out.txt | sed 's/place.png/place.ppm/')
  view=$(sed -n "s/^ *or: *[^ ]*abd view \(.*\)/\1/p" out.txt | tr -d "'")
  [[ $look = "$1 "* ]] || wrong "nothing to look at $1 with: $(cat out.txt)"
  rm -f place.ppm address.txt
  # shellcheck disable=SC2086 # lists of words
  "$abd" export $look --size 64x48 >look.txt 2>&1 && [ -s place.ppm ] || { cat look.txt; wrong "no picture: abd export $look"; }
  [ -n "$view" ] || { echo "skipped: this build has no viewer"; return; }
  [[ $view = "$1 "*--look-at* ]] || wrong "nothing to view $1 with: $(cat out.txt)"
  # shellcheck disable=SC2086
  "$abd" view $view --port 0 >address.txt 2>look.txt &
  local server=$!
  for _ in $(seq 100); do [ -s address.txt ] && break; sleep 0.1; done
  kill -INT $server
  wait $server || { cat look.txt; wrong "abd view $view"; }
  grep -Eq '^http://127.0.0.1:[0-9]+/#step=[0-9]+&body=[0-9]+&at=[-0-9.e]+,[-0-9.e]+,[-0-9.e]+,[0-9.e]+$' address.txt ||
    wrong "no link to the place: $(cat address.txt)"
}

# a start that crosses
sed 's/0.25\]/0.19]/' scene.json >cross.json
expect 2 "triangle [0-9]+ of 'ground' \(body 1\) and triangle [0-9]+ of 'low' \(body 2\), which touch or cross near \(" "$abd" run cross.json
grep -q 'its mesh:  cross-start.obj' out.txt || wrong "no mesh named: $(cat out.txt)"
[ "$(grep '^o ' cross-start.obj | tr '\n' ' ')" = "o ground o low " ] || wrong "objects: $(grep '^o ' cross-start.obj)"
[ ! -e cross.abd ] || wrong "a run of a scene that crosses"
looks cross-start.abd
rm cross-start.*
expect 2 'touch or cross' "$abd" run cross.json --quiet
[ -z "$(ls cross-start.* 2>/dev/null)" ] || wrong "--quiet left $(ls cross-start.*)"

# steps that do not converge: the first with its place, and the command works
expect 3 "step [0-9]+ did not converge: .* after 1 iterations" "$abd" run scene.json -o short.abd --set solver.max_iterations=1 --strict
step=$(sed -n 's/^step \([0-9]*\) did not converge.*/\1/p' out.txt | head -1)
grep -Eq "where: +triangle [0-9]+ of '[a-z]+' .* m apart, pressed with [0-9.e+]+ N near \(" out.txt || wrong "no place: $(cat out.txt)"
grep -q 'why:  ' out.txt || wrong "no reason: $(cat out.txt)"
[ "$(grep -c 'where:' out.txt)" -eq 1 ] || wrong "more than one place"
[ -s "short-step$step.obj" ] || wrong "no mesh: $(ls)"
expect 1 'open' "$abd" check "short-step$step.obj"
"$abd" run scene.json -o short.abd --force --set solver.max_iterations=1 >out.txt 2>&1
looks short.abd

# a scripted body that crushes a brick on a wall: the summary has the worst of all steps, not of the first
cat >press.json <<'JSON'
{ "version": 1, "dt": 0.01, "steps": 30, "gravity": [0, 0, 0], "bodies": [
  { "name": "wall", "shape": "box", "size": [0.1, 2, 2], "position": [0.5, 0, 0], "motion": "static" },
  { "name": "brick", "shape": "box", "size": [0.4, 0.2, 0.2], "position": [0.2, 0, 0] },
  { "name": "ram", "shape": "box", "size": [0.2, 0.5, 0.5], "position": [-0.2, 0, 0], "motion": "kinematic",
    "path": [{ "time": 0, "position": [-0.2, 0, 0] }, { "time": 0.2, "position": [0.1, 0, 0] },
             { "time": 0.3, "position": [-0.2, 0, 0] }] }] }
JSON
expect 0 "step 10: contact holds a kinematic body 0.000[0-9]+ m back from its target; body 'ram' \(reported once; the summary has the farthest\)" \
  "$abd" run press.json
[ "$(grep -c "warning: step 13: stiff body 'brick' is strained by 0.0133; .* wrong unit of length" out.txt)" -eq 1 ] &&
  [ "$(grep -c 'is strained' out.txt)" -eq 1 ] || wrong "no word of the strain, or more than one: $(cat out.txt)"
grep -q "largest strain  *0.0451, step 20: 'brick'" out.txt || wrong "no strained body: $(cat out.txt)"
grep -q "held back  *a kinematic body in [0-9]* steps, at most 0.141 m, step 20: 'ram'" out.txt || wrong "no farthest: $(cat out.txt)"
expect 0 "at most 0.141 m, step 20: 'ram'" "$abd" info press.abd
expect 0 '"held_back": 0.14[0-9]*,' "$abd" info press.abd --json
grep -q '"held_back_step": 20,' out.txt && grep -q '"held_back_body": "ram"' out.txt || wrong "no farthest: $(cat out.txt)"
grep -q '"max_strain_step": 20,' out.txt && grep -q '"most_strained": "brick"' out.txt || wrong "no strained body: $(cat out.txt)"
expect 0 '' "$abd" run press.json --force --quiet
[ ! -s out.txt ] || wrong "--quiet printed: $(cat out.txt)"

# a run that crawls: it asks for what rounding does not allow
expect 0 'the run crawls: 10 steps in a row took 150 iterations and more \(reported once\)' \
  "$abd" run scene.json -o crawl.abd --set solver.max_iterations=150 --set solver.tolerance=1e-20
[ "$(grep -c 'the run crawls' out.txt)" -eq 1 ] || wrong "said more than once: $(cat out.txt)"
sed -n '/the run crawls/,/or:/p' out.txt >crawl.txt
cp crawl.txt out.txt
grep -Eq "where: +triangle [0-9]+ of '[a-z]+' .* m apart, pressed with [0-9.e+]+ N near \(" crawl.txt || wrong "no place: $(cat crawl.txt)"
grep -q 'why:  ' crawl.txt || wrong "no reason: $(cat crawl.txt)"
mesh=$(sed -n 's/^ *its mesh: *//p' crawl.txt)
[ -s "$mesh" ] || wrong "no mesh '$mesh'"
looks crawl.abd

# a step that fails: a force beyond all numbers, while the boxes lie on each other
sed 's/"name": "high",/"name": "high", "forces": [{ "time": 0.3, "force": [0, 0, 0] }, { "time": 0.31, "force": [0, 0, 1e308] }],/' \
  scene.json >burst.json
expect 4 "a value that is not finite appeared in step 32 at body high" "$abd" run burst.json
grep -Eq "where: +triangle [0-9]+ of 'high' \(body 3\) and triangle [0-9]+ of 'low' \(body 2\), [0-9.e-]+ m apart, pressed with [0-9.e+]+ N near \(" out.txt ||
  wrong "no place: $(cat out.txt)"
grep -q 'why:  .*huge force' out.txt && grep -q 'Steps to 31 are in burst.abd' out.txt || wrong "no reason: $(cat out.txt)"
[ "$(grep '^o ' burst-step31.obj | tr '\n' ' ')" = "o high o low " ] || wrong "objects: $(grep '^o ' burst-step31.obj)"
looks burst.abd
expect 0 'no two surfaces cross' "$abd" verify burst.abd
expect 4 'not finite' "$abd" run burst.json --force --quiet
[ "$(wc -l <out.txt)" -eq 1 ] || wrong "--quiet printed: $(cat out.txt)"

# a body that comes where another one still is: the remedy, and the steps before are in the file
cat >blocked.json <<'JSON'
{ "version": 1, "dt": 0.05, "steps": 9, "bodies": [ { "shape": "ground" },
  { "name": "drop", "shape": "box", "size": [0.2, 0.2, 0.2], "position": [0, 0, 1], "copies": { "count": 10, "every": 0.05 } } ] }
JSON
expect 2 'would touch or cross.* let the body come later or at another place, or what is there go earlier$' "$abd" run blocked.json
steps=$(sqlite3 blocked.abd 'SELECT max(step) FROM report')
grep -q "^Steps to $steps are in blocked.abd; --resume would end at the same one" out.txt || wrong "no word of the file: $(cat out.txt)"
expect 2 'would touch or cross' "$abd" run blocked.abd --resume
[ "$(sqlite3 blocked.abd 'SELECT max(step) FROM report')" -eq "$steps" ] || wrong "the resumed run has other steps"
expect 2 'would touch or cross' "$abd" run blocked.json --force --quiet
[ "$(wc -l <out.txt)" -eq 1 ] || wrong "--quiet printed: $(cat out.txt)"

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

# a fit tighter than the range: said after the first step, not of a smaller range, not by a quiet run
cat >slot.json <<'JSON'
{ "version": 1, "steps": 2, "contact": { "range": 0.001 }, "bodies": [
  { "name": "slot", "motion": "static", "parts": [
    { "shape": "box", "size": [0.1, 1, 1], "position": [0.1004, 0, 0] },
    { "shape": "box", "size": [0.1, 1, 1], "position": [-0.1004, 0, 0] }] },
  { "name": "key", "shape": "box", "size": [0.1, 0.1, 0.1] }] }
JSON
expect 0 "note: '(key|slot)' and '(key|slot)' fit tighter than the contact range \(gap 0.0004 m, range 0.001 m\)" "$abd" run slot.json
expect 0 '' "$abd" run slot.json --force --set contact.range=3e-4
! grep -q 'fit tighter' out.txt || wrong "a note about a loose fit: $(cat out.txt)"
expect 0 '' "$abd" run slot.json --force --quiet
[ ! -s out.txt ] || wrong "--quiet printed: $(cat out.txt)"
echo good
