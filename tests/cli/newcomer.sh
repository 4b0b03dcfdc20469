#!/bin/bash
# The newcomer's path: every command of docs/tutorial.md, in its order, with the scenes as they stand on the page, from two STL
# files to a page and a film in under ten commands; and what the page says about them.
#   newcomer.sh ABD SOURCE
. "$(dirname "$0")/expect.sh"
. "$source/tests/cli/page.sh"
cp "$source"/docs/tutorial/*.stl .
obey_page "$source/docs/tutorial.md"

[ "$commands" -ge 12 ] || wrong "only $commands commands on the page"
[ "$film_at" -lt 10 ] && [ "$film_at" -gt 0 ] || wrong "$film_at commands to the film, expected under ten"
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
expect 0 'every dynamic body is more than 1 m across, as if lengths were in millimetres; abd computes in metres' \
  abd check "$source/scenes/falling-box.json" --set gravity=[0,0,-9810]
expect 2 'mill.json: --scale is for mesh files given alone; in a scene a body has the key "scale"' \
  abd run mill.json -o scaled.abd --scale 0.001
echo "good: $commands commands, $film_at from the parts to the film, $skipped skipped"
