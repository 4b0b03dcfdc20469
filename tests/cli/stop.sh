#!/bin/bash
# Ctrl-C, SIGTERM and --time-limit end a run within a second, in the middle of a step of a thousand iterations, in the first
# step of a large scene and while one is loaded. What is left is resumed to the bits of the run that never stopped.
#   stop.sh ABD SOURCE
. "$(dirname "$0")/expect.sh"

now() { date +%s%N; }
# late WHAT NANOSECONDS: prints how long the end took. The limit is above a second for a machine that runs other tests too.
late() {
  local took=$((($(now) - $2) / 1000000))
  echo "$1: ended after $took ms"
  [ $took -lt 1500 ] || wrong "$1: $took ms from the signal to the end"
}

# stops WHAT SIGNAL CONDITION ABD-ARGUMENTS...: sends the signal when the condition holds.
stops() {
  local what=$1 signal=$2 condition=$3 process code=0 start
  shift 3
  "$abd" "$@" --time-limit 60 >out.txt 2>&1 &
  process=$!
  until eval "$condition"; do sleep 0.02; kill -0 $process 2>/dev/null || { cat out.txt; wrong "$what: it ended by itself"; }; done
  start=$(now)
  kill "-$signal" $process
  wait $process || code=$?
  late "$what" "$start"
  [ $code -eq 130 ] || { cat out.txt; wrong "$what: exit code $code"; }
}

# a step that would take a thousand iterations
"$abd" scene soft-twist --cells 5 -o twist.json
endless=(--set solver.tolerance=1e-300 --set solver.max_iterations=1000)
stops "a step of 1000 iterations" INT '[ -e twist.abd ]' run twist.json -o twist.abd "${endless[@]}" --quiet
grep -q 'Interrupted after step 0 of 450. Go on with: .* run twist.abd --resume' out.txt || wrong "its words: $(cat out.txt)"
stops "the same, resumed, by SIGTERM" TERM '[ -e twist.abd-wal ]' run twist.abd --resume --quiet
[ "$(sqlite3 twist.abd 'SELECT count(*) FROM report')" = 0 ] || wrong "a step was recorded"
expect 0 '' "$abd" verify twist.abd

# a large scene: while it is loaded, which takes about a second, and in its first step
"$abd" scene hybrid --resolution 4 -o hybrid.json
"$abd" scene hybrid --resolution 7 -o larger.json
stops "loading" INT 'sleep 0.3' run larger.json -o large.abd --quiet
grep -q 'Interrupted while loading; no run file was written' out.txt || wrong "its words: $(cat out.txt)"
[ -z "$(ls large.abd* 2>/dev/null)" ] || wrong "it left $(ls large.abd*)"
stops "a large first step" INT '[ -e large.abd ]' run hybrid.json -o large.abd --quiet
expect 0 '' "$abd" info large.abd
stops "loading a run" INT '[ -e large.abd-wal ]' run large.abd --resume --quiet
grep -q 'run large.abd --resume' out.txt || wrong "its words: $(cat out.txt)"

# many short limits make the run that never stopped
pile >pile.json
expect 0 '' "$abd" run pile.json -o whole.abd --steps 30 --quiet
parts=0 code=130
while [ $code -eq 130 ] && [ $parts -lt 100 ]; do
  code=0
  "$abd" run pile.json -o parts.abd --steps 30 --resume --time-limit 0.25 --quiet 2>err.txt || code=$?
  [ $code -eq 0 ] || grep -q 'The time limit of 0.25 s is reached' err.txt || wrong "no word about the limit: $(cat err.txt)"
  parts=$((parts + 1))
done
[ $code -eq 0 ] || wrong "exit code $code after $parts parts"
same whole.abd parts.abd "a run in $parts parts"
echo "30 steps in $parts parts of 0.25 s"
expect 2 '--time-limit: expected a number > 0' "$abd" run pile.json --time-limit 0
expect 0 'converged' "$abd" run scene.json -o short.abd --time-limit 500

# a live scene
if [[ $("$abd" view none.abd 2>&1 || true) != *'built without'* ]]; then
  export TMPDIR=$scratch/tmp
  mkdir "$TMPDIR"
  "$abd" view twist.json --port 0 "${endless[@]}" >address.txt 2>err.txt &
  process=$!
  for _ in $(seq 200); do [ -s address.txt ] && break; sleep 0.1; done
  sleep 0.3
  start=$(now)
  kill -INT $process
  wait $process || wrong "abd view: exit code $?"
  late "a live scene" "$start"
  [ -z "$(ls "$TMPDIR")" ] || wrong "abd view left $(ls "$TMPDIR")"
fi
