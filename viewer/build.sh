#!/bin/bash
# Builds the viewer's page: index.html, viewer.css and viewer.js in a folder.
#   build.sh FOLDER [AUTO|ON] [vite|esbuild]
#
# Uses npm and Vite, in the versions of package-lock.json. If npm is missing or cannot reach its packages, it uses Debian's
# esbuild and libjs-three. With AUTO, if neither works, the three files are empty and the program reports that it has no
# viewer. A third argument permits only that way.
set -euo pipefail
folder=$1 demand=${2:-AUTO} only=${3:-}
cd "$(dirname "$(realpath "$0")")"
three=/usr/share/javascript/three/three.module.js
mkdir -p "$folder"

# Takes a lock, because several builds may share node_modules. If a mirror lacks packages of other platforms, `npm ci` fails
# and `npm install` works.
npm_packages() {
  local quick=(--no-audit --no-fund --prefer-offline --fetch-retries 0 --fetch-timeout 15000)
  (
    flock 9
    [ node_modules/.package-lock.json -nt package-lock.json ] && exit 0
    { npm ci "${quick[@]}" || npm install --no-save "${quick[@]}"; } && touch node_modules/.package-lock.json
  ) 9>.install-lock
}

with_vite() {
  command -v npm >/dev/null && npm_packages >"$folder/npm.log" 2>&1 &&
    node_modules/.bin/vite build --logLevel warn --outDir "$folder/dist" --emptyOutDir >"$folder/vite.log" 2>&1 &&
    cp "$folder/dist/viewer.js" "$folder/dist/viewer.css" "$folder/"
}

with_esbuild() {
  command -v esbuild >/dev/null && [ -r "$three" ] &&
    esbuild src/main.js --bundle --minify --format=iife --target=es2020 --alias:three="$three" --log-level=warning \
            --outfile="$folder/viewer.js" >"$folder/esbuild.log" 2>&1 &&
    esbuild src/viewer.css --minify --log-level=warning --outfile="$folder/viewer.css" >>"$folder/esbuild.log" 2>&1
}

for way in vite esbuild; do
  [ -z "$only" ] || [ "$only" = "$way" ] || continue
  if with_$way; then
    cp index.html "$folder/index.html"
    echo "the viewer's page is built with $way"
    exit 0
  fi
done
if [ "$demand" = AUTO ]; then
  : >"$folder/viewer.js"; : >"$folder/viewer.css"; : >"$folder/index.html"
  echo "no viewer in this build: it needs npm, or Debian's packages esbuild and libjs-three (logs in $folder)"
  exit 0
fi
echo "the viewer's page cannot be built: it needs npm, or Debian's packages esbuild and libjs-three (logs in $folder)" >&2
exit 1
