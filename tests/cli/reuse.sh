#!/bin/bash
# Compiles one file of a clone, or takes the object of the build it was cloned from where that is the same: nothing in its target's
# flags differs but the folder, and MPI if the file does not mention it. The caller has compared the sources (clone.sh).
#   REUSE_SOURCE=FOLDER REUSE_BUILD=FOLDER reuse.sh COMPILER ARGUMENTS...   in the clone's build folder, as CMake's compiler launcher
set -euo pipefail
object= file=
for ((i = 2; i < $#; i++)); do
  next=$((i + 1))
  if [ "${!i}" = -o ]; then object=${!next}; fi
  if [ "${!i}" = -c ]; then file=${!next}; fi
done
flags=${object%%.dir/*}.dir/flags.make
case $object in
  */page.c.o | */bench_machine.c.o) exec "$@" ;; # they contain what the build made: the viewer's page, the commit
  CMakeFiles/abd*.dir/*) ;;
  *) exec "$@" ;;
esac
plain() { sed "s|$2|FOLDER|g; s| -DABD_MPI\\b||; s| -isystem [^ ]*mpi[^ ]*||g" "$1"; }
if [ -f "$REUSE_BUILD/$object" ] && ! grep -q ABD_MPI "$file" &&
   cmp -s <(plain "$flags" "$(dirname "$PWD")") <(plain "$REUSE_BUILD/$flags" "$REUSE_SOURCE"); then
  cp "$REUSE_BUILD/$object" "$object"
  cp "$REUSE_BUILD/$object.d" "$object.d"
else
  exec "$@"
fi
