#!/bin/bash
# Compiles one file of a clone, or takes the object of the build it was cloned from where that is the same: nothing in its target's
# flags differs but the folder. That the sources are the same is for the caller to know (clone.sh).
#   REUSE_SOURCE=FOLDER REUSE_BUILD=FOLDER reuse.sh COMPILER ARGUMENTS...   in the clone's build folder, as CMake's compiler launcher
set -euo pipefail
object=
for ((i = 2; i < $#; i++)); do
  if [ "${!i}" = -o ]; then i=$((i + 1)) object=${!i}; fi
done
flags=${object%%.dir/*}.dir/flags.make
case $object in
  */page.c.o | */bench_machine.c.o) exec "$@" ;; # they contain what the build made: the viewer's page, the commit
  CMakeFiles/abd*.dir/*) ;;
  *) exec "$@" ;;
esac
if [ -f "$REUSE_BUILD/$object" ] && sed "s|$(dirname "$PWD")|$REUSE_SOURCE|g" "$flags" | cmp -s - "$REUSE_BUILD/$flags"; then
  cp "$REUSE_BUILD/$object" "$object"
  cp "$REUSE_BUILD/$object.d" "$object.d"
else
  exec "$@"
fi
