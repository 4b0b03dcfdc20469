#!/bin/bash
# The first minutes of a newcomer: clone, ./demo, what it offers next, the page in a browser. Builds abd anew, though a file whose
# object the build under test has, of the same sources by the same flags, is not compiled twice. (What comes then, two STL files to a
# page and a film, is newcomer.sh.)
#   clone.sh ABD SOURCE
. "$(dirname "$0")/expect.sh"
. "$source/tests/cli/page.sh"
git -C "$source" rev-parse HEAD >/dev/null 2>&1 || { echo "skipped: $source is no clone itself"; exit 77; }
git clone -q "$source" clone
cd clone
same=true
for folder in include src tool; do diff -rq "$source/$folder" "$folder" || same=false; done
[ -z "$(find "$source"/{include,src,tool} -type f -newer "$abd")" ] || same=false
if $same; then
  export CMAKE_C_COMPILER_LAUNCHER=$source/tests/cli/reuse.sh REUSE_SOURCE=$source REUSE_BUILD=${abd%/*}
  nvcc=$(command -v nvcc || command -v /usr/local/cuda/bin/nvcc || true)
  if [ -n "$nvcc" ] && [ -n "$(ls "$REUSE_BUILD"/cuda/*.o 2>/dev/null)" ]; then
    mkdir ../tools
    ln -s "$source/tests/cli/reuse-cuda.sh" ../tools/nvcc
    export REUSE_NVCC=$nvcc PATH=$scratch/tools:$PATH
  fi
fi
./demo | tee said.txt
for file in out/demo.abd out/demo.png; do [ -s "$file" ] || wrong "no $file"; done
grep -q 'no two surfaces cross' said.txt || wrong "nothing was verified"

# what it offers next: everything up to the first gap of two spaces is the command
for what in 'info out/demo.abd' 'view out/demo.abd' 'export out/demo.abd -o hit.png'; do
  line=$(grep "^  build/abd $what" said.txt) || wrong "it does not offer: $what"
  obey "${line/#  build\//}"
done
[ -s hit.png ] || wrong "no hit.png"

# the page to send, opened from disk
chromium=$(command -v chromium || command -v chromium-browser || true)
if [ -z "$chromium" ] || ! build/abd export out/demo.abd -o demo.html; then
  echo "skipped: the page in a browser (chromium, or the viewer, is missing)"
else
  timeout 120 "$chromium" --headless --no-sandbox --use-gl=angle --use-angle=swiftshader --enable-unsafe-swiftshader \
    --ignore-gpu-blocklist --virtual-time-budget=3000 --dump-dom "file://$PWD/demo.html#step=130&shadows=0" >dom.txt 2>dom-err.txt || true
  grep -q '<div id="loading" class="done">' dom.txt || { tail -5 dom-err.txt; wrong "the page did not load"; }
  grep -q '61 bodies' dom.txt || wrong "the page does not tell its bodies"
fi
echo good
