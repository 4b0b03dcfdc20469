#!/bin/bash
# As reuse.sh, in place of nvcc: takes the object of the build that the clone is of.
#   REUSE_BUILD=FOLDER REUSE_NVCC=NVCC nvcc ARGUMENTS...
set -euo pipefail
object= source= dependencies=
for ((i = 1; i < $#; i++)); do
  next=$((i + 1))
  case ${!i} in
    -o) object=${!next} ;;
    -c) source=${!next} ;;
    -MF) dependencies=${!next} ;;
  esac
done
made=$REUSE_BUILD/cuda/$(basename "${object:-none}")
if [ -n "$source" ] && [ -f "$made" ]; then
  cp "$made" "$object"
  echo "$object: $source" >"$dependencies"
else
  exec "$REUSE_NVCC" "$@"
fi
