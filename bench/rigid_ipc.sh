#!/usr/bin/env bash
# Runs every scene of a folder of rigid-IPC scenes, proves every frame free of crossings, and prints a Markdown table.
#
#   bench/rigid_ipc.sh SCENES_FOLDER [-j JOBS] [-l SECONDS] [-o RUNS_FOLDER]
#
# Each scene runs its full time if that takes under SECONDS (300), otherwise for SECONDS, but at least 100
# steps. Threads: 1 each.
# Exits with 1 if a step did not converge or a frame crosses.
set -u
here=$(cd "$(dirname "$0")/.." && pwd)
abd=${ABD:-$here/build/abd}
jobs=1 limit=300 out=
usage="usage: bench/rigid_ipc.sh SCENES_FOLDER [-j JOBS] [-l SECONDS] [-o RUNS_FOLDER]"
folder=${1:-}
[ -d "$folder" ] || { echo "$usage" >&2; exit 2; }
shift
while getopts j:l:o: flag; do
  case $flag in j) jobs=$OPTARG ;; l) limit=$OPTARG ;; o) out=$OPTARG ;; *) exit 2 ;; esac
done
made=
[ -n "$out" ] || { out=$(mktemp -d); made=$out; }
mkdir -p "$out"

field() { sed -n "s/^ *\"$1\": \(.*[^,]\),*$/\1/p" "$2" | head -n 1; }

# One scene: a row, or a line with the error.
one() {
  local scene=$1 name run info
  name=${scene#"$folder"/}
  name=${name%.json}
  run=$out/$(printf '%s' "$name" | tr '/ ' '__').abd
  info=$run.json
  rm -f "$run" "$run"-* "$info"
  timeout -s INT "$limit" "$abd" run "$scene" -o "$run" --threads 1 --quiet >"$run.log" 2>&1
  case $? in 0 | 124 | 130) ;; *) echo "| $name | failed: $(tail -n 1 "$run.log") |"; return ;; esac
  "$abd" info "$run" --json >"$info"
  if [ "$(field steps "$info")" -lt 100 ] && [ "$(field steps "$info")" -lt "$(field planned_steps "$info")" ]; then
    "$abd" run "$run" --resume --steps 100 --threads 1 --quiet >>"$run.log" 2>&1
    "$abd" info "$run" --json >"$info"
  fi
  local crossings=0
  "$abd" verify "$run" >>"$run.log" 2>&1 || crossings=found
  awk -v name="$name" -v bodies="$(field bodies "$info")" -v triangles="$(field triangles "$info")" -v dt="$(field dt "$info")" \
    -v steps="$(field steps "$info")" -v mean="$(field iterations_mean "$info")" -v most="$(field iterations_max "$info")" \
    -v ms="$(field total "$info")" -v contacts="$(field contacts_max "$info")" -v gap="$(field min_distance "$info")" \
    -v bad="$(field not_converged_steps "$info")" -v held="$(field kinematic_blocked_steps "$info")" -v crossings="$crossings" 'BEGIN {
      gap = gap == "null" ? "-" : sprintf("%.2g", gap)
      printf "| %s | %d | %d | %g | %d | %.2f | %d | %.3f | %d | %s | %d | %d | %s |\n", name, bodies, triangles, dt, steps, mean, most, ms, contacts, gap, held, bad, crossings }'
  rm -f "$run" "$run"-*
}
export -f one field
export abd folder limit out

echo "| scene | bodies | triangles | dt | steps | iterations | most | ms/step | contacts | smallest gap | held back | not converged | crossings |"
echo "|---|---|---|---|---|---|---|---|---|---|---|---|---|"
find "$folder" -name '*.json' -print0 | sort -z | xargs -0 -P "$jobs" -I{} bash -c 'one "$1"' _ {} | tee "$out/table.txt"
rows=$(wc -l <"$out/table.txt")
good=$(grep -c '| 0 | 0 |$' "$out/table.txt")
rm -f "$out/table.txt"
[ -z "$made" ] || rm -rf "$made"
echo
echo "$good of $rows scenes: every step converged, no frame crosses"
[ "$good" = "$rows" ]
