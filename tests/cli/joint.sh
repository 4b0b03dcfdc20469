#!/bin/bash
# Joints through the command: a mechanism runs, its readings lie beside every frame, a resumed run has the same bits, and
# check and info speak of joints.
#   joint.sh ABD SOURCE
. "$(dirname "$0")/expect.sh"

# A crank with a motor, a rod, a piston on a rail: one closed loop.
cat >crank.json <<'JSON'
{ "version": 1, "dt": 0.01, "steps": 30,
  "bodies": [
    { "name": "crank", "shape": "box", "size": [0.4, 0.05, 0.1], "position": [0.2, 0, 0] },
    { "name": "rod", "shape": "box", "size": [1, 0.05, 0.1], "position": [0.9, 0, 0] },
    { "name": "piston", "shape": "box", "size": [0.2, 0.2, 0.2], "position": [1.4, 0, 0] }
  ],
  "joints": [
    { "name": "shaft", "type": "hinge", "bodies": ["crank"], "point": [0, 0, 0], "axis": [0, 1, 0] },
    { "name": "crank pin", "type": "hinge", "bodies": ["crank", "rod"], "point": [0.4, 0, 0], "axis": [0, 1, 0] },
    { "name": "piston pin", "type": "hinge", "bodies": ["rod", "piston"], "point": [1.4, 0, 0], "axis": [0, 1, 0] },
    { "name": "rail", "type": "slider", "bodies": ["piston"], "point": [1.4, 0, 0], "axis": [1, 0, 0], "limits": [-0.9, 0.1] }
  ],
  "drives": [ { "joint": "shaft", "type": "speed", "value": [[0, 0], [0.2, 6]], "max": 5000 } ] }
JSON
readings() { sqlite3 "$1" "SELECT * FROM joint ORDER BY step, joint"; }

expect 0 'crank.json: 4 joints' "$abd" check crank.json
expect 0 "joint '[^']+': [0-9]+ of its linear equations follow" "$abd" check crank.json
expect 0 'joints +4, largest gap [0-9.e+-]+ m, step [0-9]+: ' "$abd" run crank.json -o a.abd --strict
expect 0 '"joints": 4' "$abd" info a.abd --json
expect 0 '"joint_residual_max": [0-9]' "$abd" info a.abd --json
[ "$(sqlite3 a.abd 'SELECT group_concat(name || " " || kind, ", ") FROM joint_def')" = \
  "shaft hinge, crank pin hinge, piston pin hinge, rail slider" ] || wrong "names: $(sqlite3 a.abd 'SELECT * FROM joint_def')"
[ "$(sqlite3 a.abd 'SELECT count(*) FROM joint')" -eq $((31 * 4)) ] || wrong "rows of joints: $(sqlite3 a.abd 'SELECT count(*) FROM joint')"
# the motor reaches its speed, 6 rad/s after a ramp of 0.2 s
sqlite3 a.abd "SELECT abs(rate - 6) < 0.02 AND abs(position - 1.21) < 0.03 FROM joint WHERE step = 30 AND joint = 1" |
  grep -q '^1' || wrong "the shaft: $(sqlite3 a.abd 'SELECT rate, position FROM joint WHERE step = 30 AND joint = 1')"
# the piston is where the crank puts it: travel = r cos + sqrt(l^2 - r^2 sin^2) - r - l
sqlite3 a.abd "SELECT abs(p.position - (0.4 * cos(s.position) + sqrt(1 - 0.16 * sin(s.position) * sin(s.position)) - 1.4)) < 1e-6
               FROM joint p JOIN joint s ON s.step = p.step AND s.joint = 1 WHERE p.joint = 4 AND p.step = 30" |
  grep -q '^1' || wrong "the piston: $(sqlite3 a.abd 'SELECT joint, position FROM joint WHERE step = 30')"
[ "$(sqlite3 a.abd 'SELECT max(residual) < 1e-9 FROM joint')" = 1 ] || wrong "gap $(sqlite3 a.abd 'SELECT max(residual) FROM joint')"

# resumed with the keys of the drive in the file alone; every fifth frame has its readings
expect 0 '' "$abd" run crank.json -o b.abd --steps 13 --quiet
expect 0 '' "$abd" run b.abd --resume --steps 30 --quiet
same a.abd b.abd "resumed mechanism"
diff <(readings a.abd) <(readings b.abd) || wrong "resumed, other readings"
expect 0 '' "$abd" run crank.json -o c.abd --every 5 --threads 2 --quiet
diff <(hashes a.abd) <(hashes c.abd) || wrong "two threads, other bits"
[ "$(sqlite3 c.abd 'SELECT count(*) FROM joint WHERE step NOT IN (SELECT step FROM frame)')" = 0 ] || wrong "readings without a frame"
[ "$(sqlite3 c.abd 'SELECT count(*) FROM joint')" -eq $((7 * 4)) ] || wrong "readings every fifth step"
expect 0 'no two surfaces cross' "$abd" verify a.abd

# what cannot be is named
sed 's/\["rod", "piston"\]/["rod", "pistn"]/' crank.json >bad.json
expect 2 'bad.json:[0-9]+:[0-9]+: joints\[2\].bodies\[1\]: no body is called "pistn"; did you mean "piston"' "$abd" check bad.json
expect 2 'no body is called "pistn"' "$abd" run bad.json -o bad.abd
sed 's/"axis": \[1, 0, 0\]/"axis": [0, 0, 0]/' crank.json >bad.json
expect 2 'joints\[3\].axis: expected an axis that is not 0' "$abd" check bad.json
sed 's/-0.9, 0.1/0.05, 0.1/' crank.json >bad.json
expect 2 'the limits 0.05 to 0.1 exclude the start' "$abd" check bad.json
sed 's/"point": \[0.4, 0, 0\]/"point": [0.4, 0, 0], "point_b": [0.41, 0, 0]/' crank.json >bad.json
expect 2 'the anchors are 0.01 m apart' "$abd" check bad.json
# gears in a ring whose ratios do not fit
cat >ring.json <<'JSON'
{ "version": 1, "bodies": [ { "name": "w", "shape": "cylinder", "copies": { "count": 3, "offset": [2, 0, 0] } } ],
  "joints": [
    { "name": "a", "type": "hinge", "bodies": ["w-1"], "point": [0, 0, 0], "axis": [0, 0, 1] },
    { "name": "b", "type": "hinge", "bodies": ["w-2"], "point": [2, 0, 0], "axis": [0, 0, 1] },
    { "name": "c", "type": "hinge", "bodies": ["w-3"], "point": [4, 0, 0], "axis": [0, 0, 1] },
    { "type": "gear", "joints": ["a", "b"], "ratio": -1 },
    { "type": "gear", "joints": ["b", "c"], "ratio": -1 },
    { "name": "last", "type": "gear", "joints": ["c", "a"], "ratio": -1 } ] }
JSON
expect 1 "gear 'last' closes a loop that cannot turn: through the other gears 'a' moves 1 times as far as 'c', through this one -1 times" "$abd" check ring.json
sed '/"last"/s/-1/1/' ring.json >fits.json
expect 0 "gear 'last' follows from others" "$abd" check fits.json
echo good
