#!/bin/bash
# The viewer in a headless Chromium, through playwright-core of viewer/node_modules. Screenshots stay in BUILD/tests/view.
#   browser.sh ABD SOURCE BUILD
# Exit code 77 and the word "skipped" where node, Chromium, playwright-core or the viewer itself is missing.
set -euo pipefail
abd=$(realpath "$1") source=$(realpath "$2") build=$(realpath "$3")
skip() {
  echo "skipped: $*"
  exit 77
}
command -v node >/dev/null || skip "node is not installed: apt-get install nodejs npm"
chromium=$(command -v chromium || command -v chromium-browser || true)
[ -n "$chromium" ] || skip "chromium is not installed: apt-get install chromium"
[ -e "$source/viewer/node_modules/playwright-core" ] || skip "viewer/node_modules has no playwright-core: with a network, npm ci in viewer/"
[ -s "$build/viewer/viewer.js" ] || skip "this build has no viewer: npm with a network, or apt-get install esbuild libjs-three"
"$abd" view --help >/dev/null
case $("$abd" view nothing.abd 2>&1 || true) in *"without libmicrohttpd"*) skip "built without libmicrohttpd: apt-get install libmicrohttpd-dev, and build again" ;; esac

out=$build/tests/view
rm -rf "$out"
mkdir -p "$out"
# The page as Debian's packages build it, where they are here: it must look and work the same.
if ! "$source/viewer/build.sh" "$out/esbuild" ON esbuild; then rm -rf "$out/esbuild"; fi
exec node "$source/tests/view/browser.mjs" "$abd" "$source" "$out" "$chromium"
