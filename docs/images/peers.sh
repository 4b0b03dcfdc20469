#!/bin/bash
# Makes the pictures of docs/peers.md: the same moments in abd and in other engines. Needs their packages (bench/peers/run says
# which) and ffmpeg.
#   docs/images/peers.sh BUILD FOLDER
set -euo pipefail
build=$(realpath "$1") folder=$2 here=$(dirname "$(realpath "$0")")
mkdir -p "$folder" "$here/peers"
cd "$folder"

# picture NAME ENGINE TIME CAMERA...: of the run of NAME.json at its last frame
picture() {
  local name=$1 engine=$2 time=$3 file=$1-$2
  shift 3
  "$build/abd-peers" run "$name.json" -e "$engine" -t "$time" --every 5 -o "$file.abd" >/dev/null
  "$build/abd" export "$file.abd" -o "$file.png" --size 420x290 --quiet "$@"
  ffmpeg -loglevel error -y -i "$file.png" -vf 'split[a][b];[a]palettegen=max_colors=80[p];[b][p]paletteuse=dither=none' \
    "$here/peers/$file.png"
}

"$build/abd" scene cards --boxes 0 -o cards.json
"$build/abd" scene ball --stack full -o ball.json
for engine in abd bullet-box ode; do picture cards "$engine" 0.5 --view 20,12 --look-at 0,0,0.42,0.55; done
for engine in abd bullet-box bullet-gimpact; do picture ball "$engine" 0.3 --view 35,18; done
