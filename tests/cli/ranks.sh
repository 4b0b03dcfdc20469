#!/bin/bash
# One scene on several ranks of MPI has the bits of one process, for any number of ranks, if pairs are divided. If bodies are
# divided, it has the same bits run after run, also resumed, and agrees with one process to the tolerance of the solver. A rank that
# dies ends the others with a sentence, and the run is resumed on another number of ranks. Skipped without MPI.
#   ranks.sh ABD SOURCE
. "$(dirname "$0")/expect.sh"
command -v mpirun >out.txt || { echo "skipped: no mpirun (Debian: openmpi-bin)"; exit 77; }
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_btl_vader_single_copy_mechanism=none # containers forbid it, with warnings
mpirun -n 1 true >out.txt 2>&1 || { echo "skipped: mpirun does not start processes here"; exit 77; }
if mpirun -n 2 "$abd" run scene.json -o probe.abd --steps 1 >out.txt 2>&1; then :
elif grep -q 'this build has no MPI' out.txt; then
  [ "$(grep -c 'no MPI' out.txt)" -eq 1 ] || wrong "told more than once: $(cat out.txt)"
  echo "skipped: a build without MPI, see -DABD_MPI=ON"
  exit 77
else
  wrong "$(cat out.txt)"
fi

# ranks N SCENE STEPS: the same as one process
ranks() {
  local run=${2%.json}
  [ -e "$run.abd" ] || expect 0 '' "$abd" run "$2" -o "$run.abd" --steps "$3" --threads 1 --quiet
  expect 0 "cpu, $1 ranks" mpirun -n "$1" "$abd" run "$2" -o "$run-$1.abd" --steps "$3"
  same "$run.abd" "$run-$1.abd" "$2 on $1 ranks"
  diff <(sqlite3 "$run.abd" 'SELECT contacts, iterations, kinetic, friction, min_distance FROM report') \
       <(sqlite3 "$run-$1.abd" 'SELECT contacts, iterations, kinetic, friction, min_distance FROM report') || wrong "$2 on $1 ranks: other reports"
}

pile >pile.json
"$abd" scene net --size 4 -o net.json >out.txt
"$abd" scene octopus -o octopus.json >out.txt
"$abd" scene soft-ball -o soft.json >out.txt
"$abd" scene belt -o belt.json >out.txt
"$abd" scene ball -o ball.json >out.txt
ranks 2 scene.json 40
ranks 2 pile.json 14
ranks 3 pile.json 14
ranks 4 net.json 50
ranks 3 octopus.json 45
ranks 2 soft.json 4
ranks 2 belt.json 60
ranks 3 ball.json 4
expect 0 '' "$abd" verify pile-3.abd

# bodies N SCENE STEPS: bodies are divided; converged, verified, near the run by one process, the same bits twice
bodies() {
  local run=${2%.json} near
  expect 0 "cpu, $1 ranks by bodies" mpirun -n "$1" "$abd" run "$2" -o "$run-b$1.abd" --steps "$3" --set solver.ranks=bodies
  expect 0 '' "$abd" verify "$run-b$1.abd"
  near=$(sqlite3 "$run.abd" "ATTACH '$run-b$1.abd' AS b; SELECT count(*) = $3 AND min(b.report.converged) AND
    max(abs(a.kinetic - b.report.kinetic) / (1e-9 + a.kinetic)) < 1e-3 AND max(a.body_pairs != b.report.body_pairs) = 0
    FROM main.report a JOIN b.report USING (step) WHERE step <= $3")
  [ "$near" = 1 ] || wrong "$2: bodies divided among $1 ranks: far from one process"
}
bodies 2 net.json 25
bodies 3 net.json 25
bodies 4 net.json 25
bodies 3 pile.json 8
bodies 2 belt.json 20
mv net-b3.abd again.abd
bodies 3 net.json 25
same again.abd net-b3.abd "bodies divided among 3 ranks, twice"
expect 0 '' env ABD_RANKS_A_MACHINE=2 mpirun -n 4 "$abd" run net.json -o machines.abd --steps 25 --set solver.ranks=bodies --quiet
same net-b4.abd machines.abd "bodies divided among 4 ranks of 2 machines"
expect 0 '' mpirun -n 3 "$abd" run net.json -o again-r.abd --steps 13 --set solver.ranks=bodies --quiet
expect 0 '' mpirun -n 3 "$abd" run again-r.abd --resume --steps 25 --quiet
same net-b3.abd again-r.abd "bodies divided among 3 ranks, resumed"
expect 2 'has joints' mpirun -n 2 "$abd" run octopus.json -o no.abd --steps 1 --set solver.ranks=bodies

# a rank that dies: the others end within seconds, and the run goes on with any number of ranks
mpirun -n 3 "$abd" run pile.json -o killed.abd --steps 14 >killed.txt 2>&1 &
job=$!
for ((wait = 0; wait < 3000; wait++)); do
  [ ! -e killed.abd ] || [ "$(sqlite3 killed.abd 'SELECT count(*) > 4 FROM report' 2>out.txt || true)" != 1 ] || break
  sleep 0.02
done
rank=$(tr ' ' '\n' </proc/$job/task/$job/children | sed -n 2p)
begun=$SECONDS
kill -9 "$rank"
code=0 && wait $job || code=$?
[ $code -ne 0 ] && [ $((SECONDS - begun)) -le 10 ] || wrong "exit code $code after $((SECONDS - begun)) s"
grep -Eq 'signal 9|Go on with' killed.txt || wrong "no sentence: $(cat killed.txt)"
expect 0 '' mpirun -n 2 "$abd" run killed.abd --resume
same pile.abd killed.abd "killed with 3 ranks, resumed with 2"

# resumed with another number of ranks, bodies that came meanwhile included
expect 0 '' mpirun -n 2 "$abd" run belt.json -o parts.abd --steps 35 --quiet
expect 0 '' mpirun -n 3 "$abd" run parts.abd --resume --steps 50 --quiet
expect 0 '' "$abd" run parts.abd --resume --steps 60 --quiet
same belt.abd parts.abd "resumed on 3 ranks and on one"

# memory that is out on one rank, anywhere in a step
expect 0 'step 3, rank 2' mpirun -n 3 "$(dirname "$abd")/tests/ranks_memory"

# bad input is told once
expect 2 'contact.frictoin' mpirun -n 3 "$abd" run scene.json -o bad.abd --set contact.frictoin=1
[ "$(grep -c 'contact.frictoin' out.txt)" -eq 1 ] || wrong "told more than once: $(cat out.txt)"
expect 2 'exists: --resume' mpirun -n 2 "$abd" run scene.json -o scene.abd
# a time limit ends all ranks, and the run can be resumed
expect 130 'time limit of 1 s' mpirun -n 2 "$abd" run pile.json -o limit.abd --steps 100000 --time-limit 1
expect 0 '' mpirun -n 2 "$abd" run limit.abd --resume --quiet --steps "$(sqlite3 limit.abd 'SELECT max(step) + 1 FROM report')"
echo good
