#!/bin/bash
# Bad usage gets a sentence and exit code 2, and leaves no file behind.
#   usage.sh ABD SOURCE
. "$(dirname "$0")/expect.sh"

expect 2 'Usage: abd COMMAND' "$abd"
expect 0 'Commands:' "$abd" --help
expect 0 '^abd [0-9]+\.[0-9]+\.[0-9]+$' "$abd" --version
expect 2 "unknown command 'rum'; did you mean 'run'" "$abd" rum
expect 2 "unknown command 'rnu'; did you mean 'run'" "$abd" rnu
expect 2 "unknown command 'quux'" "$abd" quux
for command in run info check verify export bench; do
  expect 0 "Usage: abd $command" "$abd" $command --help
  expect 2 "expected" "$abd" $command
  expect 2 "unknown option '--frobnicate'" "$abd" $command --frobnicate
done

expect 2 "unknown option '--setps=3'; did you mean '--steps'" "$abd" run scene.json --setps=3
expect 2 "unknown option '-x'" "$abd" run scene.json -x
expect 2 "steps: expected a whole number >= 0, got '-3'" "$abd" run scene.json --steps -3
expect 2 "steps: expected a whole number >= 0, got '3.5'" "$abd" run scene.json --steps=3.5
expect 2 "steps: expected N after it" "$abd" run scene.json --steps
expect 2 "every: expected a whole number >= 1, got '0'" "$abd" run scene.json --every 0
expect 2 "time: expected a number > 0, got 'inf'" "$abd" run scene.json --time inf
expect 2 "dt: expected a number > 0, got '0'" "$abd" run scene.json --dt 0
expect 2 "dt: expected a number > 0, got 'nan'" "$abd" run scene.json --dt nan
expect 2 "dt: expected a number > 0, got '1/0'" "$abd" run scene.json --dt 1/0
expect 2 "dt: expected a number > 0, got '1/'" "$abd" run scene.json --dt 1/
expect 2 "threads: expected a whole number" "$abd" run scene.json --threads all
expect 2 "quiet takes no value" "$abd" run scene.json --quiet=yes
expect 2 "exclude each other" "$abd" run scene.json --steps 3 --time 1
expect 2 "exclude each other" "$abd" run scene.json --resume --force
expect 2 "No such file" "$abd" run missing.json
expect 2 "No such file" "$abd" run --resume -o missing.abd
expect 2 "No such file" "$abd" run missing.abd --resume
expect 2 "contact.frictoin" "$abd" run scene.json --set contact.frictoin=1
expect 2 "dt: expected a number > 0, got -1" "$abd" run scene.json --set dt=-1
expect 2 "no/such/folder" "$abd" run scene.json -o no/such/folder/x.abd --quiet
expect 2 "run file" "$abd" run some.abd
expect 2 "No such file" "$abd" info missing.abd
mkfifo pipe
expect 2 "pipe: not a regular file" timeout 20 "$abd" info pipe
expect 2 "pipe: not a regular file; a run cannot be written there" "$abd" run scene.json -o pipe
mv pipe pipe.urdf
expect 2 "pipe.urdf: not a regular file" timeout 20 "$abd" check pipe.urdf
rm pipe.urdf
expect 2 "scene.json: not a run file of abd" "$abd" info scene.json
expect 2 "scene.json: not a run file of abd" "$abd" export scene.json -o x.obj
expect 2 "No such file" "$abd" verify missing.abd
expect 2 "o FILE is missing" "$abd" export missing.abd
expect 2 "ends in .obj" "$abd" export missing.abd -o x.gltf
expect 2 "No such file" "$abd" export missing.abd -o x.obj
expect 2 "expected one %d" "$abd" export missing.abd -o x%s.obj
expect 2 "expected one %d" "$abd" export missing.abd -o x%d%d.obj
expect 2 "size: expected" "$abd" export missing.abd -o x.ppm --size 9999999x3
expect 2 "view: expected" "$abd" export missing.abd -o x.ppm --view up
expect 2 "body is for pictures and films" "$abd" export missing.abd -o x.csv --body low
expect 2 "zoom is for pictures and films" "$abd" export missing.abd -o x.obj --zoom 2
expect 2 "scene.json: --hold is for robots" "$abd" run scene.json --hold
expect 2 "scene.json: --geometry is for robots" "$abd" check scene.json --geometry visual
echo '{ "version": 1, "bodies": [] }' >none.json
expect 2 "none.json: the scene has no bodies" "$abd" run none.json
expect 1 "none.json: problem: the scene has no bodies" "$abd" check none.json
echo '{ "version": 1, "bodies": [ { "shape": "box", "position": [0, 1e300, 0] } ] }' >far.json
expect 2 "far.json: .*position\[1\] is 1e\+300, expected a finite number below 1e30" "$abd" run far.json
rm none.json far.json

# names stay on one line of an OBJ file
echo '{ "version": 1, "steps": 1, "bodies": [ { "shape": "box", "name": "a\nf 1 2 3\\" } ] }' >names.json
"$abd" run names.json -o names.abd --quiet
"$abd" export names.abd -o names.obj --quiet
[ "$(grep '^o ' names.obj)" = 'o a_f 1 2 3_' ] && [ "$(grep -c '^f' names.obj)" -eq 12 ] ||
  wrong "names in OBJ: $(grep '^[of]' names.obj)"
rm names.*

# a file that is no run is not replaced, whatever it is
cp scene.json kept.json
expect 2 "scene.json: not a run file of abd; it is not replaced" "$abd" run scene.json -n 1 -o scene.json --force
cmp -s scene.json kept.json || wrong "the scene was replaced by a run of it"
mkfifo pipe
expect 2 "pipe: not a regular file" "$abd" run scene.json -n 1 -o pipe --force
[ -p pipe ] || wrong "a pipe was replaced"
: >empty.abd
expect 0 "" "$abd" run scene.json -n 1 -o empty.abd --force --quiet
expect 0 "" "$abd" run scene.json -n 1 -o empty.abd --force --quiet
echo '{ "study": 1, "scene": "scene.json", "steps": 1, "seeds": 1 }' >study.json
cp study.json kept.json
expect 2 "study.json: not a table of a study; it is not replaced" "$abd" sweep study.json -o study.json --force
cmp -s study.json kept.json || wrong "the study was replaced by its table"
rm -r kept.json pipe empty.abd study.json

# output that cannot be written is a failure; a file is not written to in the place of a closed standard output
if [ -c /dev/full ]; then
  code=0
  "$abd" scene chain >/dev/full 2>out.txt || code=$?
  [ "$code" -eq 4 ] && grep -q 'cannot write to standard output: No space left' out.txt ||
    wrong "exit code $code: $(cat out.txt)"
  ln -s /dev/full link.json # what is no regular file is not removed after a failure
  expect 4 'link.json: cannot write: No space left' "$abd" scene chain -o link.json
  [ -L link.json ] || wrong "the link was removed"
  rm link.json
fi
expect 2 "none.json: unable to open" "$abd" bench quick --compare none.json
! grep -q 'ms per step' out.txt || wrong "rows were measured before the older file was read"
"$abd" run scene.json -n 2 -o closed.abd >&- || wrong "exit code $? with standard output closed"
"$abd" export closed.abd -o closed.csv --table poses >&- 2>&- || wrong "exit code $? with both closed"
"$abd" export closed.abd -o open.csv --table poses >/dev/null
cmp -s closed.csv open.csv || wrong "an export with standard output closed differs"
rm closed.abd closed.csv open.csv
[ "$(ls)" = "$(printf 'out.txt\nscene.json')" ] || wrong "files left behind: $(ls)"
echo good
