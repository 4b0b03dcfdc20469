#!/bin/bash
# A sweep that is killed twice with kill -9 is complete at the end with the bits of one that was not; failed members are
# tried again and reported; bad studies get sentences.
#   sweep.sh ABD SOURCE
. "$(dirname "$0")/expect.sh"

# figures TABLE: everything but times and attempts.
figures() {
  sqlite3 "$1" "SELECT member, status, hash, steps, not_converged, settings, \"report.contacts.max\", \"bodies.high.position.x\",
    \"bodies.high.position.y\", \"bodies.high.position.z\", \"touch.low.high.first\", \"touch.low.high.count\" FROM member ORDER BY member"
}

cat >study.json <<'JSON'
{ "study": 1, "scene": "scene.json", "steps": 25, "set": { "contact.range": 0.002 },
  "grid": { "contact.friction": [0.1, 0.5], "bodies.high.density": [500, 1000, 2000] },
  "random": { "bodies.high.velocity": [{ "normal": [0, 0.3] }, { "uniform": [-0.3, 0.3] }, -0.5] },
  "seeds": 10,
  "record": ["bodies.high.position", "report.contacts.max", "report.iterations.mean", { "touch": ["low", "high"] },
             "events.touch began"] }
JSON

expect 0 '60 members: 60 done, 0 failed' "$abd" sweep study.json -o straight.db --jobs 1
[ "$(sqlite3 straight.db "SELECT count(DISTINCT hash) FROM member")" -eq 60 ] || wrong "members that differ share hashes"
[ "$(sqlite3 straight.db 'SELECT count(*) FROM member WHERE "touch.low.high.first" > 0 AND "touch.low.high.count" >= 1
  AND "contact.friction" IN (0.1, 0.5) AND seed BETWEEN 1 AND 10 AND attempts = 1 AND steps = 25 AND not_converged = 0')" -eq 60 ] || wrong "figures"
expect 0 '60 of 60 members are done' "$abd" sweep study.json -o straight.db
# a member is a run of the command
expect 0 '' "$abd" run scene.json -o member.abd --steps 25 --set contact.range=0.002 --set contact.friction=0.1 --set bodies.high.density=500 \
  --set "bodies.high.velocity=$(sqlite3 straight.db 'SELECT "bodies.high.velocity" FROM member WHERE member = 0')" --quiet
run=$(printf %016x "$(sqlite3 member.abd 'SELECT hash FROM report WHERE step = 25')")
[ "$run" = "$(sqlite3 straight.db 'SELECT hash FROM member WHERE member = 0')" ] || wrong "abd run has other bits: $run"

# a setting with the name of another column
cat >names.json <<'JSON'
{ "study": 1, "scene": "scene.json", "grid": { "steps": [2, 3] }, "record": ["report.contacts"] }
JSON
expect 0 '2 members: 2 done' "$abd" sweep names.json
[ "$(sqlite3 names.db 'SELECT "set.steps", steps FROM member ORDER BY member' | tr '\n' ' ')" = '2|2 3|3 ' ] ||
  wrong "set.steps"
# a table that cannot be created leaves no file
expect 4 'wide.db: cannot' bash -c "trap '' XFSZ; ulimit -f 1; exec \"$abd\" sweep names.json -o wide.db"
[ -z "$(ls | grep '^wide\.db')" ] || wrong "files of a table that was not created: $(ls)"

# killed twice, two members at a time
for kill in 1 2; do
  "$abd" sweep study.json -o killed.db --jobs 2 --quiet &
  process=$!
  for ((wait = 0; wait < 400; wait++)); do
    [ "$(sqlite3 killed.db "SELECT count(*) >= 6 * $kill FROM member WHERE status = 'done'" 2>kill.txt || true)" != 1 ] || break
    sleep 0.01
  done
  kill -9 $process
  wait $process 2>kill.txt || true
  expect 0 'waiting' "$abd" sweep study.json -o killed.db --status
done
done_before=$(sqlite3 killed.db "SELECT count(*) FROM member WHERE status = 'done'")
[ "$done_before" -ge 12 ] && [ "$done_before" -lt 60 ] || wrong "$done_before members done after two kills"
expect 0 '60 done, 0 failed' "$abd" sweep study.json -o killed.db
diff <(figures straight.db) <(figures killed.db) || wrong "killed twice, other figures"
[ "$(sqlite3 killed.db 'SELECT sum(attempts) <= 64 FROM member')" = 1 ] || wrong "members that were done ran again"
expect 0 '"done": 60' "$abd" sweep study.json -o killed.db --status --json
# interrupted: the sentence says how to go on
"$abd" sweep study.json -o stopped.db --jobs 1 >out.txt 2>&1 &
process=$!
for ((wait = 0; wait < 1000; wait++)); do
  [ "$(sqlite3 stopped.db "SELECT count(*) > 1 FROM member WHERE status = 'done'" 2>kill.txt || true)" != 1 ] || break
  sleep 0.01
done
kill -INT $process
code=0 && wait $process || code=$?
[ $code -eq 130 ] && grep -q 'Go on with: .*sweep study.json -o stopped.db' out.txt || wrong "SIGINT: exit code $code: $(cat out.txt)"

# a bad value fails its members alone, at once; a limit fails after retries; --failed tries again
sed 's/\[500, 1000, 2000\]/[500, -1, 2000]/; s/"seeds": 10/"seeds": 1/' study.json >bad.json
expect 1 '6 members: 4 done, 2 failed' "$abd" sweep bad.json
grep -Eq 'failed: member 1 .*1 attempt: .*density.*-1' out.txt || wrong "no sentence: $(cat out.txt)"
expect 1 '4 done, 2 failed' "$abd" sweep bad.json --failed
[ "$(sqlite3 bad.db "SELECT group_concat(attempts) FROM member WHERE status = 'failed'")" = 2,2 ] || wrong "--failed did not try again"
sed 's/"steps": 25/"steps": 100000/; s/"seeds": 10/"seeds": 1/; s/\[0.1, 0.5\]/[0.1]/; s/\[500, 1000, 2000\]/[500]/' study.json >slow.json
expect 1 'member 0: took longer than the limit: .*; it is tried again' "$abd" sweep slow.json --limit 0.2 --retries 1
grep -q '1 members: 0 done, 1 failed' out.txt && grep -q ', 2 attempts: took longer' out.txt || wrong "limit: $(cat out.txt)"
# a worker that is killed is tried again
"$abd" sweep slow.json --force --retries 1 -o worker.db >out.txt 2>&1 &
process=$!
for kill in 1 2; do
  for ((wait = 0; wait < 400; wait++)); do
    worker=$(tr -d " " </proc/$process/task/$process/children)
    [ -z "$worker" ] || break
    sleep 0.01
  done
  sleep 0.05
  kill -9 "$worker"
  while kill -0 "$worker" 2>kill.txt; do sleep 0.01; done
done
code=0 && wait $process || code=$?
[ $code -eq 1 ] && grep -q 'ended by signal 9' out.txt || wrong "killed worker: exit code $code: $(cat out.txt)"

# a scene of the gallery by its seed, and run files of the members
cat >gallery.json <<'JSON'
{ "study": 1, "scene": { "gallery": "pile", "keys": { "count": 6 } }, "steps": 3, "runs": "runs", "seeds": [7, 9],
  "random": { "gallery.seed": "seed" } }
JSON
expect 0 '2 done' "$abd" sweep gallery.json
[ "$(sqlite3 gallery.db 'SELECT count(DISTINCT hash) FROM member')" = 2 ] || wrong "seeds make no difference"
expect 0 '' "$abd" verify runs/000001.abd

# the table is of this study and this scene
expect 2 'of another study, or the study has changed' "$abd" sweep gallery.json -o straight.db
cp scene.json kept.json
sed -i 's/0.95/0.96/' scene.json
expect 2 "the study's scene has changed" "$abd" sweep study.json -o straight.db
mv kept.json scene.json
expect 2 'not a table of a study' "$abd" sweep study.json -o member.abd
expect 2 'cannot read' "$abd" sweep study.json -o none.db --status

# bad KEY VALUE WORDS: the study with a key replaced
bad() {
  python3 - "$1" "$2" <<'PY' >wrong.json 2>kill.txt || echo "$2" >wrong.json
import json, sys
study = json.load(open("study.json"))
study[sys.argv[1]] = json.loads(sys.argv[2])
json.dump(study, sys.stdout, indent=1)
PY
  expect 2 "$3" "$abd" sweep wrong.json -o wrong.db
}
if command -v python3 >kill.txt; then
  bad study 2 'expected "study": 1'
  bad scene '"none.json"' "cannot read 'none.json'"
  bad grids '{}' 'wrong.json:[0-9]+:[0-9]+: grids: unknown key; did you mean "grid"'
  bad grid '{ "contact.friction": [] }' 'grid.contact.friction: expected a list of at least one value'
  bad grid '{ "contact.frictoin": [1] }' 'contact.frictoin'
  bad grid '{ "gallery.count": [1] }' "this study's is a file"
  bad random '{ "dt": { "uniform": [2, 1] } }' 'expected the least value first'
  bad random '{ "dt": { "unifrom": [2, 1] } }' 'did you mean "uniform"'
  bad random '{ "dt": 3 }' 'expected a distribution'
  bad seeds 0 'seeds: expected'
  bad record '["bodies.hihg.position"]' "the scene has no body 'hihg'"
  bad record '["report.contatcs"]' "no column 'contatcs'; did you mean 'contacts'"
  bad record '["report.contacts.median"]' 'expected .min, .max'
  bad record '["report.contacts", "report.contacts"]' 'there twice'
  bad record '["high"]' 'expected a figure'
  bad time 3 'exclude each other'
  [ ! -e wrong.db ] || wrong "a bad study left a table"
fi
echo '{ "study": 1, ' >wrong.json
expect 2 'wrong.json:[0-9]+:[0-9]+: ' "$abd" sweep wrong.json
expect 2 'No such file' "$abd" sweep missing.json
expect 2 'expected one study' "$abd" sweep
expect 0 'Usage: abd sweep' "$abd" sweep --help
echo good
