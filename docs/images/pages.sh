#!/bin/bash
# Makes the pictures of README.md, docs/tutorial.md and docs/cookbook.md, small, with ffmpeg; the viewer's with a headless Chromium
# if there is one.
# Takes minutes, most of them for the wrecking ball.
#   docs/images/pages.sh ABD FOLDER
set -euo pipefail
abd=$(realpath "$1") folder=$2 here=$(dirname "$(realpath "$0")")
mkdir -p "$folder" "$here/tutorial" "$here/cookbook"
cp "$here"/../tutorial/* "$folder"
cd "$folder"

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
  rm -f view.png
  for _ in 1 2 3 4 5; do # taken before the page was drawn it is small, and taken again
    [ "$(stat -c %s view.png 2>/dev/null || echo 0)" -lt 250000 ] || break
    chromium --headless --no-sandbox --use-gl=angle --use-angle=swiftshader --enable-unsafe-swiftshader --window-size=1100,720 \
      --virtual-time-budget=30000 --screenshot=view.png "file://$PWD/mill.html#step=100&body=3&theme=light&view=145,14" 2>/dev/null
  done
  few_colours view.png "$here/tutorial/view.png" 128
fi

# recipe NAME FRAME VIEW WHERE...: runs the cookbook's scene NAME.json; WHERE are options of the camera.
recipe() {
  local name=$1
  awk -v name="\`$1.json\`" '/^```$/ { on = 0 } on; index($0, name) { here = 1 } /^```json$/ { on = here; here = 0 }' \
    "$here/../cookbook.md" >"$name.json"
  "$abd" run "$name.json" -o "$name.abd" --force --quiet
  "$abd" export "$name.abd" -o "$name.png" --frame "$2" --view "$3" --size 420x290 --quiet "${@:4}"
  few_colours "$name.png" "$here/cookbook/$name.png" 80
}
recipe gears 130 -20,12
recipe chain 60 20,12
recipe wall 55 -30,18 --look-at 0.45,0.1,0.2,0.6
recipe jack 200 30,15 --look-at 0,0,0.3,0.4
recipe gripper 700 25,12 --look-at 0,0,0.35,0.28

"$abd" scene wrecking-ball -o wrecking-ball.json
"$abd" run wrecking-ball.json -o wrecking-ball.abd --steps 400 --every 2 --force --quiet
"$abd" export wrecking-ball.abd -o wrecking-ball.mp4 --frames 60:400 --fps 14.3 --size 460x290 --view 300,16 --quiet
few_colours wrecking-ball.mp4 "$here/wrecking-ball.gif" 56
