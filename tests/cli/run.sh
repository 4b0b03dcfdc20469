#!/bin/bash
# A run that is killed, interrupted or stopped by a full disk is resumed with the bits of the run that never stopped.
#   run.sh ABD SOURCE
. "$(dirname "$0")/expect.sh"

expect 0 'converged +all steps' "$abd" run scene.json -o straight.abd
[ "$(hashes straight.abd | wc -l)" -eq 40 ] || wrong "not 40 reports"
[ "$(sqlite3 straight.abd 'SELECT count(*) FROM frame')" -eq 41 ] || wrong "not 41 frames"
[ ! -e straight.abd-wal ] || wrong "a finished run still has its log"
# whole RUN: the state to resume from is that of the last step, as after every end but a kill
whole() { [ "$(sqlite3 "$1" 'SELECT step = (SELECT max(step) FROM report) FROM checkpoint')" = 1 ] || wrong "$1: the state is not the last step's"; }
whole straight.abd
expect 0 'output +[0-9.e-]+ ms/step, [0-9.]+ % of the time' "$abd" info straight.abd

# a copy that lost half a page: SQLite would read zeros there
size=$(stat -c %s straight.abd)
for part in 200 $((size / 2)) $((size - 100)); do
  head -c "$part" straight.abd >cut.abd
  expect 2 "cut.abd: the file is cut off: it has $part of $size bytes" "$abd" info cut.abd
  expect 2 "cut.abd: the file is cut off" "$abd" run cut.abd --resume --quiet
done
rm cut.abd

# an existing file is not replaced unless asked for
expect 2 'exists: --resume' "$abd" run scene.json -o straight.abd
expect 0 '' "$abd" run scene.json -o straight.abd --force --quiet
[ ! -s out.txt ] || wrong "--quiet printed: $(cat out.txt)"
expect 0 '"steps": 40' "$abd" run scene.json -o json.abd --json
expect 0 '' "$abd" run scene.json --steps 2 --quiet
[ -e scene.abd ] || wrong "the default name is not scene.abd"

# the number of threads does not matter
expect 0 '' "$abd" run scene.json -o threads.abd --threads 2 --quiet
same straight.abd threads.abd "two threads"

# fewer frames, contacts on request, resumed in two parts with the scene named or not
expect 0 '' "$abd" run scene.json -o parts.abd --steps 13 --every 5 --contacts --quiet
expect 0 'Resuming parts.abd after step 13 of 25' "$abd" run parts.abd --resume --steps 25
expect 2 'another scene or other settings' "$abd" run scene.json -o parts.abd --resume --set contact.friction=0.1
expect 0 '' "$abd" run scene.json -o parts.abd --resume --steps 40 --quiet
expect 0 '40 of 40 steps already' "$abd" run parts.abd --resume
expect 0 '40 of 40 steps already' "$abd" run parts.abd --resume --steps 7 # fewer than it has: the plan stays
diff <(hashes straight.abd) <(hashes parts.abd) || wrong "resumed in parts, other bits"
[ "$(sqlite3 parts.abd 'SELECT group_concat(step) FROM frame')" = 0,5,10,13,15,20,25,30,35,40 ] ||
  wrong "frames: $(sqlite3 parts.abd 'SELECT group_concat(step) FROM frame')"
[ "$(sqlite3 parts.abd 'SELECT count(*) > 0 AND min(distance) > 0 FROM contact')" = 1 ] || wrong "no contacts"
[ "$(sqlite3 parts.abd 'SELECT count(*) FROM contact WHERE step NOT IN (SELECT step FROM frame)')" = 0 ] ||
  wrong "contacts without a frame"

# resumed after every single step: nothing that matters lives outside the file
for step in $(seq 1 40); do
  expect 0 '' "$abd" run scene.json -o single.abd --steps $step --resume --quiet
done
same straight.abd single.abd "one process for each step"

# kill -9 at random moments: the frames and reports of the same steps are there, and a state that is not newer; eight times or more; then a little further, and the same number of steps in one go
# killed SCENE RUN STEPS SECONDS: runs it on for at most the seconds, plus a little more each time so that a busy machine
# gets somewhere; fails when it ended by itself.
kills=0
killed() {
  "$abd" run "$1" -o "$2" --steps "$3" --resume --quiet &
  local process=$!
  sleep "$(LC_ALL=C awk -v s="$4" -v k=$kills -v r=$RANDOM 'BEGIN { print s * (0.1 + 0.9 * r / 32768) + 0.004 * k }')"
  kills=$((kills + 1))
  kill -9 $process 2>kill.txt || { wait $process || wrong "exit code $? of a run that was not killed"; return 1; }
  wait $process 2>kill.txt || true
  rm -f "$2".part-* # killed before the file had its name
  [ ! -e "$2" ] || [ "$(sqlite3 "$2" 'SELECT (SELECT count(*) FROM frame) = 1 + count(*) AND ifnull(max(step), 0) = count(*)
    AND (SELECT step FROM checkpoint) <= count(*) FROM report')" = 1 ] || wrong "$2: not whole after a kill"
}
# has_state RUN: a state to resume from that is not the first
has_state() { [ -e "$1" ] && [ "$(sqlite3 "$1" 'SELECT step > 0 FROM checkpoint')" = 1 ]; }
until [ -e killed.abd ] && [ $kills -ge 8 ] && { has_state killed.abd || [ $kills -ge 40 ]; }; do
  killed scene.json killed.abd 1000000 0.3 || wrong "a million steps already"
done
has_state killed.abd || wrong "killed $kills times, and no state but the first"
steps=$(( $(sqlite3 killed.abd 'SELECT max(step) FROM frame') + 10))
expect 0 '' "$abd" run scene.json -o killed.abd --steps $steps --resume --quiet
expect 0 '' "$abd" run scene.json -o long.abd --steps $steps --quiet
diff <(hashes long.abd) <(hashes killed.abd) || wrong "killed $kills times, other bits"
echo "killed $kills times on the way to step $steps"

# the same with a busy scene: forty-eight boxes that tumble onto each other, killed until it is done
pile >pile.json
expect 0 'converged +all steps' "$abd" run pile.json -o pile.abd --steps 40
[ "$(sqlite3 pile.abd 'SELECT max(contacts) > 100 FROM report')" = 1 ] || wrong "hardly a contact in the pile"
kills=0
while killed pile.json again.abd 40 0.6 && [ $kills -lt 200 ]; do :; done
expect 0 '' "$abd" run pile.json -o again.abd --steps 40 --resume --quiet
same pile.abd again.abd "the pile killed $kills times"
echo "the pile: $kills starts for 40 steps"

# Ctrl-C ends after the step in hand
"$abd" run scene.json -o stopped.abd --steps 1000000 --quiet 2>stopped.txt &
process=$!
until [ -e stopped.abd ]; do sleep 0.02; done
sleep 0.1
kill -INT $process
code=0
wait $process || code=$?
[ $code -eq 130 ] || wrong "interrupted, exit code $code"
grep -q 'abd run stopped.abd --resume' stopped.txt || wrong "no advice after Ctrl-C: $(cat stopped.txt)"
whole stopped.abd
step=$(sqlite3 stopped.abd 'SELECT max(step) FROM report')
expect 0 '' "$abd" run stopped.abd --resume --steps $((step + 5)) --quiet

# a disk that is full: a sentence, exit code 4, and what was committed is there to go on with
# (a job of its own, since the limit on a file's size cannot be lifted again)
expect 4 'cannot' bash -c "ulimit -f 300; exec '$abd' run scene.json -o full.abd --steps $steps --quiet"
expect 0 '' "$abd" run full.abd --resume --quiet
diff <(hashes long.abd) <(hashes full.abd) || wrong "other bits after a full disk"
expect 4 'cannot' bash -c "ulimit -f 8; exec '$abd' run scene.json -o tiny.abd --quiet"
[ -z "$(ls | grep tiny || true)" ] || wrong "half-written: $(ls | grep tiny)"

# a resume that cannot write: the steps after the state are there until the first of them is made again
expect 0 '' "$abd" run scene.json -o early.abd --steps 20 --quiet
cp early.abd late.abd
expect 0 '' "$abd" run late.abd --resume --steps 30 --quiet
sqlite3 late.abd "ATTACH 'early.abd' AS early; REPLACE INTO checkpoint SELECT * FROM early.checkpoint" # as after a kill
rows() { sqlite3 "$1" 'SELECT * FROM report; SELECT step, hex(node) FROM frame; SELECT step, hex(state) FROM checkpoint'; }
rows late.abd >late.txt
kept=0
for room in $(seq 160 -8 16); do # [KiB] of each file
  rm -f tight.abd* && cp late.abd tight.abd
  expect 4 'cannot' bash -c "ulimit -f $room; exec '$abd' run tight.abd --resume --steps 1000 --quiet"
  rows tight.abd >tight.txt
  if cmp -s late.txt tight.txt; then kept=$((kept + 1))
  else [ "$(sqlite3 tight.abd 'SELECT max(step) > 20 FROM frame')" = 1 ] || wrong "room of $room KiB: steps deleted, none written"; fi
done
[ $kept -ge 3 ] && [ $kept -lt 15 ] || wrong "$kept resumes left the file as it was"
expect 0 '' "$abd" run tight.abd --resume --steps 40 --quiet
same straight.abd tight.abd "resumes that could not write"

# two writers
"$abd" run scene.json -o busy.abd --steps 1000000 --quiet 2>busy.txt &
process=$!
until [ -e busy.abd ]; do sleep 0.02; done
expect 2 'another abd run' "$abd" run busy.abd --resume
expect 2 'another abd run' "$abd" run scene.json -o busy.abd --force
expect 0 'bodies' "$abd" info busy.abd # a reader may follow
kill -TERM $process
wait $process || true

# bodies that cross at the start, and a step that cannot converge
sed 's/0.25\]/0.19]/' scene.json >cross.json
expect 2 "'?(low|ground)'?.*'?(low|ground)'?" "$abd" run cross.json
[ ! -e cross.abd ] || wrong "a run file of a scene that cannot start"
expect 3 'did not converge' "$abd" run scene.json -o hard.abd --set solver.max_iterations=1 --strict --steps 40
expect 0 'WARNING' "$abd" run scene.json -o hard2.abd --set solver.max_iterations=1 --steps 40
echo good
