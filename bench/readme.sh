#!/usr/bin/env bash
# Measures every figure that the README quotes and prints the part of it that holds them; with -w it is written there.
#
#   bench/readme.sh SCENES_FOLDER [-w] [-a] [-p] [-o RESULTS_FOLDER]
#
# SCENES_FOLDER: rigid-IPC's scenes. -a: also runs all of them to their end and verifies every frame (bench/rigid_ipc.sh, hours of
# one core; as many at a time as there are processors); otherwise that sentence stays unchanged. Without -a: minutes.
# -p: also steps the scenes with other engines (bench/peers/run, a quarter of an hour and more) and prints the tables from which
# the README's second one is taken. Existing results in RESULTS_FOLDER are reused.
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
abd=${ABD:-$here/build/abd}
write='' all='' peers='' out=''
folder=$(realpath "${1:?usage: bench/readme.sh SCENES_FOLDER [-w] [-a] [-p] [-o RESULTS_FOLDER]}")
shift
while getopts wapo: flag; do
  case $flag in w) write=yes ;; a) all=yes ;; p) peers=yes ;; o) out=$OPTARG ;; *) exit 2 ;; esac
done
made=''
[ -n "$out" ] || { out=$(mktemp -d); made=$out; }
mkdir -p "$out"

field() { sed -nE "s/^ *\"$1\": \"?([^\"]*[^\",])\"?,?\$/\1/p" "$2"; }
round() { awk -v value="$1" 'BEGIN { if (value >= 999.5) printf "%.0f", value; else printf "%.3g", value }'; }

# The first lines: all scenes run and verified.
scenes() {
  if [ -z "$all" ]; then
    sed -n '/<!-- figures: begin/,/<!-- figures: end/p' "$here/README.md" | sed '1d;/^$/,$d'
    return
  fi
  ABD=$abd "$here/bench/rigid_ipc.sh" "$folder" -j "$(nproc)" >"$out/scenes.md"
  echo "$(tail -n 1 "$out/scenes.md" | sed 's/:.*//') made for rigid-IPC run to their end, or as far as 300 s reach: no frame crosses, and every"
  echo "step of all of them converges ([the table](docs/rigid-ipc.md), \`bench/rigid_ipc.sh\` makes it)."
}

# measure RESULT OPERANDS...
measure() {
  [ -s "$out/$1.json" ] || "$abd" bench "${@:2}" --json "$out/$1.json" >"$out/$1.txt"
}
measure readme readme --fixtures "$folder"
"$abd" bench readme --with "$out/readme.json" --markdown "$out/readme.md" >/dev/null
threads='' times=''
for n in 1 2 4 8 16; do
  if [ "$(nproc)" -lt 4 ] || [ "$n" -gt "$(nproc)" ]; then continue; fi # two processors are too few to show scaling
  measure "threads-$n" net:size=16 --steps 60 --threads "$n" --quiet
  threads+=${threads:+, }$n times+=${times:+, }$(round "$(field wall_ms "$out/threads-$n.json")")
done
measure chain chain:links=1000 --steps 20 --quiet

block() {
  echo "<!-- figures: begin (bench/readme.sh measures and writes them) -->"
  scenes
  echo
  echo "Milliseconds of CPU per step at dt = 1/100, one thread:"
  echo
  sed -n '/^|/p' "$out/readme.md"
  echo
  {
    echo "abd on an $(field processor "$out/readme.json" | sed 's/([^)]*)//g'); rigid-IPC and Autodesk's ABD on one thread of an Arm Neoverse-V1;"
    echo "the paper's figures are its own, on an i9-11900K: read orders of magnitude, not digits. The net of 27,645 rings, 12 million"
    echo "triangles, of whose first 40 steps the first 15 are a free fall, takes $(awk -v bytes="$(field peak_bytes "$out/readme.json" | tail -n 1)" 'BEGIN { printf "%.0f", bytes / 1e6 }') MB."
    [ -z "$threads" ] || echo "With $threads threads a net of 16x16 takes $times ms per step over its first 60, with the same bits."
    echo "A chain of 1000 hinged links that falls onto posts keeps its hinges closed to $(round "$(field joint_gap "$out/chain.json")") m,"
    echo "at $(round "$(field user_ms "$out/chain.json")") ms per step over its first 20."
  } | tr '\n' ' ' | fold -s -w 128 | sed 's/ *$//'
  echo
  echo "\`bench/readme.sh\` measures all of this again; [benchmarks](docs/benchmarks.md) has more."
  echo "<!-- figures: end -->"
}
block >"$out/block.md"
cat "$out/block.md"
if [ -n "$write" ]; then
  awk -v block="$out/block.md" '/<!-- figures: begin/ { while ((getline line < block) > 0) print line; skip = 1 }
    !skip { print } /<!-- figures: end/ { skip = 0 }' "$here/README.md" >"$out/README.md"
  cp "$out/README.md" "$here/README.md"
fi
[ -z "$peers" ] || "$here/bench/peers/run"
[ -z "$made" ] || rm -rf "$made"
