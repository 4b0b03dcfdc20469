#!/bin/bash
# Fails on an include that points against the direction of dependencies: a room may include itself and the rooms listed
# after its name, nothing else of the house. What stands on the public header (scene, record, export) sees of the
# library only abd/abd.h, and the command only public headers.
#   include_order.sh SOURCE
set -euo pipefail
cd "${1:-$(dirname "$0")/..}"

declare -A sees=(
  [base]="abd"
  [math]="abd base"
  [kernel]="abd base math"
  [geom]="abd base math kernel"
  [linear]="abd base math kernel"
  [model]="abd base math kernel geom linear"
  [contact]="abd base math kernel geom linear model"
  [step]="abd base math kernel geom linear model contact"
  [cpu]="abd base math kernel geom linear model contact step"
  [cuda]="abd base math kernel geom linear model contact step cpu"
  [mpi]="abd base math kernel geom linear model contact step cpu"
  [api]="abd base math kernel geom linear model contact step cpu cuda mpi"
  [robot]=""
  [scene]="abd robot"
  [record]="abd scene"
  [export]="abd scene record"
  [view]="abd scene record export"
  [sweep]="abd scene record"
  [kit]="abd scene record export view"
  [tool]="abd" # what a program of a user can do
)

# check ROOM FILE: every include in quotes, and of <abd/...>, must name a room that ROOM sees. A name without a folder is
# a file beside the includer.
check() {
  local room=$1 file=$2 line included target
  while IFS=: read -r line included; do
    target=${included%%/*}
    [ "$target" != "$included" ] || target=$room
    case " $room ${sees[$room]} " in
      *" $target "*) ;;
      *) echo "$file:$line: includes \"$included\"; $room may see only: $room ${sees[$room]}"; wrong=$((wrong + 1)) ;;
    esac
    includes=$((includes + 1))
  done < <(sed -nE '/^[[:space:]]*#[[:space:]]*include[[:space:]]*("|<abd\/)/{=;s/.*["<]([^">]+)[">].*/\1/p}' "$file" | paste -d: - -)
}

wrong=0 includes=0
for folder in src/*/ tool/; do
  room=$(basename "$folder")
  [ -n "${sees[$room]+known}" ] || { echo "src/$room: a room this script does not know"; wrong=$((wrong + 1)); continue; }
  while read -r file; do
    check "$room" "$file"
  done < <(find "$folder" -name '*.[ch]' | sort)
done
echo "$includes includes between files of the house, $wrong against the direction"
[ "$wrong" -eq 0 ]
