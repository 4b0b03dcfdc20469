# shellcheck shell=bash
# Sourced by ./demo and ./test. What they need, by Debian's names, and getting what is missing.

# Prints the packages of the list that are not there. Asked by use, not by dpkg, so that a machine that has them by other
# means is left alone.
missing_packages() {
  local package
  for package in "$@"; do
    package_works "$package" || printf '%s ' "$package"
  done
}

package_works() {
  case $1 in
    build-essential) command -v cc && command -v c++ && command -v make ;;
    cmake) command -v cmake && command -v ctest ;;
    pkg-config) command -v pkg-config ;;
    libmetis-dev) compiles '#include <metis.h>' ;;
    libsuitesparse-dev) compiles '#include <suitesparse/amd.h>' || compiles '#include <amd.h>' ;;
    libjansson-dev) compiles '#include <jansson.h>' ;;
    libsqlite3-dev) compiles '#include <sqlite3.h>' ;;
    libxxhash-dev) compiles '#include <xxhash.h>' ;;
    libpng-dev) compiles '#include <png.h>' ;;
    libexpat1-dev) compiles '#include <expat.h>' ;;
    libassimp-dev) compiles '#include <assimp/cimport.h>' ;;
    zlib1g-dev) compiles '#include <zlib.h>' ;;
    sqlite3) command -v sqlite3 ;;
    python3-venv) python3 -c 'import ensurepip, venv' ;;
    python3-dev) python3 -c 'import os, sys, sysconfig; sys.exit(not os.path.exists(sysconfig.get_path("include") + "/Python.h"))' ;;
    libcmocka-dev) compiles $'#include <stdarg.h>\n#include <stddef.h>\n#include <setjmp.h>\n#include <stdint.h>\n#include <cmocka.h>' ;;
    clang) command -v clang ;;
    clang-format) command -v clang-format ;;
    libmicrohttpd-dev) compiles '#include <microhttpd.h>' ;;
    esbuild) command -v esbuild ;;
    nodejs) command -v node ;;
    npm) command -v npm ;;
    chromium) command -v chromium || command -v chromium-browser ;;
    libjs-three) [ -r /usr/share/javascript/three/three.module.js ] ;;
    libclang-rt-dev) [ -n "$(find "$(clang -print-resource-dir)/lib" -name 'libclang_rt.fuzzer*.a' | head -n 1)" ] ;;
    *) false ;;
  esac >/dev/null 2>&1
}

compiles() {
  printf '%s\n' "$1" | cc -x c -fsyntax-only -
}

# Installs what is missing as root, or with a sudo that asks nothing; otherwise says the one command to run and exits.
install_packages() {
  local missing as_root=()
  missing=$(missing_packages "$@")
  [ -n "$missing" ] || return 0
  local command="apt-get install -y --no-install-recommends ${missing% }"
  if ! command -v apt-get >/dev/null; then
    echo "Missing here, by Debian's names: $missing" >&2
    exit 1
  fi
  if [ "$(id -u)" -ne 0 ]; then
    if ! sudo -n true 2>/dev/null; then
      printf 'Some packages are missing. Run this, then %s again:\n\n    sudo %s\n\n' "$0" "$command" >&2
      exit 1
    fi
    as_root=(sudo)
  fi
  echo "== installing: ${missing% }"
  "${as_root[@]}" apt-get update -qq
  # shellcheck disable=SC2086 # a list of words
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive $command </dev/null
  missing=$(missing_packages "$@")
  [ -z "$missing" ] || { echo "Still missing after installing: $missing" >&2; exit 1; }
}

# offer_packages WHAT PACKAGE...: the same for what abd can be without: what cannot be had is left out with a sentence.
offer_packages() {
  local what=$1
  shift
  [ -z "$(missing_packages "$@")" ] || echo "== $what: $(missing_packages "$@")"
  if ! (install_packages "$@") >/dev/null 2>&1; then
    echo "== without $what or a part of it; it needs: apt-get install $(missing_packages "$@")"
  fi
}

build_packages=(build-essential cmake pkg-config libsuitesparse-dev libmetis-dev libjansson-dev libsqlite3-dev libxxhash-dev
                libpng-dev)
# shellcheck disable=SC2034 # used where this is sourced
quick_packages=("${build_packages[@]}" libcmocka-dev sqlite3)
# shellcheck disable=SC2034
viewer_packages=(libmicrohttpd-dev esbuild libjs-three)
# shellcheck disable=SC2034 # npm gets playwright-core when the page is built
browser_packages=(nodejs npm chromium)
# shellcheck disable=SC2034
test_packages=("${quick_packages[@]}" clang clang-format libclang-rt-dev libassimp-dev zlib1g-dev libexpat1-dev)
# shellcheck disable=SC2034
python_packages=(python3-dev python3-venv)
