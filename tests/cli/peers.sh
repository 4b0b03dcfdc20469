#!/bin/bash
# Other engines on abd's scenes: their bodies fly, turn, fall and rest like abd's; overlaps known beforehand are found; the
# tables are made.
#   peers.sh ABD SOURCE
. "$(dirname "$0")/expect.sh"
peers=$(dirname "$abd")/abd-peers
[ -x "$peers" ] || { echo "skipped: built without Bullet, MuJoCo and ODE (libbullet-dev, libmujoco-dev, libode-dev)"; exit 77; }

# value KEY FILE; near WHAT VALUE EXPECTED TOLERANCE
value() { sed -n "s/^ *\"$1\": \(.*[^,]\),*$/\1/p" "$2" | head -n 1; }
near() {
  awk -v a="$2" -v b="$3" -v t="$4" 'BEGIN { exit !(a != "" && a - b <= t && b - a <= t) }' || wrong "$1: $2, expected $3 within $4"
}
step() { "$peers" run "$@" >out.json || wrong "exit code $?: abd-peers run $*"; }
engines=$("$peers" list | cut -d' ' -f1)
[ "$(head -n 1 <<<"$engines")" = abd ] || wrong "abd is not the first of: $engines"

# How deep: a corner goes 0.2 m into a wall; a rod's end to the middle of a ring's wire, 0.1 m thick, and out of it again.
cat >ghost.json <<'JSON'
{ "version": 1, "dt": 0.01, "bodies": [
    { "name": "wall", "shape": "box", "size": [1, 2, 2], "position": [0.6, 0, 0], "motion": "static" },
    { "name": "box", "shape": "box", "size": [0.6, 0.3, 0.4], "position": [-0.3, 0.1, 0.2], "velocity": [1, 0, 0] } ] }
JSON
sed 's/"shape": "box", "size": \[1, 2, 2\]/"shape": "torus", "radius": 0.4, "tube": 0.1, "segments": 64, "sides": 48/
     s/\[0.6, 0.3, 0.4\], "position": \[-0.3, 0.1, 0.2\]/[0.6, 0.002, 0.002], "position": [-0.3, 0, 0]/' ghost.json >ring.json
step ghost.json -e ghost -t 0.3 -o ghost.abd
near "depth of the corner" "$(value depth out.json)" 0.2 1e-6
[ "$(value pairs_most out.json)" = 1 ] || wrong "$(value pairs_most out.json) pairs"
near "crossing frames: from 0.1 s on" "$(value crossing_frames out.json)" 20 1
expect 1 "$(value crossing_frames out.json) crossings" "$abd" verify ghost.abd
step ring.json -e ghost -t 0.3
near "depth of the rod's end" "$(value depth out.json)" 0.1 0.003
near "when it was deepest" "$(value depth_time out.json)" 0.2 0.011
step ring.json -e ghost -t 0.05
[ "$(value crossing_frames out.json)" = 0 ] || wrong "a rod in front of a ring crosses it"

# One plank flies and turns, another comes to rest on its side, a ring lies down.
cat >fly.json <<'JSON'
{ "version": 1, "dt": 0.002, "contact": { "friction": 0.5, "range": 0.001 }, "bodies": [
    { "name": "ground", "shape": "ground" },
    { "name": "low", "shape": "box", "size": [0.5, 0.8, 0.2], "position": [0, 0, 0.3], "euler_degrees": [0, 90, 0] },
    { "name": "ring", "shape": "torus", "radius": 0.4, "tube": 0.1, "position": [5, 0, 0.4] },
    { "name": "high", "shape": "box", "size": [0.2, 0.6, 0.9], "position": [3, 0, 9], "euler_degrees": [0, 0, 30],
      "velocity": [0, 0, 1], "angular_velocity": [0, 0, 6.283185307] } ] }
JSON
for engine in $engines; do
  step fly.json -e "$engine" -t 0.8 --every 20 -o "fly-$engine.abd"
  near "$engine: turns" "$(value turns out.json)" 0.8 0.02
  "$abd" export "fly-$engine.abd" -o poses.csv --table poses --quiet
  height() { awk -F, -v name="$1" '$4 == name { z = $7 } END { print z }' poses.csv; }
  near "$engine: height of what flies" "$(height high)" "$(awk 'BEGIN { print 9 + 0.8 - 9.81 * 0.32 }')" 0.02
  near "$engine: height of what lies on its side" "$(height low)" 0.25 0.01
  near "$engine: height of the ring" "$(height ring)" 0.1 0.012
  "$abd" verify -q "fly-$engine.abd" >verdict.txt || true
  [ "$engine" != abd ] || [ ! -s verdict.txt ] || wrong "abd crosses: $(cat verdict.txt)"
done

# The table, where the ball hits: abd does not cross, the others do.
"$abd" scene ball --stack light -o ball.json
for engine in $engines; do
  step ball.json -e "$engine" -t 0.3 -s contact.friction=0.5 -o ball.abd
  frames=$(value crossing_frames out.json)
  [ "$engine" != abd ] || [ "$frames" = 0 ] || wrong "abd crosses in $frames frames"
  [ "$engine" = abd ] || [ "$frames" -gt 10 ] || wrong "$engine crosses in $frames frames of 30, expected more than 10"
  crossings=$(awk -v a="$(value pairs_mean out.json)" 'BEGIN { printf "%d", 30 * a + 0.5 }')
  if [ "$engine" != abd ]; then expect 1 " $crossings crossings" "$abd" verify ball.abd; fi
done
other=$(sed -n 2p <<<"$engines")
expect 0 '^\| ball-light \| 1/100 \| 16 \| 20 \|' "$peers" table --quick --only ball-light -e "$other" --note 'this machine' -o table
grep -q "this machine" table.md || wrong "no note in table.md"
[ "$(grep -c '"engine": "'"$other"'"' table.json)" = 2 ] || wrong "table.json has not two results of $other"

# What it refuses, and abd of what it wrote.
expect 2 'stepped by abd-peers' "$abd" run ball.abd --resume --steps 40
"$abd" scene pendulum -o pendulum.json
expect 2 'joints; the peers are given' "$peers" run pendulum.json -e "$other"
expect 2 'has no engine .chrono' "$peers" run ball.json -e chrono
expect 2 "whole number >= 1, got .0.5." "$peers" run ball.json --every 0.5
expect 2 'no scene begins with .moon' "$peers" table --only moon
"$abd" scene screw -o screw.json
if grep -q bullet-box <<<"$engines"; then expect 2 "'bolt' is concave" "$peers" run screw.json -e bullet-box; fi
echo "good: $(wc -l <<<"$engines") engines"
