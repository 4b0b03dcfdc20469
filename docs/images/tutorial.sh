#!/bin/bash
# Makes the pictures of docs/tutorial.md and README.md, small, with ffmpeg; the page with a headless Chromium if there is one.
# Takes a minute or two.
#   docs/images/tutorial.sh ABD FOLDER
set -euo pipefail
abd=$(realpath "$1") folder=$2 here=$(dirname "$(realpath "$0")")
mkdir -p "$folder" "$here/tutorial"
cp "$here"/../tutorial/* "$folder"
cd "$folder"
export OMP_WAIT_POLICY=passive

# few_colours IN OUT COLOURS: pictures and films with a palette of their own.
few_colours() {
  ffmpeg -loglevel error -y -i "$1" \
    -vf "split[a][b];[a]palettegen=max_colors=$3:stats_mode=diff[p];[b][p]paletteuse=dither=none:diff_mode=rectangle" "$2"
}

"$abd" run bracket.stl wheel.stl --scale 0.001 -o drop.abd --time 1 --force --quiet
"$abd" export drop.abd -o drop.png --size 480x300 --quiet
few_colours drop.png "$here/tutorial/drop.png" 96

"$abd" run mill.json -o mill.abd --contacts --force --quiet
"$abd" export mill.abd -o mill.mp4 --frames 0:300 --fps 20 --size 400x260 --view 145,14 --body wheel --body bracket --zoom 0.7 --quiet
few_colours mill.mp4 "$here/tutorial/mill.gif" 64

if command -v chromium >/dev/null; then
  "$abd" export mill.abd -o mill.html --frames 100:400 --quiet # later boxes are near by then
  chromium --headless --no-sandbox --use-gl=angle --use-angle=swiftshader --enable-unsafe-swiftshader --window-size=1100,720 \
    --virtual-time-budget=20000 --screenshot=view.png "file://$PWD/mill.html#step=100&body=3&theme=light&view=145,14" 2>/dev/null
  few_colours view.png "$here/tutorial/view.png" 128
fi
