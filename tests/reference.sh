#!/bin/bash
# The schema, scene.md and scene-reference.md are up to date with the tables of settings, names and joint kinds; a changed
# row is written anew; a key without a description is refused. If Python has jsonschema, the scenes of the repository, of
# the tutorial and of the gallery are valid by the schema.
#   reference.sh SOURCE ABD VOCABULARY
set -euo pipefail
source=$(realpath "$1") abd=$(realpath "$2") vocabulary=$(realpath "$3")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
command -v python3 >/dev/null || { echo "skipped: no python3: apt-get install python3"; exit 77; }

# same FOLDER: the three files in it are those of the repository.
same() {
  local file
  for file in scene.schema.json scene.md scene-reference.md; do
    diff "$source/docs/$file" "$1/$file" ||
      { echo "write it again: docs/scene-vocabulary.py build/tests/vocabulary"; exit 1; }
  done
}
mkdir "$work/docs"
cp "$source"/docs/scene{.schema.json,.md,-reference.md} "$work/docs"
python3 "$source/docs/scene-vocabulary.py" "$vocabulary" "$work/docs"
same "$work/docs"
sed -i 's/"default": 1000,/"default": 999,/; s/"bdf2"/"bdf3"/; s/"slider", //' "$work/docs/scene.schema.json"
sed -i '/^| `solver.max_iterations`/d; s/^| `hinge` | a common axis/| `hinge` | a common bolt/; /^| `ball`/d
        s/^| `density` | 1000/| `density` | 999/' "$work/docs/scene.md"
! diff -q "$source/docs" "$work/docs" >/dev/null || { echo "the copy was not changed"; exit 1; }
python3 "$source/docs/scene-vocabulary.py" "$vocabulary" "$work/docs"
same "$work/docs"

sed 's/"description": "\[s\] time step"/"comment": ""/' "$source/docs/scene.schema.json" >"$work/bare.json"
if python3 "$source/docs/scene-reference.py" "$work/bare.json" >"$work/out.md" 2>"$work/why.txt"; then
  echo "a key without a description was taken"
  exit 1
fi
grep -q 'dt: expected a description' "$work/why.txt" || { cat "$work/why.txt"; exit 1; }

python3 -c 'import jsonschema' 2>/dev/null || { echo "scenes are not validated: no jsonschema"; exit 0; }
for name in robot-arm cards four-bar pile; do "$abd" scene "$name" -o "$work/$name.json"; done
python3 - "$source/docs/scene.schema.json" "$source"/scenes/*.json "$source"/docs/tutorial/*.json "$work"/[!b]*.json <<'PYTHON'
import json, sys
import jsonschema
schema = json.load(open(sys.argv[1]))
jsonschema.Draft202012Validator.check_schema(schema)
check = jsonschema.Draft202012Validator(schema)
for path in sys.argv[2:]:
    for error in check.iter_errors(json.load(open(path))):
        sys.exit(f"{path}: {error.json_path}: {error.message}")
assert not check.is_valid({"version": 1, "bodys": []}), "an unknown key is valid"
print(len(sys.argv) - 2, "scenes are valid")
PYTHON
