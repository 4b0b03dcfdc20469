#!/bin/bash
# view without a browser: usage, the address, a live scene that is steered and ended. Without the viewer in the program only
# its sentence is looked at.
#   view.sh ABD SOURCE
. "$(dirname "$0")/expect.sh"
"$abd" run scene.json -o a.abd --quiet
if [[ $("$abd" view none.abd 2>&1 || true) == *'built without'* ]]; then
  expect 2 'built without' "$abd" view scene.json
  expect 4 'built without the viewer' "$abd" export a.abd -o a.html
  echo "skipped: this build has no viewer"
  exit 0
fi
expect 2 'expected a run' "$abd" view
expect 2 'expected 0 to 65535, got 70000' "$abd" view a.abd --port 70000
expect 2 'No such file' "$abd" view none.abd
expect 2 'abd view: .*unknown key' "$abd" view scene.json --set no.such=1
expect 2 'are for scenes' "$abd" view a.abd -o b.abd
expect 2 'expected an address in numbers' "$abd" view a.abd --bind example.org
expect 2 "no body 'nobody'" "$abd" view a.abd --body nobody
expect 2 "no body 'hihg'; did you mean 'high'" "$abd" view a.abd --body hihg

export TMPDIR=$scratch/tmp
mkdir "$TMPDIR"
# begin ARGUMENTS...: starts it and waits for its address; sets server, port.
begin() {
  : >address.txt
  "$abd" view "$@" --port 0 >address.txt 2>err.txt &
  server=$!
  for _ in $(seq 100); do [ -s address.txt ] && break; sleep 0.1; done
  grep -Eq '^http://127\.0\.0\.1:[0-9]+/' address.txt || { cat err.txt; wrong "address: $(cat address.txt)"; }
  port=$(sed -E 's/.*:([0-9]+).*/\1/' address.txt)
}
# ask REQUEST-LINE [BODY]: prints the answer.
ask() {
  exec 9<>"/dev/tcp/127.0.0.1/$port"
  printf '%s HTTP/1.1\r\nHost: localhost:%s\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s' \
         "$1" "$port" "${#2}" "${2:-}" >&9
  tr -d '\0' <&9
  exec 9>&-
}
# until WORDS: waits until the status says so.
until_status() {
  for _ in $(seq 100); do ask 'GET /api/status' '' | grep -Eq "$1" && return; sleep 0.1; done
  wrong "the status never said '$1': $(ask 'GET /api/status' '' | tail -1)"
}
end() {
  local code=0
  kill -INT "$server"
  wait "$server" || code=$?
  [ "$code" -eq 0 ] || { cat err.txt; wrong "exit code $code at its end"; }
}

begin a.abd --frame 7 --body high
grep -q '/#step=7&body=3$' address.txt || wrong "link: $(cat address.txt)"
ask 'GET /api/status' '' | grep -q '"frames": 41' || wrong "status of a run"
ask 'POST /api/control' '{"do": "pause"}' | grep -q '^HTTP/1.1 405' || wrong "a run cannot be steered"
end

# a start that crosses is shown, with the place in the link, and leaves nothing behind
sed 's/0.25\]/0.19]/' scene.json >cross.json
begin cross.json
grep -q '/#at=' address.txt && grep -q 'touch or cross' err.txt || wrong "a start that crosses: $(cat address.txt err.txt)"
ask 'GET /api/status' '' | grep -q '"frames": 1' || wrong "status of a start"
kill -INT "$server"
code=0
wait "$server" || code=$?
[ "$code" -eq 2 ] || wrong "exit code $code of a start that crosses"
expect 2 'expected X,Y,Z,RADIUS' "$abd" view a.abd --look-at 1,2,3

begin scene.json --paused
until_status '"paused": true'
ask 'POST /api/control' '{"do": "step"}' | grep -q '^HTTP/1.1 200' || wrong "a step"
until_status '"last_step": 1[,}]'
ask 'POST /api/control' '{"do": "play"}' >play.txt
until_status '"last_step": [1-9][0-9]'
ask 'POST /api/control' '{"do": "fly"}' | grep -q '^HTTP/1.1 400' || wrong "a command that is none"
deep=$(printf '[%.0s' $(seq 3000))
for bad in '' '{' 'null' '[]' "$deep" '{"do": 3}' '{"do": "drag"}' '{"do": "drag", "body": 0, "point": [0, 0, 0], "target": [0, 0, 0]}' \
           '{"do": "drag", "body": 5, "point": [0, 0, 0], "target": [0, 0, 0]}' '{"do": "drag", "body": 1e99, "point": [0, 0, 0], "target": [0, 0, 0]}' \
           '{"do": "drag", "body": 2, "point": [0, 0], "target": [0, 0, 0]}' '{"do": "drag", "body": 2, "point": [0, 0, 1e999], "target": [0, 0, 0]}' \
           '{"do": "speed", "value": 0}' '{"do": "speed", "value": 1e300}' '{"do": "play", "do": "reset"}'; do
  ask 'POST /api/control' "$bad" | grep -q '^HTTP/1.1 400' || wrong "a command that is none: $bad"
done
# pulled beyond all measure it still goes on, or stops with a sentence
ask 'POST /api/control' '{"do": "drag", "body": 3, "point": [0, 0, 0], "target": [1e200, 0, 0]}' >pull.txt
until_status '"error": "a value that is not finite|"last_step": [1-9][0-9][0-9]'
ask 'POST /api/control' '{"do": "release"}' >release.txt
ask 'POST /api/control' '{"do": "pause"}' >pause.txt
ask 'POST /api/control' '{"do": "reset"}' >reset.txt
until_status '"last_step": 0.*"epoch": 1.*"paused": true'
end
[ -z "$(ls "$TMPDIR")" ] || wrong "left behind: $(ls "$TMPDIR")"

# a soft body is pulled by what is around a point of it
cat >soft.json <<'JSON'
{ "version": 1, "dt": 0.01, "bodies": [{ "shape": "ground" }, { "name": "jelly", "shape": "box", "size": [0.4, 0.4, 0.4], "cells": 2,
  "position": [0, 0, 0.25], "soft": { "young": 1e5 } }] }
JSON
begin soft.json -o soft.abd
ask 'POST /api/control' '{"do": "drag", "body": 2, "point": [0, 0, 0.2], "target": [0, 0, 1.5]}' | grep -q '^HTTP/1.1 200' || wrong "a drag"
until_status '"last_step": [1-9][0-9][0-9]'
end
expect 0 '' "$abd" export soft.abd -o soft.csv --table vertices --frame 90
awk -F, 'NR == 1 { for (k = 1; k <= NF; k++) if ($k == "z") z = k } NR > 1 { sum += $z; if ($z < least || NR == 2) least = $z }
         END { mean = sum / (NR - 1); print mean, least; exit !(mean > 0.6 && mean < 1.6 && least > 0.2) }' soft.csv >height.txt ||
  wrong "mean and least height of what was pulled up to 1.5 m: $(cat height.txt)"

# what is kept is a run as any other, and the same bits as one that was not looked at
begin scene.json -o kept.abd
until_status '"last_step": [4-9][0-9]'
end
expect 0 'no two surfaces cross' "$abd" verify kept.abd
diff <(hashes a.abd) <(hashes kept.abd | head -40) || wrong "looking at it changed it"

expect 0 '' "$abd" export a.abd -o a.html --quiet
grep -q 'id="abd-frames"' a.html || wrong "no frames in a.html"
