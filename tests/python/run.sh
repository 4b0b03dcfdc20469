#!/bin/bash
# run.sh SOURCE BUILD SANITIZE [PYTEST-ARGUMENT...]: installs the Python module with pip into a virtual environment in the build
# folder and runs its tests. The C library is that of the build, so only the module itself is compiled. Exit 77: skipped.
#
# With SANITIZE (address,undefined) the module is that of a build with sanitizers. Leaks with a frame of the module in
# their trace are errors; Python and NumPy have some of their own.
set -euo pipefail
source=$(realpath "$1") build=$(realpath "$2") sanitize=$3
shift 3
skip() { echo "skipped: $*"; exit 77; }

python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null || skip "Python 3.10 or later is not installed"
python3 -c 'import ensurepip, venv' 2>/dev/null || skip "Python has no venv: apt-get install python3-venv"
python3 -c 'import os, sysconfig, sys; sys.exit(not os.path.exists(sysconfig.get_path("include") + "/Python.h"))' ||
  skip "Python has no headers: apt-get install python3-dev"

folder=$build/python
log=$folder/pip.log
mkdir -p "$folder"
[ -x "$folder/venv/bin/python" ] || python3 -m venv "$folder/venv"
pip=("$folder/venv/bin/python" -m pip --disable-pip-version-check --quiet install --prefer-binary)
needs=(numpy cffi pytest scikit-build-core)
"${pip[@]}" "${needs[@]}" >"$log" 2>&1 </dev/null || skip "pip cannot install ${needs[*]}, see $log"
more=(ninja imageio-ffmpeg trimesh meshio gymnasium) # parts of tests need them
[[ "$*" != "-m long" ]] || more+=(nbclient nbformat ipykernel)
if ! "${pip[@]}" "${more[@]}" >>"$log" 2>&1 </dev/null; then
  for one in "${more[@]}"; do
    "${pip[@]}" "$one" >>"$log" 2>&1 </dev/null || echo "skipped: pip cannot install $one"
  done
fi

cmake --install "$build" --prefix "$folder/prefix" >/dev/null
install=("${pip[@]}" --no-build-isolation --no-deps --force-reinstall "$source"
         -C cmake.define.abd_DIR="$(dirname "$(find "$folder/prefix" -name abd-config.cmake)")" -C build-dir="$folder/build")
[ -z "$sanitize" ] || install+=(-C cmake.define.CMAKE_C_FLAGS="-fsanitize=$sanitize -fno-omit-frame-pointer -g1")
if ! "${install[@]}" >>"$log" 2>&1 </dev/null; then
  tail -n 60 "$log"
  echo "pip could not install the module, see $log" >&2
  exit 1
fi

cd "$folder" # the module that is installed, not the one in the source
tests=("$folder/venv/bin/python" -m pytest -q -p no:cacheprovider -rs "$source/python/tests" "$@")
if [ -z "$sanitize" ]; then
  exec "${tests[@]}" </dev/null
fi
export LD_PRELOAD UBSAN_OPTIONS=print_stacktrace=1 PYTHONMALLOC=malloc ABD_TEST_SHORT=1
export ASAN_OPTIONS=detect_leaks=1 LSAN_OPTIONS="exitcode=0:log_path=$folder/leaks:max_leaks=100000:fast_unwind_on_malloc=1"
LD_PRELOAD=$("${CC:-cc}" -print-file-name=libasan.so)
rm -f "$folder"/leaks.*
"${tests[@]}" </dev/null
LD_PRELOAD=
# Each leak is a paragraph. What cffi allocates when the module is imported stays.
awk -v RS= -v source="$source/" '/leak of/ && (/_abd\.abi3\.so/ || index($0, source "src/")) && !/PyInit__abd/ { print; print ""; found = 1 }
     END { exit found }' "$folder"/leaks.* 2>/dev/null || { echo "the module leaks memory" >&2; exit 1; }
