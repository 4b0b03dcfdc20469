#!/bin/bash
# docs/scene-reference.md is what its script makes of the schema; a key without a description is refused; and the scenes of the
# repository, of the tutorial and of the gallery are valid by the schema, where Python's jsonschema is there to say so.
#   reference.sh SOURCE ABD
set -euo pipefail
source=$(realpath "$1") abd=$(realpath "$2")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }

python3 "$source/docs/scene-reference.py" >"$work/made.md"
diff "$source/docs/scene-reference.md" "$work/made.md" ||
  { echo "write it again: docs/scene-reference.py >docs/scene-reference.md"; exit 1; }
sed 's/"description": "time step \[s\]"/"comment": ""/' "$source/docs/scene.schema.json" >"$work/bare.json"
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
