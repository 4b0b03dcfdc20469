#!/bin/bash
# Installs a build into a folder of its own, then builds the examples against it the two ways users do,
# find_package and pkg-config, in C and C++, static and shared, and runs each. Also: the shared library shows the linker
# no names but abd_*.
#   run.sh SOURCE BUILD
set -euo pipefail
source=$(realpath "$1") build=$(realpath "$2")
work=$(mktemp -d "$build/install-test.XXXXXX")
trap 'rm -rf "$work"' EXIT
prefix=$work/prefix
examples=$source/examples

cmake --install "$build" --prefix "$prefix" >"$work/install.log"
libdir=$(dirname "$(find "$prefix" -name libabd.a)")
test -f "$prefix/include/abd/abd.h"
test ! -f "$build/abd" || "$prefix/bin/abd" --help >/dev/null

echo "== names the shared library shows"
for name in abd abdkit; do
  shown=$(nm -D --defined-only "$libdir/lib$name.so" | awk '$2 ~ /[A-Z]/ { print $3 }' | sort)
  foreign=$(grep -v '^abd_' <<<"$shown" || true)
  [ -z "$foreign" ] || { echo "lib$name.so, not abd_*: $foreign"; exit 1; }
  [ "$(wc -l <<<"$shown")" -ge 20 ] || { echo "lib$name.so, only these: $shown"; exit 1; }
done

echo "== find_package"
cmake -S "$source/tests/install" -B "$work/user" -DCMAKE_PREFIX_PATH="$prefix" -DEXAMPLES="$examples" \
      -DCMAKE_BUILD_TYPE=Release >"$work/configure.log" || { cat "$work/configure.log"; exit 1; }
cmake --build "$work/user" >"$work/build.log" 2>&1 || { cat "$work/build.log"; exit 1; }
for program in {falling_box,motor,simulate}_{static,shared,cxx}; do
  echo "-- $program"
  "$work/user/$program" "$work"
done

echo "== pkg-config"
export PKG_CONFIG_PATH=$libdir/pkgconfig
for example in falling_box motor simulate; do
  package=abd
  [ $example != simulate ] || package=abdkit
  read -ra flags <<<"$(pkg-config --cflags --libs $package)"
  "${CC:-cc}" -Wall -Wextra -Werror "$examples/$example.c" "${flags[@]}" -lm -o "$work/shared"
  LD_LIBRARY_PATH=$libdir "$work/shared" "$work" >/dev/null
  read -ra flags <<<"$(pkg-config --static --cflags --libs $package)"
  archives=("${flags[@]/#-labdkit/-l:libabdkit.a}")
  archives=("${archives[@]/%-labd/-l:libabd.a}")
  "${CC:-cc}" "$examples/$example.c" "${archives[@]}" -o "$work/static"
  "$work/static" "$work" >/dev/null
done
echo "all ran"
