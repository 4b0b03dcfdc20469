#!/bin/bash
# abd bench: a set and its table as text, JSON and Markdown; comparison with an older file; charts; every way of detection gives the
# same bits; what cannot be is refused.
#   bench.sh ABD SOURCE
. "$(dirname "$0")/expect.sh"

field() { sed -nE "s/^ *\"$1\": (\"([^\"]*)\"|([^\",]*)),?\$/\2\3/p" "$2" | head -n 1; }

expect 0 'growth-bodies +nets of' "$abd" bench --list
expect 0 'Usage: abd bench' "$abd" bench --help
expect 0 '^net 4x4 +24 +10.6K +15.8K +1/100 +8 +1 ' "$abd" bench quick --steps 8 --repeat 2 --json old.json --markdown table.md
grep -q '^  the paper' out.txt || { cat out.txt; wrong "the screw has no figures of the paper below it"; }
grep -q '^| screw | 3 | ' table.md || { cat table.md; wrong "no row of the screw in Markdown"; }
grep -Eq '^abd 0.* processors, .* GiB; .*-O' out.txt || { cat out.txt; wrong "machine and flags are missing"; }
[ "$(grep -c '"name"' old.json)" -eq 4 ] || wrong "$(grep -c '"name"' old.json) rows in old.json, expected 4"
for key in processor processors memory_gib system compiler flags commit version; do
  [ -n "$(field $key old.json)" ] || { cat old.json; wrong "no $key in the file"; }
done
[ "$(field peak_bytes old.json)" -gt 1000000 ] || wrong "a peak of $(field peak_bytes old.json) bytes"

# compared with itself nothing changed; with other iterations, or half the time, it did
expect 0 '0 slower, 0 faster, 0 with other iterations, 4 unchanged' "$abd" bench --compare old.json --with old.json
sed -E 's/"iterations": ([0-9]+)/"iterations": 1\1/' old.json >more.json
expect 1 'MORE ITERATIONS' "$abd" bench --compare old.json --with more.json
expect 1 'fewer iterations' "$abd" bench --compare more.json --with old.json
sed -E 's/("user_ms": )[0-9.]+/\11e-6/' old.json >quick.json
expect 1 '4 slower' "$abd" bench --compare quick.json --with old.json
expect 0 '4 faster' "$abd" bench --compare old.json --with quick.json
sed 's/"threads": 1/"threads": 2/' old.json >two.json
expect 0 '4 rows not in the older file' "$abd" bench --compare old.json --with two.json

# scenes of the gallery with keys, files, several time steps
expect 0 '^net:size=3 +9 .* 1/50 +3 ' "$abd" bench net:size=3 --dt 1/100,1/50 --steps 3 --repeat 1
expect 0 '^scene +4 .* 1/100 +5 ' "$abd" bench scene.json --steps 5 --repeat 1

# impacts: steps before those measured, and another program beside this one (here the same)
expect 0 '^twenty tori +22 +1/10 +2 +1 ' "$abd" bench impacts-quick --steps 2 --repeat 1 --json impacts.json
grep -q '"most_iterations": [1-9]' impacts.json || { cat impacts.json; wrong "no most_iterations"; }
"$abd" bench arch:stones=5 scene.json --steps 5 --skip 3 --repeat 2 --against "$abd" >out.txt || [ $? -eq 1 ] || wrong "--against"
grep -Eq '(slower|faster), 0 with other iterations' out.txt || { cat out.txt; wrong "the same program takes other iterations"; }
expect 4 'not measured by false' "$abd" bench arch:stones=5 --steps 2 --repeat 1 --against false
expect 4 'cannot run the other program' "$abd" bench arch:stones=5 --steps 2 --repeat 1 --against no-such-program
expect 2 'takes neither --with nor --compare' "$abd" bench arch --against "$abd" --compare old.json

# growth and its charts
expect 0 '^net 4x4 .* 1/100 +2 +1 ' "$abd" bench growth-triangles --steps 2 --repeat 1 --plot growth.svg --json growth.json
grep -q '</svg>' growth.svg && [ "$(grep -o '<circle' growth.svg | wc -l)" -eq 12 ] || wrong "expected 6 points in each of two charts"
expect 0 '' "$abd" bench growth-triangles --with growth.json --plot again.svg --markdown again.md
cmp growth.svg again.svg || wrong "another chart from the same figures"
expect 2 'expected a growth set' "$abd" bench quick --plot x.svg

# the same bits, however triangles that come near each other are found
for scene in spikes:bodies=4,resolution=2 brick-wall:courses=2,columns=3 net:size=4 screw; do
  first=
  for detection in trees trees-plain tree i-aabb-1 i-aabb-3; do
    expect 0 '' "$abd" bench "$scene" --steps 15 --repeat 1 --set solver.detection=$detection --json found.json
    bits="$(field hash found.json) $(field iterations found.json) $(field candidates found.json)"
    [ -n "$first" ] || first=$bits
    [ "$bits" = "$first" ] || wrong "$scene with detection $detection: $bits, with trees $first"
  done
done

# what cannot be
expect 2 "expected a set or a scene" "$abd" bench
expect 2 "no set or scene 'quik'; did you mean 'quick'" "$abd" bench quik
expect 2 "net:sise=4: net: expected KEY=VALUE" "$abd" bench net:sise=4
expect 2 "size: expected a whole number from 3 to 200, got '1'" "$abd" bench net:size=1
expect 2 "dt: expected up to 16 time steps" "$abd" bench net --dt 1/0
expect 2 "dt: expected up to 16 time steps" "$abd" bench net --dt '1/100;1/50'
expect 2 "No such file" "$abd" bench missing.json
expect 2 "missing.json" "$abd" bench --compare missing.json --with old.json
expect 2 "expected a file written by 'abd bench --json'" "$abd" bench --compare scene.json --with old.json
expect 0 "left out: bolt, steps 1-17 \(--fixtures" "$abd" bench marks --steps 1 --repeat 1
expect 4 "cannot write no/such/folder/x.json" "$abd" bench arch --steps 1 --repeat 1 --json no/such/folder/x.json
echo good
