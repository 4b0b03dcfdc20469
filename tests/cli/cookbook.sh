#!/bin/bash
# The cookbook: its scenes as they stand on docs/cookbook.md check clean, converge, cross nothing and do what the page says; its
# commands run.
#   cookbook.sh ABD SOURCE
. "$(dirname "$0")/expect.sh"
. "$source/tests/cli/page.sh"
obey_page "$source/docs/cookbook.md"
[ "$commands" -ge 15 ] || wrong "only $commands commands on the page"

for name in gears chain wall jack gripper canvas belt; do
  expect 0 'no problem' abd check "$name.json"
  expect 0 'no two surfaces cross' abd verify "$name.abd"
  [ "$(sqlite3 "$name.abd" 'SELECT min(converged) FROM report')" = 1 ] || wrong "$name: a step did not converge"
done

# near NAME VALUE EXPECTED TOLERANCE
near() {
  awk -v a="$2" -v b="$3" -v t="$4" 'BEGIN { exit !(a != "" && a - b <= t && b - a <= t) }' || wrong "$1: $2, expected $3 within $4"
}
# column of the last step, or of the step, of a joint or body
travel() { awk -F, -v name="$2" -v step="${3:-}" '$4 == name && (step == "" || $1 == step) { x = $7 } END { print x }' "$1"; }
near "the rack after 2 rad of the pinion" "$(travel gears.csv rail 100)" 0.2 0.01
near "the wheel" "$(travel gears.csv shaft 100)" "$(awk -v a="$(travel gears.csv 'motor shaft' 100)" 'BEGIN { print -a / 2 }')" 1e-5
near "the jack's plate, 3.5 turns of 20 mm" "$(travel jack.csv guide)" 0.07 0.001
near "its spindle, in turns" "$(awk -v a="$(travel jack.csv thread)" 'BEGIN { print a / 6.2832 }')" 3.5 0.05
abd export gripper.abd -o egg.csv --table poses --quiet
egg=$(awk -F, '$4 == "egg" { z = $7 } END { print z }' egg.csv)
near "the egg's height in the hand" "$egg" 0.37 0.01
abd export chain.abd -o weight.csv --table poses --quiet
near "how low the weight swings below the hook" "$(awk -F, '$4 == "weight" && $7 < low { low = $7 } END { print low }' weight.csv)" -0.87 0.02
near "the parcel's way at 1 s, on the belt from the start" \
  "$(awk -F, '$4 == "parcel" && $1 == 100 { print $5 }' belt.csv)" 0.132 0.02
near "the time of the hook's break" "$(sqlite3 belt.abd "SELECT step * 0.01 FROM event WHERE kind = 'joint broke'")" 0.67 0.015
[ "$(sqlite3 belt.abd "SELECT count(*) FROM event WHERE body_a = 3 AND body_b = 4")" = 2 ] || wrong "the gate did not report the parcel"
echo "good: $commands commands"
