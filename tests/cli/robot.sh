#!/bin/bash
# Robots through the command: they run, converge and verify; the scene written from a robot gives the same bits; a resumed
# run has the same bits; bad words and files are refused.
#   robot.sh ABD SOURCE
. "$(dirname "$0")/expect.sh"
robots=$source/tests/robots
"$abd" check "$robots/arm.urdf" >out.txt 2>&1 || true
! grep -q 'needs expat' out.txt || { echo "skipped: a build without expat"; exit 77; }

expect 0 '5 joints' "$abd" check "$robots/arm.urdf"
expect 0 'converged +all steps' "$abd" run "$robots/arm.urdf" --hold -n 40 -o arm.abd --strict
expect 0 'no two surfaces cross' "$abd" verify arm.abd
mkdir deep
expect 0 'note: joint "grip" starts at' "$abd" scene --from "$robots/arm.urdf" --hold -o deep/arm.json
expect 0 '' "$abd" run deep/arm.json -n 40 -o json.abd
same arm.abd json.abd "a robot and the scene written from it"

expect 0 'converged +all steps' "$abd" run "$robots/walker.xml" --hold -n 40 -o walker.abd --strict
expect 0 'no two surfaces cross' "$abd" verify walker.abd
expect 0 '' "$abd" run "$robots/walker.xml" --hold -n 20 -o again.abd
expect 0 '' "$abd" run again.abd --resume -n 40
same walker.abd again.abd "a resumed robot"
expect 0 '' "$abd" run "$robots/walker.xml" --hold --keyframe bent -n 2 -o bent.abd
expect 0 'converged +all steps' "$abd" run "$robots/arm.urdf" --base free --hold -n 20 -o free.abd --strict
[ "$(sqlite3 free.abd "SELECT count(*) FROM body WHERE name = 'ground'")" -eq 1 ] || wrong "a free robot has no ground"

expect 2 'no keyframe "none"' "$abd" run "$robots/walker.xml" --keyframe none -o no.abd
expect 2 'collision or visual' "$abd" run "$robots/arm.urdf" --geometry all -o no.abd
expect 2 'fixed or free' "$abd" run "$robots/arm.urdf" --base loose -o no.abd
echo '<robot><link name="a"></robot>' >broken.urdf
expect 2 'broken.urdf:1:[0-9]+: mismatched tag' "$abd" run broken.urdf -o no.abd
expect 2 'broken.urdf:1:[0-9]+: mismatched tag' "$abd" scene --from broken.urdf
expect 2 'missing.urdf: No such file' "$abd" run missing.urdf -o no.abd
echo "robots: all good"
