#!/bin/bash
# The conveyor belt of the gallery: memory stays flat while boxes come and go, and a run that was killed goes on with the
# same bits.
#   belt.sh ABD
. "$(dirname "$0")/expect.sh"

# peak SECONDS: runs so many seconds of the belt and prints the most memory [kB]; 0 if /proc does not tell.
peak() {
  "$abd" scene belt --seconds "$1" --every 0.5 --stay 6 -o "belt$1.json"
  "$abd" run "belt$1.json" -o "belt$1.abd" -q --force --every 10 &
  local pid=$! most=0 now
  while now=$(sed -nE 's/^VmHWM:[^0-9]*([0-9]+).*/\1/p' "/proc/$pid/status" 2>/dev/null) && [ -n "$now" ]; do
    most=$now
    sleep 0.02
  done
  wait "$pid"
  echo "$most"
}
short=$(peak 10) long=$(peak 30)
[ "$short" -eq 0 ] || [ "$long" -lt $((short + 2000)) ] || wrong "10 s of the belt take $short kB, 30 s take $long kB"
expect 0 'no two surfaces cross' "$abd" verify belt30.abd
"$abd" export belt30.abd -o events.csv --table events -q
[ "$(grep -c 'body added' events.csv)" = 59 ] || wrong "$(grep -c 'body added' events.csv) boxes came"
[ "$(grep -c 'body removed' events.csv)" = 48 ] || wrong "$(grep -c 'body removed' events.csv) boxes went"

# Killed and resumed.
"$abd" export belt10.abd -o whole.csv -q
"$abd" run belt10.json -o killed.abd -q --every 10 & pid=$!
sleep 0.7
kill -9 "$pid" 2>/dev/null || true
wait "$pid" 2>/dev/null || true
expect 0 '' "$abd" run belt10.json -o killed.abd --resume -q --every 10
"$abd" export killed.abd -o killed.csv -q
cmp whole.csv killed.csv || wrong "killed and resumed, the belt differs"
