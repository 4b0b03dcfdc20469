#!/bin/bash
# The gallery: every scene checks clean at its own size, and at a small one takes its first steps converged and crosses
# nothing; keys are refused with a sentence.
#   gallery.sh ABD SOURCE
. "$(dirname "$0")/expect.sh"

declare -A small=(
  [pendulum]="--count 3" [double-pendulum]="" [triple-pendulum]="" [four-bar]="" [slider-crank]="" [robot-arm]=""
  [chain]="--links 80" [gears]="--teeth-a 12 --teeth-b 16 --resolution 3" [gear-train]="--gears 4 --resolution 3"
  [octopus]="--arms 4 --segments 3 --resolution 8" [wrecking-ball]="--gap 0.2" [ball]="--stack light" [brick-wall]="--courses 3 --columns 3"
  [net]="--size 4 --ball 1.5" [cards]="--levels 2" [screw]="" [arch]="--stones 9" [spikes]="--bodies 4 --resolution 2"
  [pile]="--count 40" [belt]="--seconds 10" [soft-beam]="--count 2 --cells 1" [soft-twist]="--cells 2" [soft-ball]="--count 2 --cells 1"
  [soft-hand]="--cells 1" [soft-press]="--cells 1" [cloth-gears]="--cells 6" [hybrid]="--resolution 0.5 --helicopters 1"
)

expect 0 'pendulum  ' "$abd" scene
names=$(sed -nE 's/^  ([a-z-]+)  +.*/\1/p' out.txt)
[ "$(wc -w <<<"$names")" -eq "${#small[@]}" ] || wrong "$(wc -w <<<"$names") names listed, ${#small[@]} known here: $names"
for name in $names; do
  [ -n "${small[$name]+here}" ] || wrong "no small size of $name here"
  expect 0 'Usage: abd scene' "$abd" scene "$name" --help
  if [ "$name" != gear-train ]; then # which is checked with fewer triangles below
    expect 0 '' "$abd" scene "$name" -o "$name.json"
    expect 0 'no problem' "$abd" check "$name.json"
  fi
  read -ra keys <<<"${small[$name]}"
  "$abd" scene "$name" "${keys[@]}" >small.json
  expect 0 'converged +all steps' "$abd" run small.json -o "$name.abd" --steps 10 --every 5 --strict --force
  expect 0 'no two surfaces cross' "$abd" verify "$name.abd"
done

# as of robots, --quiet is accepted
"$abd" scene pendulum >plain.json
"$abd" scene pendulum -q >quiet.json && cmp plain.json quiet.json || wrong "-q changes the scene"

# what cannot be is refused
expect 2 "no scene 'octopuss'; did you mean 'octopus'" "$abd" scene octopuss
expect 2 "unknown option '--link'; did you mean '--links'" "$abd" scene chain --link 3
expect 2 "chain: --links: expected a whole number from 1 to 1000000, got '0'" "$abd" scene chain --links 0
expect 2 "ball: --stack: expected one of light, medium, full, got 'huge'" "$abd" scene ball --stack huge
expect 2 "the crank 2 cannot turn around" "$abd" scene four-bar --crank 2
expect 2 "length 2: expected 0 or at least 3" "$abd" scene net --length 2
expect 2 "unexpected 'more' after arch" "$abd" scene arch more
expect 2 "expected the name of a scene first" "$abd" scene -- arch
expect 4 "nowhere/arch.json: cannot write: No such file" "$abd" scene arch -o nowhere/arch.json

# how many there are of the well-known ones
count() {
  "$abd" scene "${@:2}" -o count.json
  expect 0 "$1 bodies" "$abd" check count.json
}
count 575 wrecking-ball
count 562 ball --stack full
count 673 net --size 16 --ball 6
count 105 net --size 5 --length 10
count 28 gear-train --resolution 2
count 27 hybrid --resolution 3
expect 0 'no problem' "$abd" check count.json
