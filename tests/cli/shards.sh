#!/bin/bash
# A run whose frames are in one file of each rank: every command reads it, it has the frames of a run in one file, and `abd merge`
# makes that one. Missing shards and shards of another run or rank are reported. After kill -9 the run goes on with another number of
# ranks. What needs MPI is skipped without it.
#   shards.sh ABD SOURCE
. "$(dirname "$0")/expect.sh"
frames() { sqlite3 "$1" 'SELECT step, time, hex(node), hex(velocity) FROM frame ORDER BY step'; }
# merged A B WHAT: the run A, which has shards, has the frames and hashes of B after it is merged
merged() {
  expect 0 'is one file' "$abd" merge "$1" -o merged.abd --force
  diff -q <(frames merged.abd) <(frames "$2") || wrong "$3: other frames"
  diff <(hashes merged.abd) <(hashes "$2") || wrong "$3: other hashes"
}

# one process, one shard; frames that are no multiple of every, bodies that come and go
"$abd" scene belt -o belt.json >out.txt
expect 0 '' "$abd" run belt.json -o whole.abd --steps 35 --every 4 --quiet
expect 0 '' "$abd" run belt.json -o belt.abd --steps 35 --every 4 --quiet --shards
[ -e belt.abd.0 ] && [ ! -e belt.abd.0-wal ] || wrong "files: $(ls belt.abd*)"
[ "$(sqlite3 belt.abd 'SELECT group_concat(step) FROM frame WHERE node IS NULL')" = 4,8,12,16,20,24,28,32,35 ] || wrong "frames in the run file"
merged belt.abd whole.abd "one shard"
[ "$(sqlite3 merged.abd 'PRAGMA user_version')" = 5 ] || wrong "format of a merged run"
expect 0 '10 frames' "$abd" info belt.abd
expect 0 'no two surfaces' "$abd" verify belt.abd
expect 0 '' "$abd" export belt.abd -o belt.png
expect 2 'the frames of one rank of a run; name the run' "$abd" info belt.abd.0
expect 2 'has no shards' "$abd" merge whole.abd -o no.abd
[ ! -e no.abd ] || wrong "a file of a failed merge"
expect 2 'exists; --force' "$abd" merge belt.abd -o whole.abd

# resumed as a run with shards; in the middle of a run without
expect 0 '' "$abd" run scene.json -o straight.abd --quiet --steps 20
expect 0 '' "$abd" run scene.json -o parts.abd --quiet --steps 8
expect 0 '' "$abd" run parts.abd --resume --quiet --steps 13 --shards
expect 0 '' "$abd" run parts.abd --resume --quiet --steps 20
[ "$(sqlite3 parts.abd 'SELECT group_concat(first) FROM shard')" = 9,14 ] || wrong "which steps are in shards"
merged parts.abd straight.abd "resumed"

# faults
cp parts.abd copy.abd
expect 2 'copy.abd.0 is missing: the frames of rank 0' "$abd" info copy.abd
expect 2 'copy.abd.0 is missing' "$abd" run copy.abd --resume
cp belt.abd.0 copy.abd.0
expect 2 'another run or rank' "$abd" verify copy.abd
cp parts.abd.0 copy.abd.0
sqlite3 copy.abd.0 'DELETE FROM part WHERE step = 12'
expect 2 'copy.abd.0: there is no frame of step 12' "$abd" verify copy.abd
sqlite3 copy.abd.0 "UPDATE part SET node = x'0011' WHERE step = 15"
expect 2 'step 15: 0 numbers of poses' "$abd" verify copy.abd --frame 15
cp parts.abd.0 copy.abd.0
sqlite3 copy.abd.0 'DELETE FROM part WHERE step > 17' # a power cut
expect 0 '18 frames' "$abd" info copy.abd
expect 0 'ends before' "$abd" merge copy.abd -o cut.abd
expect 0 '3 frames up to step 20' "$abd" run copy.abd --resume --steps 22 --quiet
expect 0 '20 frames' "$abd" verify copy.abd
echo mine >mine.abd.0
expect 2 'mine.abd.0' "$abd" run scene.json -o mine.abd --steps 1 --quiet --shards
[ "$(cat mine.abd.0)" = mine ] || wrong "a file that is no shard was replaced"
# a new run removes the shards of the one that it replaces; merging in place too
expect 0 'parts.abd is one file' "$abd" merge parts.abd
[ ! -e parts.abd.0 ] || wrong "shards are left"
expect 0 '' "$abd" run belt.json -o belt.abd --steps 2 --quiet --force
[ ! -e belt.abd.0 ] || wrong "shards of a replaced run are left"

# ---- several ranks ----
command -v mpirun >out.txt || { echo "skipped: no mpirun (Debian: openmpi-bin)"; exit 0; }
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_btl_vader_single_copy_mechanism=none # containers forbid it, with warnings
mpirun -n 2 "$abd" run scene.json -o probe.abd --steps 1 >out.txt 2>&1 || { echo "skipped: several ranks: a build without MPI"; exit 0; }

# bodies are divided, and move from rank to rank
"$abd" scene net --size 4 -o net.json >out.txt
expect 0 '' mpirun -n 3 "$abd" run net.json -o net.abd --steps 25 --set solver.ranks=bodies --quiet
expect 0 '' mpirun -n 3 "$abd" run net.json -o net-s.abd --steps 25 --set solver.ranks=bodies --quiet --shards
[ ! -e net-s.abd.2-wal ] && [ "$(cat net-s.abd.[012] | wc -c)" -gt 0 ] || wrong "files: $(ls net-s.abd*)"
merged net-s.abd net.abd "bodies divided among 3 ranks"
cp net-s.abd.1 kept && cp net-s.abd.2 net-s.abd.1
expect 2 'another run or rank' "$abd" info net-s.abd
mv kept net-s.abd.1
# pairs are divided; kill -9, then another number of ranks
pile >pile.json
expect 0 '' "$abd" run pile.json -o pile.abd --steps 14 --threads 1 --quiet
mpirun -n 3 "$abd" run pile.json -o killed.abd --steps 14 --shards >killed.txt 2>&1 &
job=$!
for ((wait = 0; wait < 3000; wait++)); do
  [ ! -e killed.abd.2 ] || [ "$(sqlite3 killed.abd.2 'SELECT count(*) > 4 FROM part' 2>out.txt || true)" != 1 ] || break
  sleep 0.02
done
kill -9 "$(tr ' ' '\n' </proc/$job/task/$job/children | sed -n 2p)"
code=0 && wait $job || code=$?
[ $code -ne 0 ] || wrong "the others went on"
expect 0 'no two surfaces' "$abd" verify killed.abd
cp killed.abd early.abd && for k in 0 1 2; do cp "killed.abd.$k" "early.abd.$k"; done
for log in killed.abd*-wal; do [ ! -e "$log" ] || cp "$log" "early${log#killed}"; done
expect 0 '' "$abd" merge early.abd
last=$(sqlite3 early.abd 'SELECT max(step) FROM frame')
diff -q <(frames early.abd) <(frames pile.abd | head -n $((last + 1))) || wrong "killed and merged: other frames"
expect 0 '' "$abd" run early.abd --resume --quiet # the merged run has a state to go on from
diff -q <(frames early.abd) <(frames pile.abd) || wrong "killed, merged and resumed: other frames"
expect 0 '' mpirun -n 2 "$abd" run killed.abd --resume --quiet
merged killed.abd pile.abd "killed with 3 ranks, resumed with 2"
# a rank that cannot write says so, and the run goes on later
mkdir full.abd.1
expect 2 'rank 1 of 2: abd run: full.abd.1' mpirun -n 2 "$abd" run scene.json -o full.abd --steps 5 --shards
rmdir full.abd.1
expect 0 '' mpirun -n 2 "$abd" run full.abd --resume --quiet
echo good
