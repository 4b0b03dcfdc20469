#!/bin/bash
# The newcomer's path: every command of docs/tutorial.md, in its order, with the scenes as they stand on the page, from two STL
# files to a page and a film in under ten commands. A comment "exit code N" beside a command is what it must exit with.
# What needs ffmpeg or the viewer says "skipped" where they are missing.
#   newcomer.sh ABD SOURCE
. "$(dirname "$0")/expect.sh"
cp "$source"/docs/tutorial/*.stl .
mkdir bin
ln -s "$abd" bin/abd
export PATH=$scratch/bin:$PATH OMP_WAIT_POLICY=passive

commands=0 skipped=0 path_length=0

# look COMMAND...: serves the page until it has been fetched.
look() {
  "$@" --port 0 >address.txt 2>look.txt &
  local process=$! address=
  for _ in $(seq 100); do
    address=$(head -n 1 address.txt)
    [ -z "$address" ] && kill -0 $process 2>/dev/null || break
    sleep 0.1
  done
  [ -n "$address" ] || { cat look.txt; return 1; }
  python3 -c 'import sys, urllib.request as u; assert b"<html" in u.urlopen(sys.argv[1]).read()' "$address"
  kill -INT $process
  wait $process
}

# obey LINE: one line of the page.
obey() {
  local line=$1 code=0 got=0 words
  [[ $line =~ 'exit code '([0-9]+) ]] && code=${BASH_REMATCH[1]}
  read -ra words <<<"${line%%#*}"
  [ "${words[0]}" = abd ] || return 0
  commands=$((commands + 1))
  echo "== ${words[*]}"
  if [[ $line = *.mp4* ]]; then
    path_length=$commands
    words+=(--fps 5 --size 160x100) # the last of two wins; a small film
  fi
  [ "${words[1]}" != view ] || words=(look "${words[@]}")
  "${words[@]}" >out.txt 2>&1 || got=$?
  if [ "$got" -ne 0 ] && grep -E 'needs the program ffmpeg|built without' out.txt; then
    echo "skipped"
    skipped=$((skipped + 1))
  elif [ "$got" -ne "$code" ]; then
    cat out.txt
    wrong "exit code $got instead of $code: $line"
  fi
}

in=text
while IFS= read -r line; do
  case $in:$line in
    text:'```json') in=json; : >mill.json ;;
    text:'```sh') in=sh ;;
    text:'```') in=other ;;
    *:'```') in=text ;;
    json:*) printf '%s\n' "$line" >>mill.json ;;
    sh:*) obey "$line" </dev/null ;;
  esac
done <"$source/docs/tutorial.md"

[ "$commands" -ge 12 ] || wrong "only $commands commands on the page"
[ "$path_length" -lt 10 ] && [ "$path_length" -gt 0 ] || wrong "$path_length commands to the film, expected under ten"
diff mill.json "$source/docs/tutorial/mill.json" || wrong "the page's scene is not docs/tutorial/mill.json"
[ -s drop.png ] && [ -s hit.png ] && [ -s mill.glb ] && [ -s motor.csv ] || wrong "missing: $(ls)"
[ "$skipped" -gt 0 ] || { [ -s mill.html ] && [ -s mill.mp4 ]; } || wrong "no page or no film: $(ls)"

# the page's promises: nothing crosses, every step converges, the motor brings the wheel to its speed
expect 0 'no two surfaces cross' abd verify mill.abd
[ "$(sqlite3 mill.abd 'SELECT min(converged) FROM report')" = 1 ] || wrong "a step did not converge"
rate=$(sqlite3 mill.abd 'SELECT rate FROM joint ORDER BY step DESC LIMIT 1')
awk -v rate="$rate" 'BEGIN { exit !(rate > 6.2 && rate < 6.4) }' || wrong "the wheel turns at $rate, expected 6.28"

# and the advice about units
expect 0 'note: the largest part is [0-9.]+ m across: if its file is in millimetres, add --scale 0.001' \
  abd run bracket.stl wheel.stl -o large.abd --steps 1
expect 0 '' abd run bracket.stl wheel.stl -o small.abd --steps 1 --scale 0.001
! grep -q 'across' out.txt || wrong "units asked for although given: $(cat out.txt)"
expect 2 'mill.json: --scale is for mesh files given alone; in a scene a body has the key "scale"' \
  abd run mill.json -o scaled.abd --scale 0.001
echo "good: $commands commands, $path_length from the parts to the film, $skipped skipped"
