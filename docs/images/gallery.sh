#!/bin/bash
# Makes the pictures and films of docs/gallery.md: writes each scene, runs it as far as the picture shows, and shrinks the picture to
# a few colours with ffmpeg. Runs that are in the folder already are taken as they are. Takes minutes.
#   docs/images/gallery.sh ABD FOLDER
set -euo pipefail
abd=$(realpath "$1") folder=$2 here=$(dirname "$(realpath "$0")")
mkdir -p "$folder/gallery" "$here/gallery"
cd "$folder/gallery"

# picture NAME STEPS VIEW ZOOM KEYS...
picture() {
  local name=$1 steps=$2 view=$3 zoom=$4
  shift 4
  if [ ! -e "$name.abd" ]; then
    "$abd" scene "$name" "$@" -o "$name.json"
    "$abd" run "$name.json" -o "$name.abd" --steps "$steps" --every 10 --quiet
  fi
  "$abd" export "$name.abd" -o "$name.png" --frame "$steps" --size 420x290 --view "$view" --zoom "$zoom" --quiet
  ffmpeg -loglevel error -y -i "$name.png" -vf 'split[a][b];[a]palettegen=max_colors=80[p];[b][p]paletteuse=dither=none' \
    "$here/gallery/$name.png"
}

# film NAME STEPS VIEW ZOOM: of the run that `picture` made, ten pictures a second.
film() {
  "$abd" export "$1.abd" -o "$1.mp4" --frames "$2" --fps 10 --size 420x260 --view "$3" --zoom "$4" --quiet
  ffmpeg -loglevel error -y -i "$1.mp4" \
    -vf 'split[a][b];[a]palettegen=max_colors=48:stats_mode=diff[p];[b][p]paletteuse=dither=none:diff_mode=rectangle' \
    "$here/gallery/$1.gif"
}

picture pendulum 300 60,12 1.1 --count 15
picture double-pendulum 60 10,10 1
picture triple-pendulum 60 10,10 1
picture four-bar 80 20,12 1
picture slider-crank 40 30,20 1
picture robot-arm 200 30,20 0.7
picture chain 50 35,18 0.85
picture gears 40 10,8 1.2
picture gear-train 10 5,5 1.1
picture octopus 70 35,18 1
picture wrecking-ball 180 300,16 1
picture ball 90 35,12 1
picture brick-wall 130 60,15 1
picture net 100 35,25 1.1 --size 10 --ball 3
picture cards 70 20,12 1
picture screw 60 35,25 0.5
picture arch 1 30,12 1
picture spikes 80 35,25 1
picture pile 110 35,30 1
picture belt 1500 35,18 1
film belt 1000:1295 30,20 1.05
picture soft-beam 60 35,18 1
picture soft-twist 200 35,18 1
picture soft-ball 40 35,35 1
picture soft-hand 150 60,20 0.75
picture soft-press 66 12,14 0.42
picture cloth-gears 45 35,28 1
picture hybrid 50 35,26 1.15 --resolution 2
