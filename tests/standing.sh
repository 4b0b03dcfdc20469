#!/bin/bash
# What stands keeps standing: runs scenes for their whole time, with every step converged, and compares the poses after one
# second with those at the end. Nothing may have moved by more than a tenth of the range of contact, 1e-5 m; and nothing
# crosses. With too little friction the same house must fall: standing is not for want of moving.
#   standing.sh SOURCE ABD SCENE...
set -euo pipefail
source=$(realpath "$1") abd=$(realpath "$2")
shift 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The farthest any body's centre moved between two frames of a run.
moved() {
  "$abd" export "$1" -o "$work/from.csv" --frame "$2" >/dev/null
  "$abd" export "$1" -o "$work/to.csv" --frame "$3" >/dev/null
  LC_ALL=C awk -F, '
    FNR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
    { x = $column["x"]; y = $column["y"]; z = $column["z"]; id = $column["body"] }
    NR == FNR { fx[id] = x; fy[id] = y; fz[id] = z; next }
    { d = sqrt((x - fx[id])^2 + (y - fy[id])^2 + (z - fz[id])^2); if (d > most) most = d; count++ }
    END { if (!count) exit 1; printf "%.3e\n", most }' "$work/from.csv" "$work/to.csv"
}
less() { LC_ALL=C awk -v a="$1" -v b="$2" 'BEGIN { exit !(a < b) }'; }

stands() { # NAME SCENE-FILE
  "$abd" run "$2" -o "$work/$1.abd" --every 100 --strict --quiet
  "$abd" verify "$work/$1.abd"
  far=$(moved "$work/$1.abd" 100 1000)
  echo "$1: moved $far m from 1 s to 10 s"
  less "$far" 1e-5 || { echo "$1: expected less than 1e-5 m"; exit 1; }
}
for name in "$@"; do stands "$name" "$source/scenes/$name.json"; done

"$abd" scene cards --levels 4 --boxes 0 --form sheet -o "$work/sheets.json"
"$abd" check "$work/sheets.json" >/dev/null || { echo "cards that are sheets: abd check finds a problem"; exit 1; }
stands sheets "$work/sheets.json"

"$abd" run "$source/scenes/card-house-3.json" -o "$work/fall.abd" --set contact.friction=0.2 --time 1 --quiet
far=$(moved "$work/fall.abd" 0 100)
echo "card-house-3 with friction 0.2: moved $far m in 1 s"
less 0.05 "$far" || { echo "expected it to fall, more than 0.05 m"; exit 1; }
