#!/bin/bash
# The first minutes of a newcomer: clone, ./demo, another moment of it, the page it tells of. Builds abd anew.
#   clone.sh ABD SOURCE
. "$(dirname "$0")/expect.sh"
. "$source/tests/cli/page.sh"
git -C "$source" rev-parse HEAD >/dev/null 2>&1 || { echo "skipped: $source is no clone itself"; exit 77; }
git clone -q "$source" clone
cd clone
./demo | tee said.txt
for file in out/demo.abd out/demo.png; do [ -s "$file" ] || wrong "no $file"; done
grep -q 'no two surfaces cross' said.txt || wrong "nothing was verified"

# what it offers next: everything up to the first gap of two spaces is the command
for what in 'info out/demo.abd' 'view out/demo.abd' 'export out/demo.abd -o hit.png'; do
  line=$(grep "^  build/abd $what" said.txt) || wrong "it does not offer: $what"
  obey "${line/#  build\//}"
done
[ -s hit.png ] || wrong "no hit.png"
echo good
